# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Masks: the voxels of a label map, or of a segmentation's segments, that lie on a volume's own voxels."""

from __future__ import annotations

import numpy as np
import vtk
from vtk.util.numpy_support import vtk_to_numpy

from . import volumes
from .kernel import DenoisingError

# Millimetres that two voxels of the same number may be apart: what is left of a matrix that a file has rounded.
_SAME_PLACE = 1e-3

# What Slicer calls a segment that is kept as voxels.
_LABELMAP = "Binary labelmap"


def is_segmentation(node) -> bool:
    """Whether a node holds segments."""
    return node.IsA("vtkMRMLSegmentationNode")


def check(mask, source, target=None) -> None:
    """Say in words why a node is no mask of a volume.

    Parameters
    ----------
    mask
        A segmentation's or a label map's node, or None, which is all voxels.
    source, target
        The volume to filter, and the one to write to if it is there already.

    Raises
    ------
    DenoisingError
        It is no mask of the volume; the text says why.

    """
    if mask is None:
        return
    if is_segmentation(mask):
        segments_of(mask)
        return
    if not volumes.is_label_map(mask):
        raise DenoisingError(f"{volumes.name_of(mask)} is no mask; choose a label map or a segmentation.")
    if mask is target:
        raise DenoisingError(
            f"{volumes.name_of(mask)} is the mask and the output; choose another output, or the mask would be lost."
        )
    volumes.voxels(mask)
    extents = [node.GetImageData().GetDimensions() for node in (mask, source)]
    if extents[0] != extents[1]:
        sizes = [" x ".join(map(str, extent)) for extent in extents]
        raise DenoisingError(
            f"The mask {volumes.name_of(mask)} has {sizes[0]} voxels and {volumes.name_of(source)} {sizes[1]}; make a "
            "segmentation of the mask, which is laid over any volume."
        )
    if not _lie_together(mask, source, extents[1]):
        raise DenoisingError(
            f"The voxels of the mask {volumes.name_of(mask)} lie elsewhere than those of {volumes.name_of(source)}; "
            "make a segmentation of the mask, which is laid over any volume."
        )


def segments_of(mask) -> tuple[str, ...]:
    """Return the segments that count: those that are shown, or all where nothing says what is shown.

    Raises
    ------
    DenoisingError
        There is none, or one that is not kept as voxels.

    """
    segmentation = mask.GetSegmentation()
    count = segmentation.GetNumberOfSegments() if segmentation else 0
    if count == 0:
        raise DenoisingError(f"The segmentation {volumes.name_of(mask)} has no segment.")
    display = mask.GetDisplayNode()
    found = []
    for number in range(count):
        name = segmentation.GetNthSegmentID(number)
        if display is None or display.GetSegmentVisibility(name):
            found.append(name)
            if segmentation.GetSegment(name).GetRepresentation(_LABELMAP) is None:
                raise DenoisingError(
                    f"The segment '{segmentation.GetSegment(name).GetName()}' of {volumes.name_of(mask)} has no "
                    f"{_LABELMAP.lower()}; create it in the module Segmentations."
                )
    if not found:
        raise DenoisingError(f"No segment of {volumes.name_of(mask)} is shown; show those whose voxels count.")
    return tuple(found)


def voxels_of(mask, source, first: tuple[int, int, int], extent: tuple[int, int, int]) -> np.ndarray:
    """Return which voxels of a box count, as an array with axes k, j, i: 1 where they do, else 0.

    A segment's voxel counts where its own voxels have the centre of the volume's, as in what Slicer exports.

    Parameters
    ----------
    mask
        A node for which `check` has no objection.
    source
        The volume.
    first, extent
        The box: its first voxel, and its size, along i, j and k.

    """
    if not is_segmentation(mask):
        cut = tuple(slice(a, a + n) for a, n in zip(reversed(first), reversed(extent), strict=True))
        return (volumes.voxels(mask)[cut] != 0).astype(np.uint8)
    # Its classes are needed for segmentations alone, which are there only where Slicer is.
    import slicer

    reference = slicer.vtkOrientedImageData()
    reference.SetExtent(*(number for a, n in zip(first, extent, strict=True) for number in (a, a + n - 1)))
    placement = vtk.vtkMatrix4x4()
    source.GetIJKToRASMatrix(placement)
    reference.SetGeometryFromImageToWorldMatrix(placement)
    to_source = vtk.vtkGeneralTransform()
    slicer.vtkMRMLTransformNode.GetTransformBetweenNodes(
        mask.GetParentTransformNode(), source.GetParentTransformNode(), to_source
    )
    counts = np.zeros(tuple(reversed(extent)), np.uint8)
    for name in segments_of(mask):
        segment, laid = slicer.vtkOrientedImageData(), slicer.vtkOrientedImageData()
        if not mask.GetBinaryLabelmapRepresentation(name, segment):
            raise DenoisingError(f"Slicer could not read the segments of {volumes.name_of(mask)}.")
        if segment.IsEmpty():
            continue
        # Nearest neighbours, and 0 beyond what the segment has.
        if not slicer.vtkOrientedImageDataResample.ResampleOrientedImageToReferenceOrientedImage(
            segment, reference, laid, False, False, to_source
        ):
            raise DenoisingError(
                f"Slicer could not lay the segments of {volumes.name_of(mask)} over {volumes.name_of(source)}."
            )
        counts |= vtk_to_numpy(laid.GetPointData().GetScalars()).reshape(counts.shape) != 0
    return counts


def _lie_together(mask, source, extent: tuple[int, int, int]) -> bool:
    """Whether the corners of two volumes of the same size are in the same places."""
    corners = np.array([[0 if bit >> axis & 1 else extent[axis] - 1 for axis in range(3)] + [1] for bit in range(8)])
    places = [(volumes.ijk_to_ras(node) @ corners.T)[:3] for node in (mask, source)]
    return mask.GetTransformNodeID() == source.GetTransformNodeID() and bool(
        np.all(np.abs(places[0] - places[1]) < _SAME_PLACE)
    )
