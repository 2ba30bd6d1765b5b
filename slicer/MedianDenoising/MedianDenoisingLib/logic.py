# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Volume in, volume out: the work of the module Median Denoising."""

from __future__ import annotations

import dataclasses
import re
import time

import numpy as np

from . import kernel, masks, rules, volumes
from .engines import Progress, Request
from .kernel import DenoisingError, Kernel, Window
from .rules import NO_RULES, Rules

# What a result tells of its making, beside its source's attributes.
SOURCE_ATTRIBUTE = "MedianDenoising.Source"
KERNEL_ATTRIBUTE = "MedianDenoising.Kernel"
MASK_ATTRIBUTE = "MedianDenoising.Mask"
RULES_ATTRIBUTE = "MedianDenoising.Rules"

_PREVIEW_NAME = "median preview"


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run gave.

    Parameters
    ----------
    node
        The volume that holds the medians.
    window
        The window that the kernel was.
    seconds
        What it took, from the request to the volume.
    engine
        Who computed.
    report
        What ran, where and why, in the engine's words.
    notes
        What the person should know beside it.

    """

    node: object
    window: Window
    seconds: float
    engine: str
    report: str
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Return a few lines for the person who asked."""
        # Lines of a report that went through a file of parameters are joined by semicolons.
        device = re.search(r"\bDevice: ([^;\n]+)", self.report)
        lines = [f"Window {self.window}, {self.seconds:.3g} s, by the {self.engine}."]
        if device is not None:
            lines.append("Ran on the CPU." if device[1] == "host" else f"Ran on {device[1]}.")
        return "\n".join([*lines, *self.notes])


class MedianDenoisingLogic:
    """Filters volumes of a scene.

    Parameters
    ----------
    scene
        The scene that outputs and previews go to.

    """

    def __init__(self, scene) -> None:
        self._scene = scene
        # What the last run changed: the node's identifier, what it held before, and what it holds since.
        self._changed: tuple[str, volumes.Content, volumes.Content] | None = None
        self._preview_id: str | None = None

    def window(self, node, wanted: Kernel) -> Window:
        """Return the window that a kernel is in a volume; an error says what does not fit."""
        volumes.voxels(node)
        return kernel.window(wanted, node.GetImageData().GetDimensions(), node.GetSpacing())

    def check(self, source, target, asked: Rules, mask) -> None:
        """Say in words why a volume cannot be filtered with a mask and with rules; no voxel is looked at.

        Raises
        ------
        DenoisingError
            It cannot be done; the text says why.

        """
        array = volumes.voxels(source)
        rules.check(asked, array.dtype, volumes.name_of(source), volumes.is_label_map(source))
        masks.check(mask, source, target)

    def run(
        self,
        engine,
        source,
        target,
        wanted: Kernel,
        progress: Progress | None = None,
        *,
        asked: Rules = NO_RULES,
        mask=None,
    ) -> Result:
        """Filter a volume to another, to a new one, or to itself.

        The target takes over the source's geometry, parent transform, attributes and display, and is of its kind: a
        label map stays one. When the run fails or is cancelled, nothing has been changed. Otherwise
        `restore` undoes it.

        Parameters
        ----------
        engine
            `PackageEngine` or `CommandLineEngine`.
        source
            The volume node to filter.
        target
            The volume node to write to; the source itself; or None for a new one.
        wanted
            The kernel.
        progress
            Called with the fraction done; a true result cancels.
        asked
            Which voxels count, and which are replaced.
        mask
            A node of a segmentation or of a label map, whose voxels alone count; None: all.

        Raises
        ------
        DenoisingError
            It cannot be done; the text says why.

        """
        started = time.perf_counter()
        array = volumes.voxels(source)
        window = self.window(source, wanted)
        self._check_target(source, target)
        self.check(source, target, asked, mask)
        extent = source.GetImageData().GetDimensions()
        try:
            counts = None if mask is None else masks.voxels_of(mask, source, (0, 0, 0), extent)
            notes = self._notes(source, array, window) + _notes_of_rules(array, counts, asked, mask, source)
            image, medians = volumes.new_image(source.GetImageData(), extent)
            report = engine.filter(array, Request(window, asked, counts), medians, progress)
        except MemoryError:
            raise DenoisingError(
                f"There is not enough memory to filter {volumes.name_of(source)} ({array.nbytes / 2**20:.0f} MiB)."
            ) from None
        if target is None:
            target = self._scene.AddNewNodeByClass(
                source.GetClassName(), self._scene.GenerateUniqueName(f"{source.GetName() or 'volume'} median")
            )
        self._give(source, target, image, _attributes(source, window, asked, mask))
        seconds = time.perf_counter() - started
        return Result(target, window, seconds, engine.name, report, notes)

    def restore(self) -> bool:
        """Undo the last run: its target holds again what it held before. Returns whether there was one to undo."""
        if self._changed is None:
            return False
        node, before, _ = self._changed_node()
        self._changed = None
        before.give_to(node)
        return True

    def show_before(self, before: bool) -> bool:
        """Let the last run's target hold what it held before the run, or what it holds since.

        Returns whether there is such a target; a target that held nothing before has nothing to show.
        """
        if self._changed is None:
            return False
        node, old, new = self._changed_node()
        (old if before else new).give_to(node)
        return True

    def show_in_views(self, node) -> None:
        """Show a volume as the background of all slice views."""
        for number in range(self._scene.GetNumberOfNodesByClass("vtkMRMLSliceCompositeNode")):
            composite = self._scene.GetNthNodeByClass(number, "vtkMRMLSliceCompositeNode")
            composite.SetBackgroundVolumeID(node.GetID())

    def preview(
        self, engine, source, wanted: Kernel, axis: int, number: int, *, asked: Rules = NO_RULES, mask=None
    ) -> Result:
        """Filter one slice of a volume to a volume of its own, which lies in the slice's place.

        Only the slice and the slices that its windows reach are filtered, so that the answer comes at once; it equals
        that slice of the filtered volume.

        Parameters
        ----------
        engine
            `PackageEngine` or `CommandLineEngine`.
        source
            The volume node.
        wanted
            The kernel.
        axis, number
            The slice: see `volumes.slice_in_view`.
        asked, mask
            As `run` has them.

        Raises
        ------
        DenoisingError
            It cannot be done; the text says why.

        """
        started = time.perf_counter()
        array = volumes.voxels(source)
        window = self.window(source, wanted)
        self.check(source, None, asked, mask)
        extent = source.GetImageData().GetDimensions()
        if not 0 <= number < extent[axis]:
            raise DenoisingError(
                f"There is no slice {number} along {kernel.AXES[axis]}; the last is {extent[axis] - 1}."
            )
        first = max(0, number - window.radius[axis])
        last = min(extent[axis], number + window.radius[axis] + 1)
        cut = [slice(None)] * 3
        cut[2 - axis] = slice(first, last)
        slab = np.ascontiguousarray(array[tuple(cut)])
        medians = np.empty_like(slab)
        counts = None
        if mask is not None:
            start = tuple(first if other == axis else 0 for other in range(3))
            counts = masks.voxels_of(mask, source, start, tuple(reversed(slab.shape)))
        report = engine.filter(slab, Request(window, asked, counts), medians, None)

        dimensions = list(extent)
        dimensions[axis] = 1
        image, pixels = volumes.new_image(source.GetImageData(), tuple(dimensions))
        cut[2 - axis] = slice(number - first, number - first + 1)
        pixels[...] = medians[tuple(cut)]
        node = self._preview_node(source)
        placement = volumes.ijk_to_ras(source)
        placement[:3, 3] += number * placement[:3, axis]
        modified = node.StartModify()
        volumes.set_ijk_to_ras(node, placement)
        node.SetAndObserveTransformNodeID(source.GetTransformNodeID())
        node.SetAndObserveImageData(image)
        volumes.copy_display(source, node)
        node.EndModify(modified)
        return Result(node, window, time.perf_counter() - started, engine.name, report)

    def remove_preview(self) -> None:
        """Take the preview's volume out of the scene."""
        node = self._scene.GetNodeByID(self._preview_id) if self._preview_id else None
        self._preview_id = None
        if node is not None:
            display = node.GetDisplayNode()
            if display is not None:
                self._scene.RemoveNode(display)
            self._scene.RemoveNode(node)

    def _preview_node(self, source):
        node = self._scene.GetNodeByID(self._preview_id) if self._preview_id else None
        if node is not None and node.GetClassName() != source.GetClassName():
            self.remove_preview()
            node = None
        if node is None:
            node = self._scene.AddNewNodeByClass(source.GetClassName(), _PREVIEW_NAME)
            node.SetHideFromEditors(True)
            node.SetSaveWithScene(False)
            self._preview_id = node.GetID()
        return node

    def _check_target(self, source, target) -> None:
        if target is None or target is source:
            return
        if target.GetClassName() != source.GetClassName():
            kinds = ["a label map" if volumes.is_label_map(node) else "an image" for node in (source, target)]
            if kinds[0] == kinds[1]:
                kinds = [source.GetClassName(), target.GetClassName()]
            raise DenoisingError(
                f"The input {volumes.name_of(source)} is {kinds[0]} and the output {volumes.name_of(target)} is "
                f"{kinds[1]}; choose an output of the input's kind, or a new one."
            )

    def _notes(self, source, array: np.ndarray, window: Window) -> tuple[str, ...]:
        notes = []
        if window.radius == (0, 0, 0):
            notes.append("The window is one voxel, so nothing changes; take a larger kernel.")
        if volumes.is_label_map(source) and np.count_nonzero(np.unique(array)) > 1:
            notes.append(
                "The volume has several labels. The median goes by their numbers, which say nothing of how near "
                "two labels are."
            )
        return tuple(notes)

    def _give(self, source, target, image, attributes: dict[str, str]) -> None:
        before = volumes.Content.of(target)
        # Slices of views would be drawn half changed in between.
        modified = target.StartModify()
        if target is not source:
            volumes.copy_placement(source, target)
            volumes.copy_attributes(source, target)
        for name in (MASK_ATTRIBUTE, RULES_ATTRIBUTE):
            # Of an earlier run.
            target.RemoveAttribute(name)
        for name, value in attributes.items():
            target.SetAttribute(name, value)
        target.SetAndObserveImageData(image)
        if target is not source:
            volumes.copy_display(source, target)
        target.EndModify(modified)
        held = before.image is not None and before.image.GetNumberOfPoints() > 0
        self._changed = (target.GetID(), before, volumes.Content.of(target)) if held else None

    def _changed_node(self):
        identifier, before, after = self._changed
        node = self._scene.GetNodeByID(identifier)
        if node is None:
            self._changed = None
            raise DenoisingError("The volume of the last run is no longer in the scene.")
        return node, before, after


def _attributes(source, window: Window, asked: Rules, mask) -> dict[str, str]:
    """Return what a result tells of its making."""
    attributes = {SOURCE_ATTRIBUTE: source.GetName() or source.GetID(), KERNEL_ATTRIBUTE: str(window)}
    if mask is not None:
        attributes[MASK_ATTRIBUTE] = mask.GetName() or mask.GetID()
    if str(asked):
        attributes[RULES_ATTRIBUTE] = str(asked)
    return attributes


def _notes_of_rules(array: np.ndarray, counts: np.ndarray | None, asked: Rules, mask, source) -> tuple[str, ...]:
    """Return how many voxels count, where not all do.

    Raises
    ------
    DenoisingError
        None does.

    """
    ignored = asked.ignored_value(array.dtype)
    if counts is None and ignored is None:
        return ()
    valid = np.ones(array.shape, bool) if counts is None else counts != 0
    if not valid.any():
        raise DenoisingError(f"The mask {volumes.name_of(mask)} has no voxel in {volumes.name_of(source)}.")
    if ignored is not None:
        valid &= array != array.dtype.type(ignored)
    if not valid.any():
        where = "" if mask is None else f" in the mask {volumes.name_of(mask)}"
        raise DenoisingError(f"All voxels of {volumes.name_of(source)}{where} have the ignored value, {ignored}.")
    return (f"{np.count_nonzero(valid)} of {valid.size} voxels count.",)
