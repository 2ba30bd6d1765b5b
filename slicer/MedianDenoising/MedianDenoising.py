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
from MedianDenoisingLib import engines, kernel, rules, settings, volumes
from MedianDenoisingLib.kernel import DenoisingError, Kernel
from MedianDenoisingLib.logic import MedianDenoisingLogic
from MedianDenoisingLib.rules import Rules
from slicer.ScriptedLoadableModule import ScriptedLoadableModule, ScriptedLoadableModuleWidget
from slicer.util import VTKObservationMixin

# Milliseconds without a change after which the preview is computed.
_PREVIEW_DELAY = 50

_VOLUME_CLASSES = ["vtkMRMLScalarVolumeNode", "vtkMRMLLabelMapVolumeNode"]
_MASK_CLASSES = ["vtkMRMLSegmentationNode", "vtkMRMLLabelMapVolumeNode"]


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
            "millimetres or in voxels; it filters in 3D or slice by slice, on an NVIDIA GPU or on the CPU. A mask or "
            "an ignored value leaves voxels out, and outliers alone can be replaced."
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
        self._build_rules()
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

    def _node_selector(self, none_text, classes):
        selector = slicer.qMRMLNodeComboBox()
        selector.nodeTypes = classes
        selector.addEnabled = False
        selector.removeEnabled = False
        selector.noneEnabled = True
        selector.noneDisplay = none_text
        selector.setMRMLScene(slicer.mrmlScene)
        selector.connect("currentNodeChanged(vtkMRMLNode*)", self._on_changed)
        return selector

    def _build_volumes(self):
        form = self._section("Volumes")
        self._input = self._node_selector("choose a volume", _VOLUME_CLASSES)
        self._output = self._node_selector("a new volume", _VOLUME_CLASSES)
        self._output.setToolTip("The input itself may be the output; Restore brings it back.")
        form.addRow("Input:", self._input)
        form.addRow("Output:", self._output)

    def _build_kernel(self):
        form = self._section("Kernel")
        self._shape = self._choices(("box", kernel.BOX), ("ball", kernel.BALL))
        form.addRow("Shape:", self._shape)
        self._ball_radius = self._number(0.01)
        form.addRow("Radius of the ball (mm):", self._ball_radius)
        self._unit = self._choices(("millimetres", kernel.MILLIMETRES), ("voxels", kernel.VOXELS))
        form.addRow("Sizes are in:", self._unit)
        self._size_labels, self._sizes = [], []
        for _ in kernel.AXES:
            size = self._number(0.01)
            label = qt.QLabel()
            form.addRow(label, size)
            self._size_labels.append(label)
            self._sizes.append(size)
        self._slice_wise = qt.QCheckBox("slice by slice")
        self._slice_wise.connect("toggled(bool)", self._on_changed)
        self._axis = self._choices(
            ("along the acquisition axis", kernel.AUTOMATIC), *((f"along {axis}", axis) for axis in kernel.AXES)
        )
        form.addRow(self._slice_wise, self._axis)
        self._window = qt.QLabel()
        self._window.wordWrap = True
        form.addRow("Window:", self._window)

    def _choices(self, *choices):
        box = qt.QComboBox()
        for text, value in choices:
            box.addItem(text, value)
        box.connect("currentIndexChanged(int)", self._on_changed)
        return box

    def _number(self, minimum):
        number = qt.QDoubleSpinBox()
        number.decimals = 2
        number.minimum = minimum
        number.maximum = 9999
        number.connect("valueChanged(double)", self._on_changed)
        return number

    def _build_rules(self):
        form = self._section("Voxels that count")
        self._mask = self._node_selector("all voxels", _MASK_CLASSES)
        self._mask.setToolTip("A label map, or a segmentation whose shown segments count.")
        form.addRow("Mask:", self._mask)
        self._ignored = qt.QLineEdit()
        self._ignored.setToolTip(
            "Voxels of this value do not count, such as -1024 outside of a scanner's field of view."
        )
        self._ignored.connect("textChanged(QString)", self._on_changed)
        form.addRow("Ignored value:", self._ignored)
        self._invalid = self._choices(
            ("become the median of those around them", rules.COMPUTED), ("stay as they are", rules.COPIED)
        )
        form.addRow("Voxels that do not count:", self._invalid)
        self._replaced = self._choices(
            ("every voxel", rules.EVERY),
            ("outliers, by their distance from the median", rules.ABSOLUTE),
            ("outliers, by median absolute deviations", rules.DEVIATIONS),
        )
        form.addRow("Replace:", self._replaced)
        self._threshold = self._number(0)
        self._threshold.maximum = 1e9
        form.addRow("Farther from the median than:", self._threshold)

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
            self._shape.itemData(self._shape.currentIndex),
            self._ball_radius.value,
        )

    def _asked(self):
        """Return the rules that the panel shows."""
        return Rules(
            self._ignored.text.strip(),
            self._invalid.itemData(self._invalid.currentIndex),
            self._replaced.itemData(self._replaced.currentIndex),
            self._threshold.value,
        )

    def _load_settings(self):
        """Show what the scene remembers."""
        node = settings.parameter_node(slicer.mrmlScene)
        try:
            wanted, asked = settings.read_kernel(node), settings.read_rules(node)
        except DenoisingError as error:
            self._say(str(error))
            wanted, asked = Kernel(), Rules()
        self._loading = True
        try:
            self._input.setCurrentNode(settings.get_input(node))
            self._output.setCurrentNode(settings.get_output(node))
            self._unit.setCurrentIndex(kernel.UNITS.index(wanted.unit))
            for size, value in zip(self._sizes, wanted.size, strict=True):
                size.value = value
            self._slice_wise.checked = wanted.slice_wise
            self._axis.setCurrentIndex((kernel.AUTOMATIC, *kernel.AXES).index(wanted.acquisition_axis))
            self._shape.setCurrentIndex(kernel.SHAPES.index(wanted.shape))
            self._ball_radius.value = wanted.ball_radius
            self._mask.setCurrentNode(settings.get_mask(node))
            self._ignored.text = asked.ignored
            self._invalid.setCurrentIndex(rules.INVALID_OUTPUTS.index(asked.invalid_output))
            self._replaced.setCurrentIndex(rules.REPLACED.index(asked.replaced))
            self._threshold.value = asked.threshold
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
        settings.write_rules(node, self._asked())
        settings.set_mask(node, self._mask.currentNode())
        self._refresh()
        if self._preview.checked:
            self._preview_timer.start()

    def _refresh(self):
        """Show the window that the kernel is in the chosen volume, or what cannot be done."""
        source = self._input.currentNode()
        for axis, label in enumerate(self._size_labels):
            label.text = f"Along {volumes.axis_label(source, axis) if source else kernel.AXES[axis]}:"
        wanted, asked, mask = self._wanted(), self._asked(), self._mask.currentNode()
        is_ball = wanted.shape == kernel.BALL
        self._ball_radius.enabled = is_ball
        for widget in (self._unit, *self._sizes):
            widget.enabled = not is_ball
        self._axis.enabled = wanted.slice_wise
        self._invalid.enabled = mask is not None or asked.ignored != ""
        self._threshold.enabled = asked.replaced != rules.EVERY
        ready = False
        try:
            window = self._logic.window(source, wanted)
            self._logic.check(source, self._output.currentNode(), asked, mask)
            self._window.text = str(window)
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
            self._mask,
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
                self._engine,
                source,
                self._output.currentNode(),
                self._wanted(),
                self._on_progress,
                asked=self._asked(),
                mask=self._mask.currentNode(),
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
            result = self._logic.preview(
                self._engine,
                source,
                self._wanted(),
                axis,
                number,
                asked=self._asked(),
                mask=self._mask.currentNode(),
            )
        except DenoisingError as error:
            self._logic.remove_preview()
            self._say(str(error))
            return
        composite = slice_logic.GetSliceCompositeNode()
        composite.SetForegroundVolumeID(result.node.GetID())
        composite.SetForegroundOpacity(1)
        self._say(f"Preview of slice {number} along {volumes.axis_label(source, axis)}. {result.in_words()}")
