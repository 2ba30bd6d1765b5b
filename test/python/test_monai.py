# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The transforms of cudamedian.monai beside MONAI's own. They need MONAI, which CI does not install."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")
monai = pytest.importorskip("monai")

from monai.data import MetaTensor, set_track_meta  # noqa: E402
from monai.transforms import Compose  # noqa: E402
from monai.transforms import MedianSmooth as Theirs  # noqa: E402
from monai.transforms import MedianSmoothd as Theirsd  # noqa: E402

from cudamedian import median_filter, ndimage  # noqa: E402
from cudamedian.monai import MedianSmooth, MedianSmoothd  # noqa: E402


def make_image(shape, dtype="float32", seed=1):
    random = np.random.default_rng(seed)
    values = random.normal(0, 100, shape) if dtype.startswith("float") else random.integers(0, 100, shape)
    return torch.from_numpy(values.astype(dtype))


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.device == theirs.device
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "radius"),
    [((2, 9), 1), ((3, 7, 8), 1), ((1, 7, 8), (2, 1)), ((2, 5, 6, 7), 1), ((1, 9, 4, 6), [0, 2, 1]), ((2, 5, 6, 7), 0)],
)
def test_medians_are_those_of_monai(shape, radius, dtype):
    image = make_image(shape, dtype)
    assert_same(MedianSmooth(radius)(image), Theirs(radius)(image))
    assert_same(MedianSmooth(radius)(image.numpy()), Theirs(radius)(image.numpy()))


def test_the_default_radius_is_monais():
    image = make_image((1, 6, 7))
    assert_same(MedianSmooth()(image), Theirs()(image))


def test_metadata_is_kept():
    affine = torch.diag(torch.tensor([2.0, 3.0, 4.0, 1.0]))
    image = MetaTensor(make_image((1, 5, 6, 7)), affine=affine, meta={"filename_or_obj": "head.nii"})
    ours, theirs = MedianSmooth(1)(image), Theirs(1)(image)
    assert_same(ours, theirs)
    assert torch.equal(ours.affine, affine)
    assert ours.meta["filename_or_obj"] == theirs.meta["filename_or_obj"] == "head.nii"


@pytest.mark.parametrize("function", [median_filter, ndimage.median_filter])
def test_functions_of_the_package_keep_metadata_too(function):
    affine = torch.diag(torch.tensor([2.0, 3.0, 4.0, 1.0]))
    pixels = make_image((1, 5, 6, 7))
    result = function(MetaTensor(pixels, affine=affine, meta={"filename_or_obj": "head.nii"}), 3)
    assert type(result) is MetaTensor
    assert torch.equal(result.affine, affine)
    assert result.meta["filename_or_obj"] == "head.nii"
    np.testing.assert_array_equal(result.numpy(), function(pixels.numpy(), 3))


def test_images_in_another_order():
    image = make_image((6, 5, 2)).permute(2, 1, 0)
    assert_same(MedianSmooth(1)(image), Theirs(1)(image))


def test_without_metadata_tensors_stay_tensors():
    set_track_meta(False)
    try:
        image = make_image((1, 5, 6))
        assert_same(MedianSmooth(1)(image), Theirs(1)(image))
    finally:
        set_track_meta(True)


def test_dictionaries():
    data = {"image": make_image((1, 5, 6)), "other": make_image((2, 5, 6), seed=2), "label": 3}
    ours, theirs = MedianSmoothd(["image", "other"], 1)(data), Theirsd(["image", "other"], 1)(data)
    assert ours.keys() == theirs.keys()
    for key in ("image", "other"):
        assert_same(ours[key], theirs[key])
    assert ours["label"] == 3
    with pytest.raises(KeyError, match="missing"):
        MedianSmoothd("missing", 1)(data)
    MedianSmoothd(["image", "missing"], 1, allow_missing_keys=True)(data)


def test_pipelines_that_workers_receive():
    pipeline = pickle.loads(pickle.dumps(Compose([MedianSmoothd("image", (1, 2))])))
    image = make_image((1, 5, 6))
    assert_same(pipeline({"image": image})["image"], Theirsd("image", (1, 2))({"image": image})["image"])


def test_mistakes():
    with pytest.raises(ValueError, match="radius"):
        MedianSmooth(-1)(make_image((1, 5, 6)))
    with pytest.raises(ValueError, match="Sequence must have length 2"):
        MedianSmooth((1, 1, 1))(make_image((1, 5, 6)))
    with pytest.raises(ValueError, match="needs a gradient"):
        MedianSmooth(1)(make_image((1, 5, 6)).requires_grad_())
