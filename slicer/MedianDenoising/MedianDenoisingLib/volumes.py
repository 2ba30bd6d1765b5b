# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Volume nodes: their voxels as arrays, what a result takes over from its source, and where a slice view cuts them."""

from __future__ import annotations

import dataclasses

import numpy as np
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

from .kernel import AXES, DenoisingError

# The directions of the axes R, A, S and of their opposites.
_DIRECTIONS = (("left", "right"), ("back", "front"), ("foot", "head"))


def name_of(node) -> str:
    """Return a node's name in quotation marks, or "the volume" where it has none."""
    return f"'{node.GetName()}'" if node.GetName() else "the volume"


def is_label_map(node) -> bool:
    """Whether a volume holds labels."""
    return node.IsA("vtkMRMLLabelMapVolumeNode")


def voxels(node) -> np.ndarray:
    """Return a volume's voxels where they lie, as an array with axes k, j, i.

    Raises
    ------
    DenoisingError
        There is no volume, it holds nothing, or more than one number in a voxel.

    """
    if node is None:
        raise DenoisingError("No volume is chosen.")
    if not node.IsA("vtkMRMLScalarVolumeNode"):
        raise DenoisingError(f"{name_of(node)} is no volume.")
    image = node.GetImageData()
    scalars = image.GetPointData().GetScalars() if image else None
    if scalars is None or scalars.GetNumberOfTuples() == 0:
        raise DenoisingError(f"{name_of(node)} is empty: it has no voxels.")
    if scalars.GetNumberOfComponents() != 1:
        raise DenoisingError(
            f"{name_of(node)} has {scalars.GetNumberOfComponents()} numbers in each voxel; the median is of one."
        )
    if scalars.GetDataType() == vtk.VTK_BIT:
        raise DenoisingError(f"{name_of(node)} has one bit for each voxel; cast it to 8 bits first.")
    return vtk_to_numpy(scalars).reshape(tuple(reversed(image.GetDimensions())))


def new_image(like, dimensions: tuple[int, int, int]) -> tuple[vtk.vtkImageData, np.ndarray]:
    """Return an image of another's pixel type, with undefined voxels, and these as an array with axes k, j, i."""
    image = vtk.vtkImageData()
    image.SetDimensions(*dimensions)
    image.AllocateScalars(like.GetScalarType(), 1)
    scalars = image.GetPointData().GetScalars()
    scalars.SetName(like.GetPointData().GetScalars().GetName())
    return image, vtk_to_numpy(scalars).reshape(tuple(reversed(dimensions)))


def image_of(array: np.ndarray) -> vtk.vtkImageData:
    """Return an image with a copy of an array with axes k, j, i."""
    image = vtk.vtkImageData()
    image.SetDimensions(*reversed(array.shape))
    image.GetPointData().SetScalars(numpy_to_vtk(np.ascontiguousarray(array).ravel(), deep=True))
    return image


def ijk_to_ras(node) -> np.ndarray:
    """Return the matrix from voxels to the volume's own millimetres, without its parent transform."""
    matrix = vtk.vtkMatrix4x4()
    node.GetIJKToRASMatrix(matrix)
    return np.array([[matrix.GetElement(row, column) for column in range(4)] for row in range(4)])


def set_ijk_to_ras(node, values: np.ndarray) -> None:
    """Place a volume's voxels."""
    matrix = vtk.vtkMatrix4x4()
    for row in range(4):
        for column in range(4):
            matrix.SetElement(row, column, values[row, column])
    node.SetIJKToRASMatrix(matrix)


def axis_label(node, axis: int) -> str:
    """Return an axis with its direction in the body, as in "k (foot to head)".

    The direction is that which the axis is nearest to.
    """
    direction = ijk_to_ras(node)[:3, axis]
    nearest = int(np.argmax(np.abs(direction)))
    start, end = _DIRECTIONS[nearest] if direction[nearest] > 0 else reversed(_DIRECTIONS[nearest])
    return f"{AXES[axis]} ({start} to {end})"


def copy_placement(source, target) -> None:
    """Give a volume another's spacing, origin, directions and parent transform."""
    target.CopyOrientation(source)
    target.SetAndObserveTransformNodeID(source.GetTransformNodeID())


def copy_attributes(source, target) -> None:
    """Give a volume another's attributes, and the quantity and units of its voxels."""
    for name in source.GetAttributeNames():
        target.SetAttribute(name, source.GetAttribute(name))
    target.SetVoxelValueQuantity(source.GetVoxelValueQuantity())
    target.SetVoxelValueUnits(source.GetVoxelValueUnits())


def copy_display(source, target) -> None:
    """Show a volume as another is shown: window, level, colours, threshold."""
    shown = source.GetDisplayNode()
    if shown is None:
        return
    display = target.GetDisplayNode()
    if display is None or display.GetClassName() != shown.GetClassName():
        display = target.GetScene().AddNewNodeByClass(shown.GetClassName())
    display.CopyContent(shown)
    if hasattr(shown, "GetWindow"):
        # Chosen anew for other voxels, they would make before and after look different where they are not.
        display.SetAutoWindowLevel(False)
        display.SetWindowLevel(shown.GetWindow(), shown.GetLevel())
    # Last: a display that chooses window and level itself would go through all voxels as soon as it sees them.
    target.SetAndObserveDisplayNodeID(display.GetID())


@dataclasses.dataclass(frozen=True)
class Content:
    """All of a volume that filtering changes. The image is the node's own, not a copy."""

    image: vtk.vtkImageData
    placement: np.ndarray
    transform: str | None
    attributes: dict[str, str]
    quantity: object
    units: object

    @classmethod
    def of(cls, node) -> Content:
        """Return what a volume holds now."""
        return cls(
            node.GetImageData(),
            ijk_to_ras(node),
            node.GetTransformNodeID(),
            {name: node.GetAttribute(name) for name in node.GetAttributeNames()},
            node.GetVoxelValueQuantity(),
            node.GetVoxelValueUnits(),
        )

    def give_to(self, node) -> None:
        """Make a volume hold this again."""
        modified = node.StartModify()
        for name in node.GetAttributeNames():
            if name not in self.attributes:
                node.RemoveAttribute(name)
        for name, value in self.attributes.items():
            node.SetAttribute(name, value)
        set_ijk_to_ras(node, self.placement)
        node.SetAndObserveTransformNodeID(self.transform)
        node.SetVoxelValueQuantity(self.quantity)
        node.SetVoxelValueUnits(self.units)
        node.SetAndObserveImageData(self.image)
        node.EndModify(modified)


def _ras_of_slice(node, slice_node) -> tuple[np.ndarray, np.ndarray]:
    """Return a point and the normal of a slice view's plane, in the volume's own millimetres."""
    plane = slice_node.GetSliceToRAS()
    origin = np.array([plane.GetElement(row, 3) for row in range(3)])
    normal = np.array([plane.GetElement(row, 2) for row in range(3)])
    transform = node.GetParentTransformNode()
    if transform is not None:
        if not transform.IsTransformToWorldLinear():
            raise DenoisingError(
                f"{name_of(node)} is bent by a transform that is not linear; harden the transform to preview a slice."
            )
        matrix = vtk.vtkMatrix4x4()
        transform.GetMatrixTransformToWorld(matrix)
        to_world = np.array([[matrix.GetElement(row, column) for column in range(4)] for row in range(4)])
        origin = np.linalg.solve(to_world, [*origin, 1])[:3]
        # A plane's normal goes the way of the transposed matrix.
        normal = to_world[:3, :3].T @ normal
    return origin, normal


def slice_in_view(node, slice_node) -> tuple[int, int]:
    """Return the axis and the number of the slice that a slice view shows of a volume.

    The axis is that which the view's normal is nearest to, and the slice that which the view's plane meets on the line
    through the middle of the volume.

    Raises
    ------
    DenoisingError
        The plane passes the volume by, or the volume is under a transform that is not linear.

    """
    extent = np.array(node.GetImageData().GetDimensions())
    placement = ijk_to_ras(node)
    origin, normal = _ras_of_slice(node, slice_node)
    directions = placement[:3, :3] / np.linalg.norm(placement[:3, :3], axis=0)
    axis = int(np.argmax(np.abs(normal @ directions)))
    start = (extent - 1) / 2
    start[axis] = 0
    start = placement[:3, :3] @ start + placement[:3, 3]
    # The plane holds the points p with normal . (p - origin) = 0; the line is start + n * step.
    number = normal @ (origin - start) / (normal @ placement[:3, axis])
    # Half a voxel belongs to the slice at the border; a plane between two slices shows the upper one, as np.floor says.
    number = int(np.floor(number + 0.5))
    if not 0 <= number < extent[axis]:
        raise DenoisingError(f"The slice view shows a place beside {name_of(node)}; scroll to the volume.")
    return axis, number
