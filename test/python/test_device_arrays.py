# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory. What needs a GPU skips without one, or fails where CUDAMEDIAN_REQUIRE_GPU=1."""

import sys

import numpy as np
import pytest

from conftest import SEED, import_library, make_array
from cudamedian import DeviceError, MedianError, _device, _engine, _numpy, median_filter, ndimage, skimage

TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


class FakeArray:
    """What describes itself as an array in device memory, and is not."""

    def __init__(self, array, **changes):
        """Describe a NumPy array, with changes."""
        self._array = array
        self.ndim = array.ndim
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": None,
            "version": 3,
            **changes,
        }


def test_array_interface_is_read():
    array = np.zeros((4, 5), "int16")
    described = _device.describe(FakeArray(array, stream=7, strides=array.strides))
    assert described.address == array.ctypes.data
    assert (described.shape, described.dtype, described.stream) == ((4, 5), array.dtype, 7)
    with pytest.raises(ValueError, match="not C-contiguous"):
        _device.describe(FakeArray(array, strides=(2, 8)))
    assert _device.describe(FakeArray(np.zeros((1, 5), "int16"), strides=(999, 2))).shape == (1, 5)


def test_host_memory_is_not_filtered_as_device_memory():
    array = np.arange(20.0).reshape(4, 5)
    with pytest.raises(MedianError):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros_like(array)))


def test_nvrtc_is_found_in_the_package_of_nvidia(tmp_path, monkeypatch):
    for name in ("nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia/cu13/lib/libnvrtc.so.13"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
    loaded = []

    def load(path):
        loaded.append(path.removeprefix(str(tmp_path)))
        if path.endswith("13"):
            raise OSError("not a library")

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    monkeypatch.setattr(_engine.ctypes, "CDLL", load)
    _engine._load_compiler()
    assert loaded == ["/nvidia/cu13/lib/libnvrtc.so.13", "/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"]


@pytest.mark.parametrize("seed", range(20))
def test_footprints_of_scipys_interface_are_asked_as_those_of_the_package(monkeypatch, seed):
    """What the engine is asked for an array in device memory, which needs none: both interfaces ask the same."""
    random = np.random.default_rng(SEED + seed)
    array = FakeArray(np.zeros((7, 8, 9), "int16"))
    output = FakeArray(np.zeros((7, 8, 9), "int16"))
    axes = tuple(sorted(random.permutation(3)[: random.integers(1, 4)].tolist()))
    footprint = random.random(random.integers(3, 6, len(axes))) < 0.6
    footprint.flat[0] = footprint.flat[-1] = True
    footprint.flat[1] = False
    origin = [int(random.integers(-(extent // 2), (extent - 1) // 2 + 1)) for extent in footprint.shape]
    options = {
        "axes": axes,
        "mode": str(random.choice(["nearest", "reflect", "mirror", "wrap", "constant"])),
        "cval": 5,
    }
    asked = []
    monkeypatch.setattr(_engine, "run_on_device", lambda *work, **wanted: asked.append((work, wanted)) or "")
    rank = int(random.integers(0, footprint.sum()))
    ndimage.rank_filter(array, rank, footprint=footprint, output=output, origin=origin, **options)
    median_filter(array, footprint=footprint, output=output, rank=rank, origin=origin, **options)
    (work, wanted), (other_work, other_wanted) = asked
    assert work == other_work
    pixels = [sorted(map(tuple, given.pop("footprint").tolist())) for given in (wanted, other_wanted)]
    assert pixels[0] == pixels[1] and len(pixels[0]) == footprint.sum()
    assert wanted == other_wanted


def test_outputs_that_are_types_are_converted_by_the_library(monkeypatch):
    class Converted(FakeArray):
        def astype(self, dtype):
            return np.dtype(dtype)

    array = Converted(np.zeros((4, 5), "uint8"))
    monkeypatch.setattr(_engine, "run_on_device", lambda *work, **wanted: "")
    monkeypatch.setattr(_device, "_empty_like", lambda given: given)
    for function in (median_filter, ndimage.median_filter):
        assert function(array, 3, output="float32") == np.dtype("float32")
        assert function(array, 3, output=np.int16) == np.dtype("int16")


def test_footprints_may_lie_in_device_memory(monkeypatch):
    class Footprint(FakeArray):
        def get(self):
            return self._array

    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    pixels = np.arange(20).reshape(4, 5) % 7
    for function in (median_filter, ndimage.median_filter, ndimage.maximum_filter):
        expected = function(pixels, footprint=cross)
        np.testing.assert_array_equal(function(pixels, footprint=Footprint(cross)), expected)
    np.testing.assert_array_equal(skimage.median(pixels, Footprint(cross)), skimage.median(pixels, cross))


def test_wrong_outputs_are_named():
    array = np.zeros((4, 5))
    with pytest.raises(ValueError, match=r"output has shape \(4, 4\)"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros((4, 4))))
    with pytest.raises(ValueError, match="float32, but the input has .* float64"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros((4, 5), "float32")))
    with pytest.raises(ValueError, match="read-only"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros((4, 5)), data=(1, True)))
    with pytest.raises(TypeError, match="complex64"):
        median_filter(FakeArray(np.zeros((4, 5), "complex64")), 3, output=FakeArray(np.zeros((4, 5))))
    with pytest.raises(TypeError, match="backend='cpu'"):
        median_filter(FakeArray(array), 3, backend="cpu")
    with pytest.raises(TypeError, match="stream is for arrays in device memory"):
        median_filter(array, 3, stream=1)


def test_a_named_stream_makes_no_arrays():
    array = np.zeros((4, 5))
    with pytest.raises(TypeError, match="stream takes output"):
        median_filter(FakeArray(array), 3, stream=1)
    with pytest.raises(ValueError, match="not C-contiguous"):
        median_filter(FakeArray(array, strides=(8, 32)), 3, stream=1, output=FakeArray(np.zeros_like(array)))


@pytest.fixture
def calls(monkeypatch):
    """Return what the engine's device functions were called with, in order; none of them runs."""
    seen = []
    monkeypatch.setattr(_engine, "run_on_device", lambda *arguments, **_: seen.append(("run", arguments[-1])) or "")
    monkeypatch.setattr(_engine, "order_streams", lambda *arguments: seen.append(arguments))
    return seen


@pytest.mark.parametrize("own", [None, 1])
def test_arrays_of_one_stream_need_no_order(calls, own):
    array = np.zeros((4, 5))
    median_filter(FakeArray(array, stream=1), 3, output=FakeArray(array, stream=own))
    assert calls == [("run", 1)]


@pytest.mark.parametrize(("stream", "own"), [(7, 9), (1, 9), (None, 9), (7, None), (2, 1)])
def test_an_output_of_another_stream_is_waited_for_and_waits(calls, stream, own):
    array, output = np.zeros((4, 5)), np.zeros((4, 5))
    median_filter(FakeArray(array, stream=stream), 3, output=FakeArray(output, stream=own))
    stream, own, address = stream or 1, own or 1, output.ctypes.data
    assert calls == [(address, own, stream), ("run", stream), (address, stream, own)]


def test_a_named_stream_has_the_order_of_the_caller(calls):
    array = np.zeros((4, 5))
    median_filter(FakeArray(array, stream=7), 3, output=FakeArray(array, stream=9), stream=5)
    assert calls == [("run", 5)]


def test_an_output_waits_also_for_a_run_that_failed(calls, monkeypatch):
    def fail(*_arguments, **_wanted):
        raise DeviceError("half of it launched")

    monkeypatch.setattr(_engine, "run_on_device", fail)
    array, output = np.zeros((4, 5)), np.zeros((4, 5))
    with pytest.raises(DeviceError, match="half of it launched"):
        median_filter(FakeArray(array, stream=7), 3, output=FakeArray(output, stream=9))
    assert calls == [(output.ctypes.data, 9, 7), (output.ctypes.data, 7, 9)]


@pytest.mark.parametrize("stream", [-1, 2**64, 1.0, True, "1", None.__class__])
def test_streams_that_are_none(calls, stream):
    array = np.zeros((4, 5))
    with pytest.raises((TypeError, ValueError), match="stream is "):
        median_filter(FakeArray(array), 3, output=FakeArray(array), stream=stream)
    assert calls == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"radius": 2**64}, str(2**64)),
        ({"radius": (2**31, 2**31)}, "18446744082299486209 pixels"),
        ({"size": 3, "memory": -1}, "memory is -1"),
        ({"size": 3, "memory": 2**64}, str(2**64)),
        ({"size": 3, "axes": 5}, "axes holds 5"),
    ],
)
def test_numbers_are_checked_for_device_arrays_too(calls, arguments, text):
    array = np.zeros((4, 5))
    with pytest.raises(ValueError, match=text):
        median_filter(FakeArray(array), output=FakeArray(array), **arguments)
    assert calls == []


def test_masks_of_device_arrays_are_refused(calls):
    array = np.zeros((4, 5))
    with pytest.raises(TypeError, match="mask"):
        median_filter(FakeArray(array, mask=FakeArray(array)), 3, output=FakeArray(array))
    assert calls == []


def test_order_of_streams_without_a_device_is_an_error():
    with pytest.raises(MedianError):
        _engine.order_streams(np.zeros(3).ctypes.data, 1, 2)


def test_host_tensors_give_their_own_kind(random):
    torch = pytest.importorskip("torch")
    array = make_array(random, (20, 30), "uint8")
    result = median_filter(torch.from_numpy(array), 3)
    assert isinstance(result, torch.Tensor)
    np.testing.assert_array_equal(result.numpy(), median_filter(array, 3))


def test_steady_calls_on_host_tensors(random):
    torch = pytest.importorskip("torch")
    for _ in range(3):
        array = make_array(random, (20, 30), "uint8")
        expected = median_filter(array, 3)
        np.testing.assert_array_equal(median_filter(torch.from_numpy(array), 3).numpy(), expected)
        np.testing.assert_array_equal(
            ndimage.median_filter(torch.from_numpy(array), 3, mode="nearest").numpy(), expected
        )
        np.testing.assert_array_equal(
            ndimage.maximum_filter(torch.from_numpy(array), 3).numpy(), ndimage.maximum_filter(array, 3)
        )


def test_outputs_and_types_of_host_tensors(random):
    torch = pytest.importorskip("torch")
    array = make_array(random, (20, 30), "uint8")
    for function in (median_filter, ndimage.median_filter, ndimage.minimum_filter):
        expected = function(array, 3)
        for output in (torch.zeros((20, 30), dtype=torch.uint8), np.zeros((20, 30), "float32")):
            assert function(torch.from_numpy(array), 3, output=output) is output
            np.testing.assert_array_equal(np.asarray(output), expected)
        result = function(torch.from_numpy(array), 3, output="float32")
        assert result.dtype is torch.float32
        np.testing.assert_array_equal(result.numpy(), expected)
    with pytest.raises(TypeError, match=r"pixels of type torch.bfloat16 cannot be read"):
        median_filter(torch.zeros((4, 5), dtype=torch.bfloat16), 3)


def make_negated(random, torch, shape=(20, 30)):
    """Return a tensor that PyTorch negates when it is read, and its values."""
    pixels = random.normal(0, 100, (*shape, 2)).astype("float32")
    tensor = torch.view_as_complex(torch.from_numpy(pixels)).conj().imag
    assert tensor.is_neg()
    return tensor, np.ascontiguousarray(-pixels[..., 1])


def test_negated_host_tensors(random):
    torch = pytest.importorskip("torch")
    for _ in range(3):
        tensor, values = make_negated(random, torch)
        for negated in (tensor, torch._neg_view(torch.from_numpy(-values))):
            result = median_filter(negated, 3)
            assert isinstance(result, torch.Tensor)
            assert not result.is_neg()
            np.testing.assert_array_equal(result.numpy(), median_filter(values, 3))
            for name in ("median_filter", "minimum_filter", "maximum_filter"):
                function = getattr(ndimage, name)
                np.testing.assert_array_equal(np.asarray(function(negated, 3)), function(values, 3))
            np.testing.assert_array_equal(np.asarray(skimage.median(negated)), skimage.median(values))
        np.testing.assert_array_equal(median_filter(torch.from_numpy(values), 3).numpy(), median_filter(values, 3))


def test_negated_masks_and_weights(random):
    torch = pytest.importorskip("torch")
    array = make_array(random, (20, 30), "int16")
    weights = np.array([[1, 2, 1], [0, 3, 1], [1, 1, 2]])
    mask = make_array(random, (20, 30), "int8")
    negated = {name: torch._neg_view(torch.from_numpy(-value)) for name, value in (("w", weights), ("m", mask))}
    np.testing.assert_array_equal(median_filter(array, weights=negated["w"]), median_filter(array, weights=weights))
    np.testing.assert_array_equal(median_filter(array, footprint=negated["w"]), median_filter(array, footprint=weights))
    np.testing.assert_array_equal(median_filter(array, 3, mask=negated["m"]), median_filter(array, 3, mask=mask))
    for function in (ndimage.median_filter, ndimage.maximum_filter):
        np.testing.assert_array_equal(function(array, footprint=negated["w"]), function(array, footprint=weights))


def test_a_negated_output_on_the_host_is_refused(random):
    torch = pytest.importorskip("torch")
    array = make_array(random, (20, 30), "float32")
    memory = torch.zeros((20, 30))
    for _ in range(2):
        with pytest.raises(ValueError, match="output is a tensor that PyTorch negates"):
            ndimage.median_filter(array, 3, output=torch._neg_view(memory))
    with pytest.raises(TypeError, match="neither a NumPy array"):
        median_filter(array, 3, output=torch._neg_view(memory))
    assert not memory.any()


def test_conjugated_tensors_are_complex_and_refused(random):
    torch = pytest.importorskip("torch")
    tensor = torch.view_as_complex(torch.zeros((4, 5, 2))).conj()
    for function in (median_filter, ndimage.median_filter):
        with pytest.raises(TypeError, match="[cC]omplex"):
            function(tensor, 3)


@pytest.fixture
def cupy(gpu):
    """Return CuPy, on a machine with a GPU."""
    return import_library("cupy")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(64, 96), (37, 41), (13, 17, 32), (5, 6, 7, 8)])
def test_cupy_equals_numpy(random, cupy, dtype, shape):
    array = make_array(random, shape, dtype)
    for radius in (0, 1, 2):
        result = median_filter(cupy.asarray(array), radius=radius, axes=(-2, -1))
        assert isinstance(result, cupy.ndarray)
        np.testing.assert_array_equal(result.get(), median_filter(array, radius=radius, axes=(-2, -1), backend="cpu"))


@pytest.mark.parametrize("radius", [12, 40, (2, 30), 70])
def test_cupy_large_windows(random, cupy, radius):
    array = make_array(random, (160, 150), "uint16")
    result = median_filter(cupy.asarray(array), radius=radius)
    np.testing.assert_array_equal(result.get(), median_filter(array, radius=radius, backend="cpu"))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32"])
@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap", "constant", ("wrap", "mirror")])
def test_cupy_borders_ranks_and_even_sizes(random, cupy, dtype, mode):
    array = make_array(random, (61, 47), dtype)
    for size, origin in ((3, 0), ((4, 5), (1, -2)), ((6, 2), 0)):
        for wanted in ({}, {"rank": 1}, {"percentile": 80}):
            options = {"size": size, "origin": origin, "mode": mode, "cval": 7, **wanted}
            result = median_filter(cupy.asarray(array), **options)
            assert result.dtype == array.dtype
            np.testing.assert_array_equal(result.get(), median_filter(array, **options, backend="cpu"))


@pytest.mark.parametrize("shape", [(33, 50, 3), (17, 9, 12, 4)])
def test_cupy_colours(random, cupy, shape):
    array = make_array(random, shape, "uint8")
    axes = tuple(range(len(shape) - 1))
    result = median_filter(cupy.asarray(array), 3, axes=axes)
    np.testing.assert_array_equal(result.get(), median_filter(array, 3, axes=axes, backend="cpu"))


@pytest.mark.parametrize("mode", ["reflect", "nearest", "wrap", "mirror", "constant"])
def test_cupy_footprints_of_scipys_interface(random, cupy, mode):
    for shape, extents in (((40, 51), (5, 5)), ((40, 48), (4, 7)), ((9, 20, 32), (3, 3, 3))):
        array = make_array(random, shape, "int16")
        footprint = random.random(extents) < 0.6
        footprint.flat[0] = True
        for name, more in (("median_filter", ()), ("maximum_filter", ()), ("rank_filter", (1,))):
            function = getattr(ndimage, name)
            for _ in range(2):
                result = function(cupy.asarray(array), *more, footprint=footprint, mode=mode, cval=3)
                expected = function(array, *more, footprint=footprint, mode=mode, cval=3)
                np.testing.assert_array_equal(result.get(), expected)


def test_cupy_footprints_and_output_types(random, cupy):
    array = make_array(random, (30, 41), "uint8")
    disk = np.hypot(*np.indices((5, 5)) - 2) < 2.4
    on_device = cupy.asarray(array)
    for function in (median_filter, ndimage.median_filter):
        for output in (None, "float32", np.int16):
            result = function(on_device, footprint=cupy.asarray(disk), output=output)
            expected = function(array, footprint=disk, output=output)
            np.testing.assert_array_equal(result.get(), expected)
            assert result.dtype == expected.dtype


def test_cupy_refuses_what_device_memory_has_not(random, cupy):
    array = cupy.asarray(make_array(random, (20, 30), "uint8"))
    halves = array.astype("float16")
    for refused, options in (
        (array.astype("float64"), {"size": 3, "outliers": "3mad"}),
        (halves, {"size": 4, "even_median": "mean"}),
        (halves, {"size": 3, "ignore": 3, "even_median": "mean"}),
    ):
        with pytest.raises(ValueError, match="In device memory"):
            median_filter(refused, **options)


def rule_cases(random, shape, dtype):
    """Yield rules, and whether they have a mask."""
    mask = random.random(shape) < 0.6
    yield {"size": 3, "mask": mask}
    yield {"size": (5, 4), "mask": mask, "empty": 7, "invalid": "copied", "even_median": "lower"}
    yield {"size": 5, "mask": mask.astype("int32"), "mode": "reflect", "rank": 0, "invalid": 9}
    yield {"footprint": np.eye(3, dtype=bool), "ignore": 3, "mode": "wrap"}
    yield {"weights": [[0, 1, 0], [1, 3, 1], [0, 1, 0]], "mask": mask[:1], "outliers": 4}
    yield {"size": 3, "mode": "shrink"}
    yield {"size": 7, "outliers": 20}
    if np.dtype(dtype).itemsize < 8:
        yield {"size": 5, "outliers": "1.5mad", "mask": mask}
        yield {"size": (9, 4), "outliers": "0.5mad", "mode": "wrap"}
    if dtype != "float16":
        yield {"size": 4, "even_median": "mean"}
        yield {"size": 11, "mask": mask, "even_median": "mean", "mode": "constant", "cval": 2}
    if "float" in dtype:
        yield {"size": 3, "nan": "omit", "ignore": 0}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "float64", "int64"])
def test_cupy_masks_ignored_values_and_outliers(random, cupy, dtype):
    array = (make_array(random, (61, 47), dtype) % 16).astype(dtype)
    if "float" in dtype:
        array[random.random(array.shape) < 0.2] = np.nan
    for options in rule_cases(random, array.shape, dtype):
        expected = median_filter(array, **options, backend="cpu")
        if "mask" in options:
            options["mask"] = cupy.asarray(options["mask"])
        result = median_filter(cupy.asarray(array), **options)
        np.testing.assert_array_equal(result.get(), expected, err_msg=str(options))
        converted = median_filter(cupy.asarray(array), **options, output="float64")
        np.testing.assert_array_equal(converted.get(), expected.astype("float64"), err_msg=str(options))


FOOTPRINTS = (
    np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]),
    np.eye(4),
    np.array([[1, 0, 0, 1]]),
    np.hypot(*np.ogrid[-4:5, -4:5]) <= 4,
)


def test_ndimage_footprints_are_those_of_the_host(random, monkeypatch):
    array = make_array(random, (31, 27), "int16")

    def filter_on_host(given, window, *_):
        host = given.__cuda_array_interface__["data"][0]
        assert host == array.ctypes.data
        backend, algorithm = _engine.Backend.CPU, _engine.Algorithm.AUTOMATIC
        return _numpy.median_filter(array, window, None, backend, algorithm, 0, 1, None)

    monkeypatch.setattr(_device, "median_filter", filter_on_host)
    for footprint in FOOTPRINTS:
        for options in ({}, {"origin": (0, 1), "mode": "wrap"}):
            result = ndimage.rank_filter(FakeArray(array), 1, footprint=footprint, **options)
            expected = ndimage.rank_filter(array, 1, footprint=footprint, **options)
            np.testing.assert_array_equal(result, expected)


def test_rules_and_streams_of_masks_reach_the_engine(random, monkeypatch):
    array, mask = make_array(random, (6, 7), "int16"), random.random((6, 7)) < 0.5
    calls, ordered = [], []
    monkeypatch.setattr(_engine, "run_on_device", lambda *work, **options: calls.append(options["rules"]) or "")
    monkeypatch.setattr(_engine, "order_streams", lambda *order: ordered.append(order))
    monkeypatch.setattr(_device, "_empty_like", lambda _: FakeArray(np.zeros((6, 7), "int16"), stream=5))
    monkeypatch.setattr(_device, "_convert", lambda result, _: result)
    place = FakeArray(mask, stream=8)
    place.shape = mask.shape
    for options in ({}, {"output": "float32"}):
        median_filter(FakeArray(array, stream=5), 3, mask=place, **options)
    assert [rules.fields["mask"] for rules in calls] == [mask.ctypes.data] * 2
    assert ordered == [(mask.ctypes.data, 8, 5), (mask.ctypes.data, 5, 8)] * 2


def test_cupy_ndimage_footprints(random, cupy):
    for dtype in ("uint8", "float32"):
        array = make_array(random, (61, 47), dtype)
        for footprint in FOOTPRINTS:
            result = ndimage.median_filter(cupy.asarray(array), footprint=footprint, mode="wrap")
            np.testing.assert_array_equal(result.get(), ndimage.median_filter(array, footprint=footprint, mode="wrap"))


def test_cupy_components_share_a_mask(random, cupy):
    array = make_array(random, (33, 50, 3), "uint8")
    mask = random.random((33, 50)) < 0.5
    expected = median_filter(array, 3, axes=(0, 1), mask=mask, backend="cpu")
    result = median_filter(cupy.asarray(array), 3, axes=(0, 1), mask=cupy.asarray(mask))
    np.testing.assert_array_equal(result.get(), expected)
    with pytest.raises(TypeError, match="an array there, too"):
        median_filter(cupy.asarray(array), 3, axes=(0, 1), mask=mask)


def test_cupy_views_and_offsets(random, cupy):
    array = make_array(random, (33, 50), "uint8")
    on_device = cupy.asarray(array)
    for view in (np.s_[::2], np.s_[:, 1:], np.s_[3:, ::3], np.s_[1:]):
        result = median_filter(on_device[view], radius=1)
        np.testing.assert_array_equal(result.get(), median_filter(array[view], radius=1, backend="cpu"))


def test_cupy_uses_the_current_stream(random, cupy):
    array = make_array(random, (512, 512), "float32")
    expected = median_filter(array, 3, backend="cpu")
    ones = cupy.ones((4096, 4096), "float32")
    prepared = cupy.asarray(array)
    stream = cupy.cuda.Stream(non_blocking=True)
    source = cupy.zeros((512, 512), "float32")
    median_filter(source, 3)
    cupy.cuda.Device().synchronize()
    with stream:
        # Without the stream's order the filter would read zeros, or its result be copied before it is there.
        for _ in range(4):
            cupy.matmul(ones, ones)
        source[...] = prepared
        result = median_filter(source, 3)
        busy = not stream.done
        copied = result.copy()
        source.fill(0)
    stream.synchronize()
    np.testing.assert_array_equal(copied.get(), expected)
    assert busy, "the call waited for the stream"


def test_cupy_of_a_stream_that_is_named(random, cupy):
    array = make_array(random, (512, 512), "uint16")
    stream = cupy.cuda.Stream(non_blocking=True)
    source = cupy.zeros((512, 512), "uint16")
    output = cupy.zeros_like(source)
    cupy.cuda.Device().synchronize()
    source.set(array, stream=stream)
    for named in (stream, stream.ptr):
        output.fill(0)
        cupy.cuda.Device().synchronize()
        median_filter(source, 3, output=output, stream=named)
        stream.synchronize()
        np.testing.assert_array_equal(output.get(), median_filter(array, 3, backend="cpu"))


def test_cupy_output(random, cupy):
    array = cupy.asarray(make_array(random, (64, 64), "int16"))
    output = cupy.empty_like(array)
    assert median_filter(array, 5, output=output) is output
    np.testing.assert_array_equal(output.get(), median_filter(array.get(), 5, backend="cpu"))
    with pytest.raises(ValueError, match="overlaps"):
        median_filter(array, 5, output=array)


def test_cupy_of_several_launches(cupy):
    # More than the 2^28 pixels of a launch: what is below the first is also filtered on its own.
    image = cupy.random.default_rng(1).integers(0, 256, ((1 << 14) + 100, 1 << 14), "uint8")
    result = median_filter(image, 5)
    cupy.testing.assert_array_equal(result[16300:], median_filter(image[16290:], 5)[10:])
    cupy.testing.assert_array_equal(result[:300], median_filter(image[:302], 5)[:300])


def test_cupy_kernels_compiled_at_first_use(random, cupy):
    array = make_array(random, (64, 128), "uint16")
    reports = []
    result = median_filter(cupy.asarray(array), (3, 7), algorithm="tile program", report=reports.append)
    np.testing.assert_array_equal(result.get(), median_filter(array, (3, 7), backend="cpu"))
    assert "compiled with NVRTC" in reports[0] or "from the cache on disk" in reports[0], reports[0]


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_of_another_device_than_the_current(random, cupy, library):
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one GPU")
    array = make_array(random, (64, 96), "int16")
    if library == "cupy":
        with cupy.cuda.Device(1):
            source = cupy.asarray(array)
    else:
        source = import_library("torch").from_numpy(array).to("cuda:1")
    # The second window has a kernel with memory of its own.
    for size in (3, 25):
        result = median_filter(source, size)
        assert result.device == source.device
        on_host = result.get() if library == "cupy" else result.cpu().numpy()
        np.testing.assert_array_equal(on_host, median_filter(array, size, backend="cpu"))


def test_numba_output_of_another_stream(random, cupy):
    cuda = import_library("numba.cuda")
    array = make_array(random, (512, 512), "float32")
    expected = median_filter(array, 3, backend="cpu")
    ones = cupy.ones((4096, 4096), "float32")
    zeros = np.zeros_like(array)
    busy = cupy.cuda.Stream(non_blocking=True)
    stream = cuda.external_stream(busy.ptr)
    source = cuda.to_device(array)
    output = cuda.device_array((512, 512), "float32", stream=stream)
    median_filter(source, 3, output=output)
    cupy.cuda.Device().synchronize()
    for _ in range(3):
        with busy:
            # Without an order the zeros would come after the result, and be what the copy finds.
            for _ in range(4):
                cupy.matmul(ones, ones)
        output.copy_to_device(cuda.to_device(zeros, stream=stream), stream=stream)
        median_filter(source, 3, output=output)
        np.testing.assert_array_equal(output.copy_to_host(stream=stream), expected)


def test_numpy_in_pinned_memory(random, cupy):
    import cupyx

    array = cupyx.empty_pinned((70, 200, 210), "uint16")
    array[...] = make_array(random, array.shape, array.dtype)
    output = cupyx.zeros_pinned(array.shape, array.dtype)
    median_filter(array, 3, backend="cuda", output=output)
    np.testing.assert_array_equal(output, median_filter(array, 3, backend="cpu"))


def test_numpy_through_the_gpu(random, gpu):
    array = make_array(random, (70, 200, 210), "uint16")
    reports = []
    result = median_filter(array, 3, backend="cuda", report=reports.append)
    np.testing.assert_array_equal(result, median_filter(array, 3, backend="cpu"))
    assert "Backend: CUDA" in reports[0]


@pytest.fixture
def torch(gpu):
    """Return PyTorch, on a machine with a GPU."""
    return import_library("torch")


@pytest.mark.parametrize("dtype", ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64"))
def test_torch_equals_numpy(random, torch, dtype):
    array = make_array(random, (13, 64, 96), dtype)
    tensor = torch.from_numpy(array).cuda()
    result = median_filter(tensor, 3)
    assert isinstance(result, torch.Tensor)
    assert (result.device, result.dtype) == (tensor.device, tensor.dtype)
    np.testing.assert_array_equal(result.cpu().numpy(), median_filter(array, 3, backend="cpu"))


def test_torch_views(random, torch):
    array = make_array(random, (4, 33, 50), "uint8")
    tensor = torch.from_numpy(array).cuda()
    result = median_filter(tensor.permute(2, 0, 1)[3:], radius=(1, 0, 2))
    np.testing.assert_array_equal(
        result.cpu().numpy(), median_filter(array.transpose(2, 0, 1)[3:], radius=(1, 0, 2), backend="cpu")
    )


def test_torch_negated(random, torch):
    for _ in range(3):
        tensor, values = make_negated(random, torch)
        negated = torch._neg_view((-tensor).cuda().contiguous().resolve_neg())
        assert negated.is_cuda
        assert negated.is_neg()
        expected = median_filter(values, 3, backend="cpu")
        for given in (negated, tensor.cuda(), negated.resolve_neg()):
            np.testing.assert_array_equal(median_filter(given, 3).cpu().numpy(), expected)
            output = torch.zeros_like(negated.resolve_neg())
            assert median_filter(given, 3, output=output) is output
            np.testing.assert_array_equal(output.cpu().numpy(), expected)
        with pytest.raises(ValueError, match="output is a tensor that PyTorch negates"):
            median_filter(negated, 3, output=negated)
        with pytest.raises(ValueError, match="memory has its values"):
            median_filter(negated, 3, output=output, stream=torch.cuda.current_stream())


def test_torch_uses_the_current_stream(random, torch):
    array = make_array(random, (512, 512), "float32")
    ones = torch.ones((4096, 4096), device="cuda")
    source = torch.zeros((512, 512), device="cuda")
    prepared = torch.from_numpy(array).cuda()
    median_filter(source, 3)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(4):
            ones @ ones
        source.copy_(prepared)
        result = median_filter(source, 3)
        busy = not stream.query()
        copied = result.clone()
        source.zero_()
    stream.synchronize()
    np.testing.assert_array_equal(copied.cpu().numpy(), median_filter(array, 3, backend="cpu"))
    assert busy, "the call waited for the stream"


@pytest.mark.parametrize("dtype", ("bool", "uint8", "int16", "float32"))
def test_jax_equals_numpy(random, cupy, dtype):
    jax = import_library("jax")
    array = make_array(random, (64, 96), dtype)
    source = jax.device_put(array, jax.devices("gpu")[0])
    result = median_filter(source, 5)
    assert isinstance(result, jax.Array)
    expected = median_filter(array, 5, backend="cpu")
    np.testing.assert_array_equal(np.asarray(result), expected)
    np.testing.assert_array_equal(np.asarray(result + result), expected + expected)
    output = cupy.empty_like(cupy.asarray(array))
    assert median_filter(source, 5, output=output) is output
    np.testing.assert_array_equal(output.get(), expected)
    with pytest.raises(TypeError, match="cannot be written to"):
        median_filter(cupy.asarray(array), 5, output=source)


def test_jax_results_of_computations_under_way(random, cupy):
    jax = import_library("jax")
    array = make_array(random, (512, 512), "float32")
    ones = jax.device_put(np.ones((4096, 4096), "float32"), jax.devices("gpu")[0])
    product = (ones @ ones) @ ones
    # The filter's input depends on what is still being computed.
    source = jax.numpy.asarray(array) + 0 * product[:512, :512]
    result = median_filter(source, 3)
    np.testing.assert_array_equal(np.asarray(result), median_filter(array, 3, backend="cpu"))


def test_numba_equals_numpy(random, gpu):
    cuda = import_library("numba.cuda")
    array = make_array(random, (64, 96), "int16")
    result = median_filter(cuda.to_device(array), 5)
    np.testing.assert_array_equal(result.copy_to_host(), median_filter(array, 5, backend="cpu"))


class OnlyDLPack:
    """An array that only DLPack describes."""

    def __init__(self, array):
        """Hold an array of CuPy."""
        self._array = array
        self.ndim = array.ndim

    def __dlpack__(self, **options):
        """Lend the array."""
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        """Return the array's device."""
        return self._array.__dlpack_device__()

    def __array_namespace__(self):
        """Return CuPy."""
        import cupy

        return cupy


def test_dlpack_alone(random, cupy):
    array = make_array(random, (64, 96), "uint16")
    source = OnlyDLPack(cupy.asarray(array))
    result = median_filter(source, 3)
    np.testing.assert_array_equal(result.get(), median_filter(array, 3, backend="cpu"))
    with pytest.raises(TypeError, match="takes no other"):
        median_filter(source, 3, stream=cupy.cuda.Stream())


def test_a_build_without_cuda_says_so():
    from cudamedian import query_device

    usable, description = query_device()
    if usable or "no CUDA backend" not in description:
        pytest.skip(f"this build has the CUDA backend: {description}")
    array = np.zeros((4, 5))
    with pytest.raises(DeviceError, match="no CUDA backend"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros_like(array)))
