# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The widget of cudamedian.napari, off screen. It needs napari and Qt, which CI does not install."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("napari")
pytest.importorskip("qtpy.QtWidgets", exc_type=Exception)

from napari.components import ViewerModel  # noqa: E402
from napari.utils.notifications import notification_manager  # noqa: E402
from qtpy.QtWidgets import QApplication  # noqa: E402

import cudamedian  # noqa: E402
from cudamedian import _ball, _filter  # noqa: E402
from cudamedian.napari import MedianWidget  # noqa: E402

PACKAGE = Path(cudamedian.__file__).parent
SECONDS = 60


@pytest.fixture(scope="module")
def application():
    """Return Qt's application, which widgets and the signals of threads need."""
    return QApplication.instance() or QApplication([])


@pytest.fixture
def said(application, monkeypatch):
    """Return the notifications of a test; errors of workers are among them, as in napari."""
    found = []
    monkeypatch.setattr(notification_manager, "dispatch", found.append)
    monkeypatch.setattr(notification_manager, "exit_on_error", False)
    monkeypatch.setattr(notification_manager, "catch_error", True)
    return found


@pytest.fixture
def widget(said):
    """Return the widget of an empty viewer that has no window."""
    return MedianWidget(ViewerModel())


def wait(widget):
    """Let Qt work until the run has ended."""
    end = time.monotonic() + SECONDS
    while widget._run is not None:
        assert time.monotonic() < end
        QApplication.processEvents()


def add_image(widget, pixels, **options):
    return widget._viewer.add_image(pixels, name="head", **options)


def run(widget, **fields):
    """Filter with these values of fields; return the new layer."""
    for name, value in fields.items():
        getattr(widget, name).value = value
    before = len(widget._viewer.layers)
    widget.start.changed.emit(True)
    wait(widget)
    assert len(widget._viewer.layers) == before + 1
    return widget._viewer.layers[-1]


def refuse(widget, said, words, **fields):
    """Filter with these values of fields, which is refused with some words."""
    for name, value in fields.items():
        getattr(widget, name).value = value
    before = len(widget._viewer.layers)
    widget.start.changed.emit(True)
    wait(widget)
    assert len(widget._viewer.layers) == before
    assert [words in notification.message for notification in said] == [True], said
    assert widget.start.enabled and not widget.cancel.enabled


def pixels(shape=(5, 12, 13), dtype="uint8"):
    return np.random.default_rng(1).integers(0, 200, shape).astype(dtype)


@pytest.mark.parametrize(
    ("fields", "arguments"),
    [
        ({}, {"size": 3, "axes": (1, 2)}),
        ({"radius": 2}, {"size": 5, "axes": (1, 2)}),
        ({"dimensions": "3D", "radius": 2}, {"radius": (1, 2, 2)}),
        ({"dimensions": "3D", "depth": 0}, {"radius": (0, 1, 1)}),
        ({"dimensions": "3D", "shape": "ball", "radius": 2.5}, {"footprint": _ball.ball((1, 2.5, 2.5))}),
        ({"border": "reflect"}, {"size": 3, "axes": (1, 2), "mode": "reflect"}),
        ({"border": "constant", "constant": "9"}, {"size": 3, "axes": (1, 2), "mode": "constant", "cval": 9}),
        ({"border": "shrink"}, {"size": 3, "axes": (1, 2), "mode": "shrink"}),
        ({"wanted": "percentile", "number": 25}, {"size": 3, "axes": (1, 2), "percentile": 25}),
        ({"wanted": "rank", "number": -1}, {"size": 3, "axes": (1, 2), "rank": -1}),
        ({"ignored": "7"}, {"size": 3, "axes": (1, 2), "ignore": 7}),
    ],
)
def test_results_are_those_of_median_filter(widget, fields, arguments):
    image = pixels()
    image[image < 60] = 7
    add_image(widget, image)
    layer = run(widget, **fields)
    assert layer.data.dtype == image.dtype
    np.testing.assert_array_equal(layer.data, cudamedian.median_filter(image, **arguments))


def test_nan_is_omitted(widget):
    image = np.where(pixels() < 60, np.nan, pixels()).astype("float32")
    add_image(widget, image)
    expected = cudamedian.median_filter(image, 3, axes=(1, 2), nan="omit")
    np.testing.assert_array_equal(run(widget, omits_nan=True).data, expected)


@pytest.mark.parametrize("shape", ["box", "ball"])
def test_radii_in_units_of_the_scale(widget, shape):
    """0.3 / 0.1 is a little below 3, and means 3 pixels."""
    image = pixels()
    add_image(widget, image, scale=(0.5, 0.1, 0.2))
    layer = run(widget, scaled=True, dimensions="3D", shape=shape, radius=0.3, depth=0.5)
    window = {"radius": (1, 3, 1)} if shape == "box" else {"footprint": _ball.ball((1, 0.3 / 0.1, 1.5))}
    np.testing.assert_array_equal(layer.data, cudamedian.median_filter(image, **window))


def test_colours_are_filtered_by_themselves_and_share_a_mask(widget):
    image = pixels((12, 13, 3))
    add_image(widget, image, rgb=True)
    layer = run(widget)
    assert layer.rgb
    np.testing.assert_array_equal(layer.data, cudamedian.median_filter(image, 3, axes=(0, 1)))
    labels = (pixels((12, 13)) > 60).astype("int32")
    mask = widget._viewer.add_labels(labels)
    expected = cudamedian.median_filter(image, 3, axes=(0, 1), mask=labels)
    np.testing.assert_array_equal(run(widget, mask=mask).data, expected)


def test_labels_are_a_mask(widget):
    image, labels = pixels(), (pixels() > 100) * 5
    add_image(widget, image)
    layer = run(widget, mask=widget._viewer.add_labels(labels))
    np.testing.assert_array_equal(layer.data, cudamedian.median_filter(image, 3, axes=(1, 2), mask=labels))


def test_the_new_layer_is_like_the_old_one(widget):
    old = add_image(
        widget,
        pixels(),
        scale=(3, 0.5, 0.5),
        translate=(1, 2, 3),
        rotate=(0, 0, 30),
        affine=np.diag([2, 1, 1, 1]),
        colormap="magma",
        contrast_limits=(10, 90),
        gamma=0.7,
        units=("mm", "mm", "mm"),
        metadata={"patient": 1},
        visible=False,
    )
    new = run(widget)
    assert (new.name, new.visible) == ("head median", True)
    np.testing.assert_array_equal(new.extent.world, old.extent.world)
    for name in ("scale", "translate", "rotate"):
        np.testing.assert_allclose(getattr(new, name), getattr(old, name))
    np.testing.assert_array_equal(new.affine.affine_matrix, old.affine.affine_matrix)
    for name in ("contrast_limits", "gamma", "units", "axis_labels", "metadata"):
        assert getattr(new, name) == getattr(old, name), name
    assert new.colormap.name == old.colormap.name
    assert new.metadata is not old.metadata
    assert run(widget, wanted="percentile", number=12.5, image=old).name == "head percentile 12.5"


def test_dask_arrays_stay_lazy(widget):
    array = pytest.importorskip("dask.array")
    image = pixels()
    add_image(widget, array.from_array(image, chunks=(2, 5, 13)), contrast_limits=(0, 255))
    layer = run(widget, dimensions="3D")
    assert isinstance(layer.data, array.Array)
    np.testing.assert_array_equal(layer.data.compute(), cudamedian.median_filter(image, 3))


def test_what_is_refused(widget, said):
    refuse(widget, said, "there is no image layer")
    said.clear()
    add_image(widget, pixels((12, 13)))
    refuse(widget, said, "a 3D window spans three axes; the layer 'head' has 2", dimensions="3D")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"wanted": "rank", "number": 1.5}, "rank is 1.5, which is not an integer"),
        ({"border": "constant", "constant": "nothing"}, "constant is 'nothing', which is not a number"),
        ({"ignored": "x"}, "ignored value is 'x', which is not a number"),
        ({"shape": "ball", "radius": 2000}, "each is from 0 to 1024"),
        # These the filter finds, in its thread.
        ({"wanted": "rank", "number": 9}, "rank is 9"),
        ({"ignored": "300"}, "ignore is 300, which pixels of type uint8 do not hold"),
    ],
)
def test_mistakes_are_told(widget, said, fields, words):
    add_image(widget, pixels())
    refuse(widget, said, words, **fields)


def test_a_mask_of_another_shape_is_refused(widget, said):
    add_image(widget, pixels())
    mask = widget._viewer.add_labels(np.ones((12, 13), int), name="brain")
    words = "the mask 'brain' has shape (12, 13), but the layer 'head' has (5, 12, 13)"
    refuse(widget, said, words, mask=mask)


def test_layers_with_several_scales_are_refused(widget, said):
    image = pixels((64, 64))
    add_image(widget, [image, image[::2, ::2]], multiscale=True)
    refuse(widget, said, "the layer 'head' is multiscale")


def block(monkeypatch):
    """Let the filter's progress wait until the returned event is set; the other one says that it has begun."""
    begun, go = threading.Event(), threading.Event()
    filter_array = _filter.median_filter

    def wait_and_filter(*arguments, progress=None, **options):
        def wait_and_tell(fraction):
            begun.set()
            assert go.wait(SECONDS)
            return progress(fraction)

        return filter_array(*arguments, progress=wait_and_tell, **options)

    monkeypatch.setattr(_filter, "median_filter", wait_and_filter)
    return begun, go


def test_a_run_is_cancelled_and_another_begins(widget, said, monkeypatch):
    image = pixels()
    add_image(widget, image)
    with monkeypatch.context() as patch:
        begun, go = block(patch)
        widget.start.changed.emit(True)
        while not begun.wait(0.01):
            QApplication.processEvents()
        assert widget.cancel.enabled and not widget.start.enabled
        widget.cancel.changed.emit(True)
        go.set()
        wait(widget)
    assert [notification.message for notification in said] == ["head median: cancelled"]
    assert len(widget._viewer.layers) == 1
    np.testing.assert_array_equal(run(widget).data, cudamedian.median_filter(image, 3, axes=(1, 2)))


def test_a_run_whose_widget_is_gone_adds_nothing(widget, said, monkeypatch):
    add_image(widget, pixels())
    begun, go = block(monkeypatch)
    widget.start.changed.emit(True)
    while not begun.wait(0.01):
        QApplication.processEvents()
    widget.native.deleteLater()
    QApplication.sendPostedEvents(None, 52)  # QEvent.DeferredDelete
    go.set()
    wait(widget)
    assert not said and len(widget._viewer.layers) == 1


def test_layers_that_come_and_go_are_offered(widget):
    assert widget.image.choices == ()
    layer = add_image(widget, pixels())
    assert widget.image.value is layer
    widget._viewer.layers.clear()
    assert widget.image.choices == () and widget.mask.value is None


@pytest.mark.parametrize("folder", ["cudamedian", "itk_cuda_median"])
def test_npe2_finds_the_manifest_right(folder):
    npe2 = pytest.importorskip("npe2")
    path = PACKAGE.with_name(folder) / "napari.yaml"
    if not path.exists():
        pytest.skip(f"{folder} is not installed")
    subprocess.run([sys.executable, "-m", "npe2", "validate", path], check=True)
    manifest = npe2.PluginManifest.from_file(path)
    manifest.validate_imports()
    assert manifest.contributions.widgets[0].command == f"{manifest.name}.median_filter"


def test_the_package_itself_does_without_napari():
    code = "import sys, cudamedian; assert not {'napari', 'magicgui', 'qtpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
