# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The module's window. What it does is in MedianDenoisingLib, which knows no window."""

from __future__ import annotations

import importlib.util
import os

import ctk
import qt
import slicer
import vtk
from MedianDenoisingLib import engines, kernel, settings, volumes
from MedianDenoisingLib.kernel import DenoisingError, Kernel
from MedianDenoisingLib.logic import MedianDenoisingLogic
from slicer.ScriptedLoadableModule import ScriptedLoadableModule, ScriptedLoadableModuleWidget
from slicer.util import VTKObservationMixin

# Milliseconds without a change after which the preview is computed.
_PREVIEW_DELAY = 50

_VOLUME_CLASSES = ["vtkMRMLScalarVolumeNode", "vtkMRMLLabelMapVolumeNode"]


class MedianDenoising(ScriptedLoadableModule):
    """What Slicer's list of modules shows."""

    def __init__(self, parent):
        ScriptedLoadableModule.__init__(self, parent)
        self.parent.title = "Median Denoising"
        self.parent.categories = ["Filtering.Denoising"]
        self.parent.dependencies = []
        self.parent.contributors = ["The CudaMedian developers"]
        self.parent.helpText = (
            "Takes the noise out of a volume: each voxel becomes the median of those around it. The kernel is given in "
            "millimetres or in voxels; it filters in 3D or slice by slice, on an NVIDIA GPU or on the CPU."
        )
        self.parent.acknowledgementText = "The filter is itk::CudaMedianImageFilter of the ITK module CudaMedian."
        self.parent.icon = qt.QIcon(
            os.path.join(os.path.dirname(__file__), "Resources", "Icons", "MedianDenoising.png")
        )


class MedianDenoisingWidget(ScriptedLoadableModuleWidget, VTKObservationMixin):
    """The module's panel."""

    def __init__(self, parent=None):
        ScriptedLoadableModuleWidget.__init__(self, parent)
        VTKObservationMixin.__init__(self)
        self._logic = None
        self._engine = None
        self._source = None
        self._target = None
        self._cancelled = False
        self._loading = False

    def setup(self):
        """Build the panel."""
        ScriptedLoadableModuleWidget.setup(self)
        self._logic = MedianDenoisingLogic(slicer.mrmlScene)
        self._build_volumes()
        self._build_kernel()
        self._build_actions()
        self._build_engine()
        self.layout.addStretch(1)
        scene = slicer.mrmlScene
        self.addObserver(scene, scene.EndCloseEvent, self._on_scene_changed)
        self.addObserver(scene, scene.EndImportEvent, self._on_scene_changed)
        self._load_settings()

    def enter(self):
        """Look again who can compute, when the module is opened."""
        self._find_engine()

    def exit(self):
        """Take the preview away, when another module is opened."""
        self._preview.checked = False

    def cleanup(self):
        """Let go of the scene, when the module is closed."""
        self._preview_timer.stop()
        self.removeObservers()

    def _section(self, title):
        section = ctk.ctkCollapsibleButton()
        section.text = title
        self.layout.addWidget(section)
        return qt.QFormLayout(section)

    def _volume_selector(self, none_text):
        selector = slicer.qMRMLNodeComboBox()
        selector.nodeTypes = _VOLUME_CLASSES
        selector.addEnabled = False
        selector.removeEnabled = False
        selector.noneEnabled = True
        selector.noneDisplay = none_text
        selector.setMRMLScene(slicer.mrmlScene)
        selector.connect("currentNodeChanged(vtkMRMLNode*)", self._on_changed)
        return selector

    def _build_volumes(self):
        form = self._section("Volumes")
        self._input = self._volume_selector("choose a volume")
        self._output = self._volume_selector("a new volume")
        self._output.setToolTip("The input itself may be the output; Restore brings it back.")
        form.addRow("Input:", self._input)
        form.addRow("Output:", self._output)

    def _build_kernel(self):
        form = self._section("Kernel")
        self._unit = qt.QComboBox()
        self._unit.addItem("millimetres", kernel.MILLIMETRES)
        self._unit.addItem("voxels", kernel.VOXELS)
        self._unit.connect("currentIndexChanged(int)", self._on_changed)
        form.addRow("Sizes are in:", self._unit)
        self._size_labels, self._sizes = [], []
        for _ in kernel.AXES:
            size = qt.QDoubleSpinBox()
            size.decimals = 2
            size.minimum = 0.01
            size.maximum = 9999
            size.connect("valueChanged(double)", self._on_changed)
            label = qt.QLabel()
            form.addRow(label, size)
            self._size_labels.append(label)
            self._sizes.append(size)
        self._slice_wise = qt.QCheckBox("slice by slice")
        self._slice_wise.connect("toggled(bool)", self._on_changed)
        self._axis = qt.QComboBox()
        self._axis.addItem("along the acquisition axis", kernel.AUTOMATIC)
        for axis in kernel.AXES:
            self._axis.addItem(f"along {axis}", axis)
        self._axis.connect("currentIndexChanged(int)", self._on_changed)
        form.addRow(self._slice_wise, self._axis)
        self._window = qt.QLabel()
        self._window.wordWrap = True
        form.addRow("Window:", self._window)

    def _button(self, text, function, checkable=False):
        button = qt.QPushButton(text)
        button.checkable = checkable
        button.connect("toggled(bool)" if checkable else "clicked(bool)", function)
        return button

    def _build_actions(self):
        form = self._section("Filter")
        self._view = qt.QComboBox()
        self._view.addItems(slicer.app.layoutManager().sliceViewNames())
        self._view.connect("currentIndexChanged(int)", self._on_view_changed)
        self._preview = self._button("Preview the slice", self._on_preview, checkable=True)
        form.addRow(self._preview, self._view)
        self._preview_timer = qt.QTimer()
        self._preview_timer.singleShot = True
        self._preview_timer.interval = _PREVIEW_DELAY
        self._preview_timer.connect("timeout()", self._update_preview)
        self._apply = self._button("Apply", self._on_apply)
        self._cancel = self._button("Cancel", self._on_cancel)
        self._cancel.enabled = False
        form.addRow(self._apply, self._cancel)
        self._before = self._button("Show before", self._on_before, checkable=True)
        self._restore = self._button("Restore", self._on_restore)
        self._restore.setToolTip("Undo the last run: its output holds again what it held before.")
        form.addRow(self._before, self._restore)
        self._bar = qt.QProgressBar()
        self._bar.maximum = 100
        form.addRow(self._bar)
        self._status = qt.QLabel()
        self._status.wordWrap = True
        form.addRow(self._status)

    def _build_engine(self):
        form = self._section("Computed by")
        self._engine_label = qt.QLabel()
        self._engine_label.wordWrap = True
        form.addRow(self._engine_label)
        self._package = qt.QLineEdit()
        with open(self.resourcePath("requirements.txt")) as requirements:
            self._package.text = requirements.read().strip()
        self._package.setToolTip("A name that pip finds, or the path of a wheel.")
        self._install = self._button("Install the Python package", self._on_install)
        form.addRow(self._install, self._package)

    def _find_engine(self):
        module = getattr(slicer.modules, "cudamedianimagefilter", None)
        command_line = None
        if module is not None:
            command_line = engines.CommandLineEngine(
                slicer.mrmlScene,
                lambda parameters: slicer.cli.run(
                    module, None, parameters, wait_for_completion=False, update_display=False
                ),
                slicer.app.processEvents,
            )
        try:
            self._engine, why = engines.choose(command_line)
        except DenoisingError as error:
            self._engine = None
            self._engine_label.text = str(error)
        else:
            text = f"{self._engine.name}; {self._engine.device()}. {why}"
            self._engine_label.text = text.strip()
        self._install.enabled = not isinstance(self._engine, engines.PackageEngine)
        self._refresh()

    def _on_install(self, _clicked=False):
        wanted = self._package.text.strip()
        # Newer versions of Slicer ask themselves, with a list of what would be installed.
        asks = importlib.util.find_spec("slicer.packaging") is not None
        if not asks and not slicer.util.confirmOkCancelDisplay(f"Install '{wanted}' into Slicer's Python?"):
            return
        try:
            slicer.util.pip_install([wanted])
        except Exception as error:  # Slicer's versions raise kinds of their own
            self._say(f"'{wanted}' could not be installed: {error}")
            return
        self._find_engine()
        self._say(self._engine_label.text)

    def _say(self, text):
        self._status.text = text

    def _wanted(self):
        """Return the kernel that the panel shows."""
        return Kernel(
            tuple(size.value for size in self._sizes),
            self._unit.itemData(self._unit.currentIndex),
            self._slice_wise.checked,
            self._axis.itemData(self._axis.currentIndex),
        )

    def _load_settings(self):
        """Show what the scene remembers."""
        node = settings.parameter_node(slicer.mrmlScene)
        try:
            wanted = settings.read_kernel(node)
        except DenoisingError as error:
            self._say(str(error))
            wanted = Kernel()
        self._loading = True
        try:
            self._input.setCurrentNode(settings.get_input(node))
            self._output.setCurrentNode(settings.get_output(node))
            self._unit.setCurrentIndex(kernel.UNITS.index(wanted.unit))
            for size, value in zip(self._sizes, wanted.size, strict=True):
                size.value = value
            self._slice_wise.checked = wanted.slice_wise
            self._axis.setCurrentIndex((kernel.AUTOMATIC, *kernel.AXES).index(wanted.acquisition_axis))
        finally:
            self._loading = False
        self._find_engine()

    def _on_scene_changed(self, _caller, _event):
        self._preview.checked = False
        self._source = self._target = None
        self._load_settings()

    def _on_changed(self, _value=None):
        if self._loading:
            return
        node = settings.parameter_node(slicer.mrmlScene)
        settings.write_kernel(node, self._wanted())
        settings.set_input(node, self._input.currentNode())
        settings.set_output(node, self._output.currentNode())
        self._refresh()
        if self._preview.checked:
            self._preview_timer.start()

    def _refresh(self):
        """Show the window that the kernel is in the chosen volume, or why it is none."""
        source = self._input.currentNode()
        for axis, label in enumerate(self._size_labels):
            label.text = f"Along {volumes.axis_label(source, axis) if source else kernel.AXES[axis]}:"
        self._axis.enabled = self._slice_wise.checked
        ready = False
        try:
            self._window.text = str(self._logic.window(source, self._wanted()))
            ready = self._engine is not None
        except DenoisingError as error:
            self._window.text = str(error)
        self._apply.enabled = ready
        self._preview.enabled = ready

    def _on_progress(self, fraction):
        self._bar.value = int(100 * fraction)
        slicer.app.processEvents()
        return self._cancelled

    def _on_cancel(self, _clicked=False):
        self._cancelled = True

    def _set_running(self, running):
        for widget in (
            self._apply,
            self._preview,
            self._restore,
            self._before,
            self._install,
            self._input,
            self._output,
        ):
            widget.enabled = not running
        self._cancel.enabled = running

    def _on_apply(self, _clicked=False):
        self._before.checked = False
        self._preview.checked = False
        self._cancelled = False
        source = self._input.currentNode()
        self._set_running(True)
        try:
            result = self._logic.run(
                self._engine, source, self._output.currentNode(), self._wanted(), self._on_progress
            )
        except DenoisingError as error:
            self._say(str(error))
        else:
            self._source, self._target = source, result.node
            self._output.setCurrentNode(result.node)
            self._logic.show_in_views(result.node)
            self._say(result.in_words())
        finally:
            self._bar.value = 0
            self._set_running(False)
            self._find_engine()

    def _on_before(self, before):
        if self._target is None:
            self._say("Apply the filter first; then this shows the volume before it.")
            return
        if not all(slicer.mrmlScene.IsNodePresent(node) for node in (self._source, self._target)):
            self._say("A volume of the last run is no longer in the scene.")
            return
        try:
            if self._source is self._target:
                self._logic.show_before(before)
            else:
                self._logic.show_in_views(self._source if before else self._target)
        except DenoisingError as error:
            self._say(str(error))

    def _on_restore(self, _clicked=False):
        self._before.checked = False
        try:
            restored = self._logic.restore()
        except DenoisingError as error:
            self._say(str(error))
            return
        self._say("Restored." if restored else "There is nothing to restore: the last output was a new volume.")

    def _slice_logic(self):
        return slicer.app.layoutManager().sliceWidget(self._view.currentText).sliceLogic()

    def _on_view_changed(self, _index=0):
        if self._preview.checked:
            self._on_preview(False)
            self._on_preview(True)

    def _on_preview(self, wanted):
        self.removeObservers(self._on_slice_moved)
        self._preview_timer.stop()
        if wanted:
            self.addObserver(self._slice_logic().GetSliceNode(), vtk.vtkCommand.ModifiedEvent, self._on_slice_moved)
            self._update_preview()
        else:
            self._logic.remove_preview()

    def _on_slice_moved(self, _caller, _event):
        self._preview_timer.start()

    def _update_preview(self):
        source = self._input.currentNode()
        slice_logic = self._slice_logic()
        try:
            volumes.voxels(source)
            axis, number = volumes.slice_in_view(source, slice_logic.GetSliceNode())
            result = self._logic.preview(self._engine, source, self._wanted(), axis, number)
        except DenoisingError as error:
            self._logic.remove_preview()
            self._say(str(error))
            return
        composite = slice_logic.GetSliceCompositeNode()
        composite.SetForegroundVolumeID(result.node.GetID())
        composite.SetForegroundOpacity(1)
        self._say(f"Preview of slice {number} along {volumes.axis_label(source, axis)}. {result.in_words()}")
