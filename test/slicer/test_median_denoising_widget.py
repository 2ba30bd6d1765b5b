# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The panel of the module Median Denoising, with stand-ins for Qt's widgets.

Slicer's window is not at hand. The stand-ins hold what is set and call what is connected, as Qt does; the scene and its
nodes are Slicer's own. So this tests that the panel asks the logic for the right things, not how it looks.
"""

import importlib
import sys
import types

import numpy as np
import pytest
import slicer
from MedianDenoisingLib import engines, rules, settings, volumes
from MedianDenoisingLib.kernel import BALL, VOXELS, DenoisingError, Kernel
from MedianDenoisingLib.rules import Rules

from conftest import ROOT, request_of

SIGNALS = {
    "checked": "toggled(bool)",
    "value": "valueChanged(double)",
    "currentIndex": "currentIndexChanged(int)",
    "text": "textChanged(QString)",
}


class Widget:
    """Any widget: keeps what is set, and calls what is connected when it changes."""

    def __init__(self, *_arguments):
        self.__dict__.update(
            slots={}, items=[], checked=False, value=0, currentIndex=0, text="", node=None, started=False
        )

    def __setattr__(self, name, value):
        """Tell what is connected of a change, as Qt does."""
        changed = self.__dict__.get(name) != value
        self.__dict__[name] = value
        if changed and name in SIGNALS:
            self.emit(SIGNALS[name], value)

    def connect(self, signal, function):
        """Remember a function."""
        self.slots[signal] = function

    def emit(self, signal, *arguments):
        """Call what is connected."""
        if signal in self.slots:
            self.slots[signal](*arguments)

    def click(self):
        """As a person does, on a button that is enabled."""
        assert self.enabled
        self.emit("clicked(bool)", False)

    def addItem(self, text, data=None):  # noqa: N802
        """Of a combo box."""
        self.items.append((text, data))

    def addItems(self, texts):  # noqa: N802
        """Of a combo box."""
        self.items.extend((text, None) for text in texts)

    def itemData(self, index):  # noqa: N802
        """Of a combo box."""
        return self.items[index][1]

    @property
    def currentText(self):  # noqa: N802
        """Of a combo box."""
        return self.items[self.currentIndex][0]

    def setCurrentIndex(self, index):  # noqa: N802
        """Of a combo box."""
        self.currentIndex = index

    def currentNode(self):  # noqa: N802
        """Of a node selector."""
        return self.node

    def setCurrentNode(self, node):  # noqa: N802
        """Of a node selector."""
        changed, self.node = node is not self.node, node
        if changed:
            self.emit("currentNodeChanged(vtkMRMLNode*)", node)

    def start(self):
        """Of a timer."""
        self.started = True

    def stop(self):
        """Of a timer."""
        self.started = False

    def setToolTip(self, text):  # noqa: N802
        """For people only."""

    def setMRMLScene(self, scene):  # noqa: N802
        """Of a node selector."""

    def addWidget(self, widget):  # noqa: N802
        """Of a layout."""

    def addRow(self, *widgets):  # noqa: N802
        """Of a layout."""

    def addStretch(self, stretch):  # noqa: N802
        """Of a layout."""


class Base:
    """The base class of modules and of their widgets."""

    def __init__(self, parent=None):
        self.parent = parent
        self.layout = Widget()

    def setup(self):
        """Do nothing."""

    def resourcePath(self, name):  # noqa: N802
        """Return where a resource lies."""
        return str(ROOT / "slicer" / "MedianDenoising" / "Resources" / name)


class ShiftEngine:
    """An engine whose results are easy to know: each voxel plus one."""

    name = "shift"
    error = None
    request = None

    def device(self):
        """Return a name."""
        return "the test's device"

    def filter(self, source, request, target, progress):
        """As the engines do."""
        ShiftEngine.request = request
        if self.error is not None:
            raise self.error
        if progress is not None and progress(0.5):
            raise engines.Cancelled
        target[...] = source + 1
        return "Device: NVIDIA Test"


class Panel:
    """The module's widget in a scene with a volume and a slice view."""

    def __init__(self, module, scene, view, composite):
        self.module, self.scene, self.view, self.composite = module, scene, view, composite
        self.array = np.arange(2 * 3 * 4, dtype=np.int16).reshape(2, 3, 4)
        self.volume = self.add_volume("scan", self.array)
        self.widgets = []
        self.widget = self.open()

    def add_volume(self, name, array):
        """Return a new volume."""
        node = self.scene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", name)
        node.SetAndObserveImageData(volumes.image_of(array))
        node.CreateDefaultDisplayNodes()
        return node

    def open(self):
        """Return the widget, as Slicer makes it."""
        widget = self.module.MedianDenoisingWidget()
        widget.setup()
        self.widgets.append(widget)
        return widget


@pytest.fixture
def panel(monkeypatch):
    widgets = types.SimpleNamespace(
        **dict.fromkeys(
            "QComboBox QDoubleSpinBox QLabel QCheckBox QPushButton QProgressBar QLineEdit QFormLayout QTimer QIcon "
            "ctkCollapsibleButton".split(),
            Widget,
        )
    )
    scene = slicer.vtkMRMLScene()
    view = scene.AddNewNodeByClass("vtkMRMLSliceNode")
    composite = scene.AddNewNodeByClass("vtkMRMLSliceCompositeNode")
    view.SetSliceToRASByNTP(0, 0, 1, 1, 0, 0, 0, 0, 1, 0)
    slice_logic = types.SimpleNamespace(GetSliceNode=lambda: view, GetSliceCompositeNode=lambda: composite)
    layout = types.SimpleNamespace(
        sliceViewNames=lambda: ("Red", "Green"),
        sliceWidget=lambda name: types.SimpleNamespace(sliceLogic=lambda: slice_logic),
    )
    app = types.SimpleNamespace(layoutManager=lambda: layout, processEvents=lambda: None)
    base = types.ModuleType("slicer.ScriptedLoadableModule")
    base.ScriptedLoadableModule = base.ScriptedLoadableModuleWidget = Base
    for name, value in (("mrmlScene", scene), ("app", app), ("modules", types.SimpleNamespace())):
        monkeypatch.setattr(slicer, name, value, raising=False)
    monkeypatch.setattr(slicer, "qMRMLNodeComboBox", Widget, raising=False)
    for name, value in (("qt", widgets), ("ctk", widgets), ("slicer.ScriptedLoadableModule", base)):
        monkeypatch.setitem(sys.modules, name, value)
    monkeypatch.delitem(sys.modules, "MedianDenoising", raising=False)
    monkeypatch.setattr(engines, "choose", lambda command_line: (ShiftEngine(), ""))
    monkeypatch.setattr(ShiftEngine, "error", None)
    panel = Panel(importlib.import_module("MedianDenoising"), scene, view, composite)
    yield panel
    # Slicer closes widgets before its scene. A scene that is collected with its observers would take the process along.
    for widget in panel.widgets:
        widget.cleanup()
    scene.Clear(True)


def test_module_says_what_it_is(panel):
    parent = types.SimpleNamespace()
    panel.module.MedianDenoising(parent)
    assert parent.title == "Median Denoising"
    assert parent.categories == ["Filtering.Denoising"]
    assert parent.helpText
    assert parent.dependencies == []


def test_nothing_can_be_done_without_a_volume(panel):
    assert panel.widget._window.text == "No volume is chosen."
    assert not panel.widget._apply.enabled
    panel.widget._input.setCurrentNode(panel.volume)
    assert panel.widget._apply.enabled
    assert panel.widget._window.text == "3 x 3 x 3 voxels (3 x 3 x 3 mm)"


def test_kernel_that_does_not_fit_is_told_at_once(panel):
    panel.widget._input.setCurrentNode(panel.volume)
    panel.widget._sizes[0].value = 30
    assert "where the volume has 4" in panel.widget._window.text
    assert not panel.widget._apply.enabled


def test_apply_filters_to_a_new_volume_and_shows_it(panel):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)
    widget._apply.click()
    result = widget._output.currentNode()
    assert np.array_equal(volumes.voxels(result), panel.array + 1)
    assert panel.composite.GetBackgroundVolumeID() == result.GetID()
    assert "Ran on NVIDIA Test." in widget._status.text
    assert widget._apply.enabled
    assert not widget._cancel.enabled
    widget._before.checked = True
    assert panel.composite.GetBackgroundVolumeID() == panel.volume.GetID()
    widget._before.checked = False
    assert panel.composite.GetBackgroundVolumeID() == result.GetID()


def test_comparing_needs_a_run_and_its_volumes(panel):
    widget = panel.widget
    widget._before.checked = True
    assert "Apply the filter first" in widget._status.text
    widget._input.setCurrentNode(panel.volume)
    widget._apply.click()
    panel.scene.RemoveNode(widget._output.currentNode())
    widget._before.checked = True
    assert "no longer in the scene" in widget._status.text
    panel.scene.InvokeEvent(panel.scene.EndCloseEvent)
    widget._before.checked = False
    assert "Apply the filter first" in widget._status.text


def test_input_as_output_is_compared_and_restored(panel):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)
    widget._output.setCurrentNode(panel.volume)
    widget._apply.click()
    assert np.array_equal(volumes.voxels(panel.volume), panel.array + 1)
    widget._before.checked = True
    assert np.array_equal(volumes.voxels(panel.volume), panel.array)
    widget._restore.click()
    assert not widget._before.checked
    assert np.array_equal(volumes.voxels(panel.volume), panel.array)
    assert widget._status.text == "Restored."


def test_error_is_told_and_the_panel_is_ready_again(panel, monkeypatch):
    monkeypatch.setattr(ShiftEngine, "error", DenoisingError("The GPU is on holiday."))
    panel.widget._input.setCurrentNode(panel.volume)
    panel.widget._apply.click()
    assert panel.widget._status.text == "The GPU is on holiday."
    assert panel.widget._apply.enabled
    assert not panel.widget._cancel.enabled


def test_cancel_stops_the_run(panel, monkeypatch):
    widget = panel.widget
    monkeypatch.setattr(slicer.app, "processEvents", widget._cancel.click)
    widget._input.setCurrentNode(panel.volume)
    widget._apply.click()
    assert widget._status.text == "Cancelled. Nothing was changed."
    assert widget._output.currentNode() is None


def test_preview_lies_over_the_view_and_follows_it(panel):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)
    widget._preview.checked = True
    shown = panel.scene.GetNodeByID(panel.composite.GetForegroundVolumeID())
    assert np.array_equal(volumes.voxels(shown), panel.array[1:] + 1)
    assert panel.composite.GetForegroundOpacity() == 1
    panel.view.SetSliceToRASByNTP(0, 0, 1, 1, 0, 0, 0, 0, 0, 0)
    assert widget._preview_timer.started
    widget._preview_timer.emit("timeout()")
    assert np.array_equal(volumes.voxels(shown), panel.array[:1] + 1)
    panel.view.SetSliceToRASByNTP(0, 0, 1, 1, 0, 0, 0, 0, 9, 0)
    widget._preview_timer.emit("timeout()")
    assert "beside 'scan'" in widget._status.text
    assert panel.scene.GetFirstNodeByName("median preview") is None
    widget.exit()
    assert not widget._preview.checked
    widget._preview_timer.stop()
    panel.view.SetSliceToRASByNTP(0, 0, 1, 1, 0, 0, 0, 0, 1, 0)
    assert not widget._preview_timer.started


def test_settings_are_kept_in_the_scene(panel):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)
    widget._unit.setCurrentIndex(1)
    widget._sizes[2].value = 1
    widget._slice_wise.checked = True
    widget._axis.setCurrentIndex(2)
    wanted = settings.read_kernel(settings.parameter_node(panel.scene))
    assert wanted == Kernel((3, 3, 1), VOXELS, True, "j")
    again = panel.open()
    assert again._wanted() == wanted
    assert again._input.currentNode() is panel.volume
    settings.write_kernel(settings.parameter_node(panel.scene), Kernel((5, 5, 5)))
    panel.scene.InvokeEvent(panel.scene.EndImportEvent)
    assert again._wanted() == Kernel((5, 5, 5))


def test_rules_are_asked_for_and_kept_in_the_scene(panel):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)
    assert not widget._invalid.enabled
    assert not widget._threshold.enabled
    mask = panel.scene.AddNewNodeByClass("vtkMRMLLabelMapVolumeNode", "mask")
    mask.SetAndObserveImageData(volumes.image_of((panel.array > 3).astype(np.uint8)))
    widget._mask.setCurrentNode(mask)
    widget._ignored.text = " 7"
    widget._invalid.setCurrentIndex(1)
    widget._replaced.setCurrentIndex(2)
    widget._threshold.value = 2.5
    assert widget._invalid.enabled
    assert widget._threshold.enabled
    asked = Rules("7", rules.COPIED, rules.DEVIATIONS, 2.5)
    assert settings.read_rules(settings.parameter_node(panel.scene)) == asked
    assert settings.get_mask(settings.parameter_node(panel.scene)) is mask
    widget._apply.click()
    assert ShiftEngine.request.rules == asked
    assert np.array_equal(ShiftEngine.request.mask, panel.array > 3)
    assert "19 of 24 voxels count." in widget._status.text
    widget._preview.checked = True
    assert ShiftEngine.request.rules == asked
    assert np.array_equal(ShiftEngine.request.mask, panel.array > 3)
    again = panel.open()
    assert again._asked() == asked
    assert again._mask.currentNode() is mask
    settings.write_rules(settings.parameter_node(panel.scene), Rules())
    settings.set_mask(settings.parameter_node(panel.scene), None)
    panel.scene.InvokeEvent(panel.scene.EndImportEvent)
    assert again._asked() == Rules()
    assert again._mask.currentNode() is None


def test_what_cannot_be_asked_is_told_at_once(panel):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)
    widget._ignored.text = "40000"
    assert "do not hold" in widget._window.text
    assert not widget._apply.enabled
    widget._ignored.text = ""
    assert widget._apply.enabled
    other = panel.add_volume("other", panel.array[:1])
    widget._mask.setCurrentNode(other)
    assert "'other' is no mask" in widget._window.text
    assert not widget._preview.enabled


def test_ball_takes_the_place_of_the_sizes(panel):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)
    assert not widget._ball_radius.enabled
    widget._shape.setCurrentIndex(1)
    widget._ball_radius.value = 1
    assert widget._ball_radius.enabled
    assert not any(size.enabled for size in (widget._unit, *widget._sizes))
    assert widget._window.text == "7 voxels of a ball of 1 mm radius in 3 x 3 x 3 voxels (3 x 3 x 3 mm)"
    assert settings.read_kernel(settings.parameter_node(panel.scene)) == Kernel(shape=BALL, ball_radius=1)
    widget._apply.click()
    assert ShiftEngine.request.window.ball_radius == 1
    assert panel.open()._wanted() == Kernel(shape=BALL, ball_radius=1)


def test_without_an_engine_nothing_runs_and_a_wheel_can_be_installed(panel, monkeypatch):
    widget = panel.widget
    widget._input.setCurrentNode(panel.volume)

    def none(command_line):
        raise DenoisingError("Neither is there.")

    there = engines.choose
    monkeypatch.setattr(engines, "choose", none)
    widget.enter()
    assert widget._engine_label.text == "Neither is there."
    assert not widget._apply.enabled
    installed = []
    monkeypatch.setattr(slicer.util, "pip_install", installed.append)
    monkeypatch.setattr(slicer.util, "confirmOkCancelDisplay", lambda text: "my wheel.whl" in text)
    widget._install.click()
    assert installed == []  # the person said no to another name
    widget._package.text = "/home/me/my wheel.whl"
    monkeypatch.setattr(engines, "choose", there)
    widget._install.click()
    assert installed == [["/home/me/my wheel.whl"]]
    assert widget._apply.enabled
    assert "the test's device" in widget._status.text


def test_installation_that_fails_is_told(panel, monkeypatch):
    def fail(_wanted):
        raise RuntimeError("no network")

    monkeypatch.setattr(slicer.util, "pip_install", fail)
    monkeypatch.setattr(slicer.util, "confirmOkCancelDisplay", lambda text: True)
    panel.widget._install.click()
    assert panel.widget._status.text == "'itk-cudamedian' could not be installed: no network"


def test_command_line_module_is_offered_where_slicer_has_it(panel, monkeypatch):
    offered, ran = [], []
    monkeypatch.setattr(engines, "choose", lambda command_line: (offered.append(command_line), (ShiftEngine(), ""))[1])
    panel.widget.enter()
    assert offered == [None]
    cli_module = object()
    monkeypatch.setattr(slicer.modules, "cudamedianimagefilter", cli_module, raising=False)
    cli = types.SimpleNamespace(run=lambda *arguments, **options: ran.append((arguments, options)))
    monkeypatch.setattr(slicer, "cli", cli, raising=False)
    panel.widget.enter()
    with pytest.raises(DenoisingError, match="could not start"):
        offered[1].filter(panel.array, request_of((0, 1, 2)), np.empty_like(panel.array), None)
    ((module, node, parameters), options) = ran[0]
    assert module is cli_module
    assert node is None
    assert parameters["neighborhood"] == "2,1,0"
    assert options == {"wait_for_completion": False, "update_display": False}
