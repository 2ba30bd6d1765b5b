# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""A widget of napari: the medians of an image layer, or another rank, as a new layer.

napari finds it by the manifest `napari.yaml`, and shows it as "Median filter" among the plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from magicgui.widgets import (
    CheckBox,
    ComboBox,
    Container,
    FloatSpinBox,
    LineEdit,
    ProgressBar,
    PushButton,
)
from napari.layers import Image, Labels, Layer
from napari.qt.threading import create_worker
from napari.utils import cancelable_progress
from napari.utils.notifications import notification_manager, show_error, show_info
from napari.viewer import Viewer
from qtpy.QtCore import QTimer

from . import _ball, _engine, _filter

__all__ = ["MedianWidget"]

_SLICES, _VOLUME = "slice by slice", "3D"
_BOX, _BALL = "box", "ball"
_MEDIAN, _PERCENTILE, _RANK = "median", "percentile", "rank"
# Those of `median_filter`, each by one name.
_BORDERS = ("nearest", "reflect", "mirror", "wrap", "constant", "shrink")

_MILLISECONDS_BETWEEN_LOOKS = 100


def _number(name: str, text: str) -> float:
    """Return the number of a field; an integer keeps every digit."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(f"{name} is {text!r}, which is not a number")


def _window(radii: Sequence[float], is_ball: bool) -> dict[str, Any]:
    """Return the arguments of a window: the pixels whose middle is no further from its own than the radii."""
    if is_ball:
        return {"footprint": _ball.ball(radii)}
    return {"radius": [int(radius + _ball.CLOSE) for radius in radii]}


def _refuse_multiscale(layer: Layer) -> None:
    if layer.multiscale:
        raise ValueError(f"the layer {layer.name!r} is multiscale: add the level to be filtered as a layer of its own")


@dataclass(frozen=True)
class _Work:
    """What a run filters, and how, as it was when the run began."""

    pixels: Any
    options: dict[str, Any]
    state: dict[str, Any]  # of the new layer

    def run(self, progress: Callable[[float], bool]) -> Any:
        """Return the medians, of a Dask array as one, or None where `progress` stopped the run."""
        try:
            if _filter.is_dask_array(self.pixels):
                return _filter.median_filter(self.pixels, **self.options)
            return _filter.median_filter(np.asarray(self.pixels), progress=progress, **self.options)
        except _engine.Stopped:
            return None


class _Run:
    """A run in a thread of its own. It keeps how far it is, which the window's thread looks at."""

    def __init__(self, work: _Work) -> None:
        """Keep the work; `worker.start` begins it."""
        self.work = work
        self.fraction = 0.0
        self.bar = cancelable_progress(total=100, desc=work.state["name"])
        # Raised again in the window's thread, an error would end a process without napari's hook: `_fail` tells of it.
        self.worker = create_worker(work.run, self._tell, _ignore_errors=True)

    def _tell(self, fraction: float) -> bool:
        """Keep the fraction done. Whether to stop: it was cancelled, or the window closes."""
        self.fraction = fraction
        return self.bar.is_canceled or self.worker.abort_requested

    def percent(self) -> int:
        """Return how far it is, and show it among napari's activities."""
        done = round(100 * self.fraction)
        self.bar.update(done - self.bar.n)
        return done


class MedianWidget(Container[Any]):
    """Filter an image layer, and add the result as a layer that is like it in all but its pixels and its name.

    The fields are those of `cudamedian.median_filter`. A window spans the last two axes of the layer, or "3D" the last
    three; components of colours are no axis, each is filtered by itself. It holds the pixels whose middle is within
    the radius: of a box along each axis, of a ball or ellipsoid altogether. Radii are in pixels, or in units of the
    layer's scale. Where a labels layer is chosen as the mask, pixels of its label 0 are in no window.

    The filter runs in a thread of its own and can be cancelled. A layer of a Dask array gives one that is computed when
    it is shown. What is wrong is told as a notification; layers with several scales are refused.

    Parameters
    ----------
    napari_viewer : napari.viewer.Viewer
        The viewer, which napari gives.

    """

    def __init__(self, napari_viewer: Viewer) -> None:
        """Make the fields."""
        self._viewer = napari_viewer
        self._run: _Run | None = None
        self.image = ComboBox(label="image", choices=lambda _: self._layers(Image))
        self.dimensions = ComboBox(label="window spans", choices=(_SLICES, _VOLUME))
        self.shape = ComboBox(label="window", choices=(_BOX, _BALL))
        self.radius = FloatSpinBox(label="radius", value=1, min=0, max=1e9, step=1)
        self.depth = FloatSpinBox(label="radius across slices", value=1, min=0, max=1e9, step=1)
        self.scaled = CheckBox(label="", text="radii in units of the scale")
        self.wanted = ComboBox(label="value", choices=(_MEDIAN, _PERCENTILE, _RANK))
        self.number = FloatSpinBox(label="percentile or rank", value=50, min=-1e9, max=1e9, step=1)
        self.border = ComboBox(label="beyond the border", choices=_BORDERS)
        self.constant = LineEdit(label="constant", value="0")
        self.mask = ComboBox(label="mask", choices=lambda _: self._layers(Labels), nullable=True)
        self.ignored = LineEdit(label="ignored value")
        self.omits_nan = CheckBox(label="", text="omit NaN")
        self.start = PushButton(text="Filter")
        self.cancel = PushButton(text="Cancel", enabled=False)
        self.done = ProgressBar(label="done", max=100, value=0)
        fields = [value for value in vars(self).values() if hasattr(value, "native")]
        super().__init__(widgets=fields)
        for choice in (self.dimensions, self.wanted, self.border):
            choice.changed.connect(self._enable)
        self.start.changed.connect(self._begin)
        self.cancel.changed.connect(self._cancel)
        self._timer = QTimer(self.native)
        self._timer.setInterval(_MILLISECONDS_BETWEEN_LOOKS)
        self._timer.timeout.connect(self._look)
        for event in ("inserted", "removed", "reordered"):
            getattr(napari_viewer.layers.events, event).connect(self._reset_layers)
        self._enable()

    def _layers(self, kind: type[Layer]) -> list[Layer]:
        """Return the layers of a kind."""
        return [layer for layer in self._viewer.layers if isinstance(layer, kind)]

    def _reset_layers(self) -> None:
        """Offer the layers that there are now."""
        self.image.reset_choices()
        self.mask.reset_choices()

    def _enable(self) -> None:
        """Let those fields be changed that have a meaning."""
        self.depth.enabled = self.dimensions.value == _VOLUME
        self.number.enabled = self.wanted.value != _MEDIAN
        self.constant.enabled = self.border.value == "constant"
        self.start.enabled, self.cancel.enabled = self._run is None, self._run is not None

    def _radii(self, layer: Image) -> list[float]:
        """Return the radii in pixels along the last axes of a layer."""
        radii = [self.radius.value, self.radius.value]
        if self.dimensions.value == _VOLUME:
            radii.insert(0, self.depth.value)
        if len(radii) > layer.ndim:
            raise ValueError(f"a 3D window spans three axes; the layer {layer.name!r} has {layer.ndim}")
        if not self.scaled.value:
            return radii
        return [radius / abs(scale) for radius, scale in zip(radii, layer.scale[-len(radii) :], strict=True)]

    def _rank(self) -> dict[str, Any]:
        """Return the arguments of the wanted value."""
        number = self.number.value
        if self.wanted.value == _MEDIAN:
            return {}
        if self.wanted.value == _PERCENTILE:
            return {"percentile": number}
        if not float(number).is_integer():
            raise ValueError(f"rank is {number}, which is not an integer")
        return {"rank": int(number)}

    def _mask(self, layer: Image) -> dict[str, Any]:
        """Return the mask that is chosen, one for all components of the layer."""
        labels = self.mask.value
        if labels is None:
            return {}
        _refuse_multiscale(labels)
        shape = tuple(layer.data.shape[: layer.ndim])
        found = tuple(labels.data.shape)
        if found != shape:
            raise ValueError(f"the mask {labels.name!r} has shape {found}, but the layer {layer.name!r} has {shape}")
        return {"mask": labels.data[..., np.newaxis] if layer.rgb else labels.data}

    def _read(self) -> _Work:
        """Return what the fields say, or raise what is wrong with it."""
        layer = self.image.value
        if layer is None:
            raise ValueError("there is no image layer to filter")
        _refuse_multiscale(layer)
        radii = self._radii(layer)
        options: dict[str, Any] = {
            **_window(radii, self.shape.value == _BALL),
            **self._rank(),
            **self._mask(layer),
            "axes": list(range(layer.ndim - len(radii), layer.ndim)),
            "mode": self.border.value,
            "nan": "omit" if self.omits_nan.value else "order",
        }
        if self.constant.enabled:
            options["cval"] = _number("constant", self.constant.value)
        if self.ignored.value.strip():
            options["ignore"] = _number("ignored value", self.ignored.value)
        pixels, state, _ = layer.as_layer_data_tuple()
        added = self.wanted.value if self.wanted.value == _MEDIAN else f"{self.wanted.value} {self.number.value:g}"
        changed = {"name": f"{layer.name} {added}", "metadata": dict(layer.metadata), "visible": True}
        return _Work(pixels, options, {**state, **changed})

    def _begin(self) -> None:
        """Begin a run of what the fields say."""
        try:
            work = self._read()
        except (TypeError, ValueError) as error:
            show_error(str(error))
            return
        run = self._run = _Run(work)
        run.worker.returned.connect(self._add)
        run.worker.errored.connect(self._fail)
        run.worker.finished.connect(self._end)
        # One whose widget is gone is to stop, and adds nothing.
        self.native.destroyed.connect(run.worker.quit)
        self._enable()
        self._timer.start()
        run.worker.start()

    def _look(self) -> None:
        """Show how far the run is."""
        if self._run is not None:
            self.done.value = self._run.percent()

    def _cancel(self) -> None:
        """Ask the run to stop."""
        if self._run is not None:
            self._run.bar.cancel()

    def _add(self, medians: Any) -> None:
        """Add the layer, unless the run was cancelled."""
        if self._run is None:
            return
        state = self._run.work.state
        if medians is None or self._run.bar.is_canceled:
            show_info(f"{state['name']}: cancelled")
            return
        self._viewer.add_layer(Layer.create(medians, state, "image"))

    def _fail(self, error: Exception) -> None:
        """Show what the filter raised, with where it was raised."""
        notification_manager.receive_error(type(error), error, error.__traceback__)

    def _end(self) -> None:
        """Be ready for the next run."""
        run, self._run = self._run, None
        if run is None:
            return
        run.bar.close()
        if not run.worker.abort_requested:
            self._timer.stop()
            self.done.value = 0
            self.native.destroyed.disconnect(run.worker.quit)
            self._enable()
