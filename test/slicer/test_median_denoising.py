# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The module Median Denoising on Slicer's own nodes, without Slicer's window."""

import importlib
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import slicer
import vtk
from MedianDenoisingLib import engines, kernel, settings, volumes
from MedianDenoisingLib.kernel import VOXELS, DenoisingError, Kernel
from MedianDenoisingLib.logic import KERNEL_ATTRIBUTE, SOURCE_ATTRIBUTE
from vtk.util.numpy_support import vtk_to_numpy

from conftest import ROOT, ProgramRun, ReferenceEngine, add_transform, add_volume, medians_of, noise, request_of

# Kernels and windows


def test_window_has_the_odd_number_of_voxels_nearest_to_the_millimetres():
    generator = np.random.default_rng(2)
    for _ in range(500):
        spacing = generator.uniform(0.1, 5)
        size = generator.uniform(0.01, 40)
        voxels = 2 * kernel.radius_of_millimetres(size, spacing) + 1
        odd = np.arange(1, 801, 2)
        assert voxels == odd[np.argmin(np.abs(odd * spacing - size))]


@pytest.mark.parametrize(
    "size, spacing, voxels",
    [
        (3, 1, 3),
        (0.1, 1, 1),
        (1.99, 1, 1),
        (2, 1, 3),  # as near to 1 as to 3
        (4, 1, 5),
        (0.6, 0.1, 7),  # 0.6 / 0.2 is a little less than 3 in floating point
        (0.3, 0.1, 3),
        (2.1, 0.7, 3),
        (6, 0.6, 11),
        (10, 0.7, 15),
    ],
)
def test_millimetres_become_voxels(size, spacing, voxels):
    assert 2 * kernel.radius_of_millimetres(size, spacing) + 1 == voxels


def test_millimetres_are_taken_along_each_axis():
    window = kernel.window(Kernel((3, 3, 3)), (20, 20, 20), (0.5, 1, 4))
    assert window.size == (7, 3, 1)
    assert window.array_radius == (0, 1, 3)
    assert str(window) == "7 x 3 x 1 voxels (3.5 x 3 x 4 mm)"


@pytest.mark.parametrize(
    "chosen, size", [("i", (1, 5, 7)), ("j", (3, 1, 7)), ("k", (3, 5, 1)), ("automatic", (3, 1, 7))]
)
def test_slice_wise_window_is_one_voxel_along_the_acquisition_axis(chosen, size):
    wanted = Kernel((3, 5, 7), VOXELS, slice_wise=True, acquisition_axis=chosen)
    assert kernel.window(wanted, (20, 20, 20), (1, 3, 1)).size == size


@pytest.mark.parametrize(
    "spacing, axis",
    [((1, 1, 1), 2), ((1, 1, 3), 2), ((3, 1, 1), 0), ((0.5, 2, 1), 1), ((1.005, 1, 1), 2), ((2, 2, 1), 2)],
)
def test_acquisition_axis_has_the_clearly_largest_spacing(spacing, axis):
    assert kernel.acquisition_axis(spacing) == axis


def test_size_along_the_acquisition_axis_does_not_matter_slice_by_slice():
    wanted = Kernel((3, 3, 4), VOXELS, slice_wise=True)
    assert kernel.window(wanted, (9, 9, 9), (1, 1, 2)).size == (3, 3, 1)


def test_window_is_one_voxel_where_the_volume_is():
    assert kernel.window(Kernel((3, 3, 3), VOXELS), (9, 9, 1), (1, 1, 1)).size == (3, 3, 1)
    array = noise((1, 8, 9))
    assert np.array_equal(medians_of(array, (1, 1, 1)), medians_of(array, (0, 1, 1)))


@pytest.mark.parametrize(
    "wanted, words",
    [
        (Kernel((3, 4, 3), VOXELS), "4 voxels along j; it must be odd, so that it has a middle: take 3 or 5"),
        (Kernel((3, 2.5, 3), VOXELS), "2.5 voxels along j; it must be a whole number"),
        (Kernel((0, 3, 3), VOXELS), "0 voxels along i; it must be above 0"),
        (Kernel((3, 3, -1)), "-1 mm along k; it must be above 0"),
        (Kernel((3, 3, math.nan)), "nan mm along k; it must be above 0"),
        (Kernel((math.inf, 3, 3), VOXELS), "inf voxels along i; it must be above 0"),
        (
            Kernel((19, 3, 3), VOXELS),
            "19 voxels (9.5 mm) along i, where the volume has 9; it may be at most 17 voxels (8.5 mm)",
        ),
        (Kernel((3, 3, 40)), "21 voxels (42 mm) along k, where the volume has 7; it may be at most 13 voxels (26 mm)"),
        (Kernel((3, 3, 3), "inches"), "unit is 'inches'; the choices are mm and voxels"),
        (Kernel(slice_wise=True, acquisition_axis="z"), "axis is 'z'; the choices are automatic, i, j, k"),
    ],
)
def test_kernel_that_is_none_is_an_error_in_words(wanted, words):
    with pytest.raises(DenoisingError) as caught:
        kernel.window(wanted, (9, 8, 7), (0.5, 0.6, 2))
    assert words in str(caught.value)


def test_largest_window_fits():
    assert kernel.window(Kernel((17, 15, 13), VOXELS), (9, 8, 7), (1, 1, 1)).size == (17, 15, 13)


def test_axes_are_named_by_their_direction(scene):
    plain = add_volume(scene, noise(), directions=np.diag([-1.0, 1.0, 1.0]))
    assert [volumes.axis_label(plain, axis) for axis in range(3)] == [
        "i (right to left)",
        "j (back to front)",
        "k (foot to head)",
    ]
    assert volumes.axis_label(add_volume(scene, noise()), 0) == "i (front to back)"


# Volume in, volume out


def test_new_volume_holds_the_medians_in_the_same_place(scene, logic):
    array = noise()
    source = add_volume(scene, array)
    moved = np.eye(4)
    moved[:3, 3] = (1, 2, 3)
    source.SetAndObserveTransformNodeID(add_transform(scene, moved).GetID())
    source.SetAttribute("DICOM.instanceUIDs", "1.2.3")
    engine = ReferenceEngine()
    result = logic.run(engine, source, None, Kernel((1.5, 3, 6)))
    assert result.window.size == (3, 5, 3)
    assert engine.radii == [(1, 2, 1)]
    assert np.array_equal(volumes.voxels(result.node), medians_of(array, (1, 2, 1)))
    assert np.array_equal(volumes.voxels(source), array)
    assert result.node.GetClassName() == "vtkMRMLScalarVolumeNode"
    assert result.node.GetName() == "scan median"
    assert np.allclose(volumes.ijk_to_ras(result.node), volumes.ijk_to_ras(source), atol=1e-12)
    assert result.node.GetTransformNodeID() == source.GetTransformNodeID()
    assert result.node.GetAttribute("DICOM.instanceUIDs") == "1.2.3"
    assert result.node.GetAttribute(SOURCE_ATTRIBUTE) == "scan"
    assert result.node.GetAttribute(KERNEL_ATTRIBUTE) == "3 x 5 x 3 voxels (1.5 x 3 x 6 mm)"
    assert source.GetAttribute(SOURCE_ATTRIBUTE) is None
    assert "Ran on the CPU." in result.in_words()
    assert result.seconds > 0


def test_second_result_has_a_name_of_its_own(scene, logic):
    source = add_volume(scene, noise())
    names = {logic.run(ReferenceEngine(), source, None, Kernel()).node.GetName() for _ in range(2)}
    assert len(names) == 2


def test_display_is_the_same_before_and_after(scene, logic):
    source = add_volume(scene, noise())
    colours = scene.AddNewNodeByClass("vtkMRMLColorTableNode", "colours")
    shown = source.GetDisplayNode()
    shown.SetAutoWindowLevel(False)
    shown.SetWindowLevel(350, 40)
    shown.SetThreshold(-100, 900)
    shown.SetAndObserveColorNodeID(colours.GetID())
    display = logic.run(ReferenceEngine(), source, None, Kernel()).node.GetDisplayNode()
    assert display is not shown
    assert (display.GetWindow(), display.GetLevel()) == (350, 40)
    assert (display.GetLowerThreshold(), display.GetUpperThreshold()) == (-100, 900)
    assert display.GetColorNodeID() == colours.GetID()
    assert not display.GetAutoWindowLevel()


def test_window_and_level_are_not_chosen_anew(scene, logic):
    array = noise()
    array[0, 0, 0] = 32767
    source = add_volume(scene, array)
    shown = source.GetDisplayNode()
    assert shown.GetAutoWindowLevel()
    display = logic.run(ReferenceEngine(), source, None, Kernel()).node.GetDisplayNode()
    assert not display.GetAutoWindowLevel()
    assert (display.GetWindow(), display.GetLevel()) == (shown.GetWindow(), shown.GetLevel())


def coded(meaning):
    entry = slicer.vtkCodedEntry()
    entry.SetValueSchemeMeaning("1", "TEST", meaning)
    return entry


def test_quantity_and_units_are_taken_over_and_restored(scene, logic):
    source, target = add_volume(scene, noise()), add_volume(scene, noise())
    for node, quantity, units in ((source, "attenuation", "Hounsfield unit"), (target, "dose", "gray")):
        node.SetVoxelValueQuantity(coded(quantity))
        node.SetVoxelValueUnits(coded(units))
    logic.run(ReferenceEngine(), source, target, Kernel())
    assert target.GetVoxelValueQuantity().GetCodeMeaning() == "attenuation"
    assert target.GetVoxelValueUnits().GetCodeMeaning() == "Hounsfield unit"
    logic.restore()
    assert target.GetVoxelValueQuantity().GetCodeMeaning() == "dose"
    assert target.GetVoxelValueUnits().GetCodeMeaning() == "gray"


def test_slice_by_slice_is_each_slice_by_itself(scene, logic):
    array = noise((5, 8, 9))
    source = add_volume(scene, array)
    result = logic.run(ReferenceEngine(), source, None, Kernel((3, 3, 3), VOXELS, slice_wise=True))
    expected = np.stack([medians_of(plane, (1, 1)) for plane in array])
    assert np.array_equal(volumes.voxels(result.node), expected)


def test_label_map_stays_one(scene, logic):
    array = (noise((5, 6, 7), np.uint8) > 128).astype(np.uint8)
    source = add_volume(scene, array, kind="vtkMRMLLabelMapVolumeNode")
    result = logic.run(ReferenceEngine(), source, None, Kernel((3, 3, 3), VOXELS))
    assert result.node.GetClassName() == "vtkMRMLLabelMapVolumeNode"
    assert result.node.GetDisplayNode().GetClassName() == "vtkMRMLLabelMapVolumeDisplayNode"
    assert volumes.voxels(result.node).dtype == np.uint8
    assert np.array_equal(volumes.voxels(result.node), medians_of(array, (1, 1, 1)))
    assert result.notes == ()
    several = add_volume(scene, noise((5, 6, 7), np.uint8), kind="vtkMRMLLabelMapVolumeNode")
    assert "several labels" in logic.run(ReferenceEngine(), several, None, Kernel((3, 3, 3), VOXELS)).in_words()


def test_window_of_one_voxel_is_told(scene, logic):
    source = add_volume(scene, noise())
    assert "nothing changes" in logic.run(ReferenceEngine(), source, None, Kernel((0.1, 0.1, 0.1))).in_words()


def test_volume_filtered_to_itself_can_be_compared_and_restored(scene, logic):
    array = noise()
    source = add_volume(scene, array)
    image, display = source.GetImageData(), source.GetDisplayNode()
    result = logic.run(ReferenceEngine(), source, source, Kernel((3, 3, 3), VOXELS))
    expected = medians_of(array, (1, 1, 1))
    assert result.node is source
    assert source.GetDisplayNode() is display
    assert np.array_equal(volumes.voxels(source), expected)
    assert logic.show_before(True)
    assert np.array_equal(volumes.voxels(source), array)
    assert logic.show_before(False)
    assert np.array_equal(volumes.voxels(source), expected)
    assert source.GetAttribute(KERNEL_ATTRIBUTE)
    assert logic.restore()
    assert source.GetImageData() is image
    assert np.array_equal(volumes.voxels(source), array)
    assert source.GetAttribute(KERNEL_ATTRIBUTE) is None
    assert not logic.restore()
    assert not logic.show_before(True)


def test_volume_written_over_is_restored_whole(scene, logic):
    source = add_volume(scene, noise(seed=3))
    target = add_volume(scene, noise((3, 4, 5), np.float32), (1, 2, 3), np.eye(3), "other")
    target.SetAttribute("kept", "yes")
    shift = add_transform(scene, np.diag([2.0, 2.0, 2.0, 1.0]))
    target.SetAndObserveTransformNodeID(shift.GetID())
    before, placement = volumes.voxels(target).copy(), volumes.ijk_to_ras(target)
    source.SetAttribute("from source", "yes")
    logic.run(ReferenceEngine(), source, target, Kernel((3, 3, 3), VOXELS))
    assert volumes.voxels(target).dtype == np.int16
    assert np.allclose(volumes.ijk_to_ras(target), volumes.ijk_to_ras(source), atol=1e-12)
    assert target.GetTransformNodeID() is None
    assert logic.restore()
    assert np.array_equal(volumes.voxels(target), before)
    assert np.allclose(volumes.ijk_to_ras(target), placement, atol=1e-12)
    assert target.GetTransformNodeID() == shift.GetID()
    assert target.GetAttribute("from source") is None
    assert target.GetAttribute("kept") == "yes"


def test_nothing_to_restore_after_a_new_volume(scene, logic):
    source = add_volume(scene, noise())
    logic.run(ReferenceEngine(), source, source, Kernel())
    logic.run(ReferenceEngine(), source, None, Kernel())
    assert not logic.restore()


def test_restoring_a_volume_that_was_deleted_is_an_error_in_words(scene, logic):
    source = add_volume(scene, noise())
    logic.run(ReferenceEngine(), source, source, Kernel())
    scene.RemoveNode(source)
    with pytest.raises(DenoisingError, match="no longer in the scene"):
        logic.restore()
    assert not logic.restore()


class FailingEngine:
    """Writes half of the result, then fails."""

    name = "failing"

    def __init__(self, error):
        self.error = error

    def filter(self, source, request, target, progress):
        """As the engines do."""
        target[: len(target) // 2] = 7
        raise self.error


@pytest.mark.parametrize("error", [DenoisingError("no"), engines.Cancelled(), MemoryError()])
@pytest.mark.parametrize("onto_itself", [False, True])
def test_run_that_fails_changes_nothing(scene, logic, error, onto_itself):
    array = noise()
    source = add_volume(scene, array)
    count, image = scene.GetNumberOfNodes(), source.GetImageData()
    with pytest.raises(DenoisingError):
        logic.run(FailingEngine(error), source, source if onto_itself else None, Kernel())
    assert source.GetImageData() is image
    assert np.array_equal(volumes.voxels(source), array)
    assert scene.GetNumberOfNodes() == count
    assert source.GetAttribute(KERNEL_ATTRIBUTE) is None
    assert not logic.restore()


def test_progress_can_cancel(scene, logic):
    source = add_volume(scene, noise())
    with pytest.raises(engines.Cancelled, match="Nothing was changed"):
        logic.run(ReferenceEngine(), source, None, Kernel(), lambda fraction: True)


def empty_volume(scene):
    return scene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", "empty")


def volume_without_slices(scene):
    node = empty_volume(scene)
    image = vtk.vtkImageData()
    image.SetDimensions(4, 4, 0)
    image.AllocateScalars(vtk.VTK_SHORT, 1)
    node.SetAndObserveImageData(image)
    return node


def colour_volume(scene):
    node = scene.AddNewNodeByClass("vtkMRMLVectorVolumeNode", "colour")
    image = vtk.vtkImageData()
    image.SetDimensions(4, 4, 4)
    image.AllocateScalars(vtk.VTK_UNSIGNED_CHAR, 3)
    node.SetAndObserveImageData(image)
    return node


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda scene: None, "No volume is chosen"),
        (empty_volume, "'empty' is empty: it has no voxels"),
        (volume_without_slices, "'empty' is empty: it has no voxels"),
        (colour_volume, "'colour' has 3 numbers in each voxel"),
        (lambda scene: add_transform(scene, np.eye(4)), "is no volume"),
    ],
)
def test_what_cannot_be_filtered_is_an_error_in_words(scene, logic, make, words):
    node = make(scene)
    for call in (
        lambda: logic.run(ReferenceEngine(), node, None, Kernel()),
        lambda: logic.window(node, Kernel()),
        lambda: logic.preview(ReferenceEngine(), node, Kernel(), 2, 0),
    ):
        with pytest.raises(DenoisingError) as caught:
            call()
        assert words in str(caught.value)


def test_output_of_another_kind_is_an_error_in_words(scene, logic):
    source = add_volume(scene, noise())
    labels = add_volume(scene, noise(), kind="vtkMRMLLabelMapVolumeNode", name="labels")
    with pytest.raises(DenoisingError, match="'scan' is an image and the output 'labels' is a label map"):
        logic.run(ReferenceEngine(), source, labels, Kernel())
    with pytest.raises(DenoisingError, match="'labels' is a label map and the output 'scan' is an image"):
        logic.run(ReferenceEngine(), labels, source, Kernel())


# The preview of a slice


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("slice_wise", [False, True])
def test_preview_is_the_slice_of_the_result(scene, logic, axis, slice_wise):
    array = noise((9, 10, 11))
    source = add_volume(scene, array)
    wanted = Kernel((5, 3, 5), VOXELS, slice_wise)
    whole = volumes.voxels(logic.run(ReferenceEngine(), source, None, wanted).node)
    for number in range(array.shape[2 - axis]):
        node = logic.preview(ReferenceEngine(), source, wanted, axis, number).node
        assert np.array_equal(volumes.voxels(node), np.take(whole, [number], axis=2 - axis))


@pytest.mark.parametrize(
    "number, slices", [(0, 3), (1, 4), (4, 5), (8, 3)], ids=["border", "beside the border", "inside", "other border"]
)
def test_preview_filters_the_slice_and_its_halo_only(scene, logic, number, slices):
    engine = ReferenceEngine()
    source = add_volume(scene, noise((9, 10, 11)))
    logic.preview(engine, source, Kernel((3, 3, 5), VOXELS), 2, number)
    logic.preview(engine, source, Kernel((3, 3, 5), VOXELS, slice_wise=True), 2, number)
    assert engine.shapes == [(slices, 10, 11), (1, 10, 11)]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_preview_lies_where_the_slice_lies(scene, logic, axis):
    source = add_volume(scene, noise())
    source.SetAndObserveTransformNodeID(add_transform(scene, np.diag([2.0, 1.0, 1.0, 1.0])).GetID())
    node = logic.preview(ReferenceEngine(), source, Kernel(), axis, 3).node
    voxel = np.array([1.0, 2.0, 4.0, 1.0])
    inside = voxel.copy()
    voxel[axis], inside[axis] = 3, 0
    assert np.allclose(volumes.ijk_to_ras(node) @ inside, volumes.ijk_to_ras(source) @ voxel, atol=1e-9)
    assert node.GetTransformNodeID() == source.GetTransformNodeID()
    assert node.GetImageData().GetDimensions()[axis] == 1
    assert node.GetHideFromEditors()
    assert not node.GetSaveWithScene()
    shown, display = source.GetDisplayNode(), node.GetDisplayNode()
    assert (display.GetWindow(), display.GetLevel()) == (shown.GetWindow(), shown.GetLevel())


def test_preview_has_one_volume_that_goes_away(scene, logic):
    source = add_volume(scene, noise())
    labels = add_volume(scene, noise(), kind="vtkMRMLLabelMapVolumeNode")
    count = scene.GetNumberOfNodes()
    first = logic.preview(ReferenceEngine(), source, Kernel(), 2, 3).node
    assert logic.preview(ReferenceEngine(), source, Kernel(), 1, 2).node is first
    assert logic.preview(ReferenceEngine(), labels, Kernel(), 1, 2).node.GetClassName() == "vtkMRMLLabelMapVolumeNode"
    logic.remove_preview()
    logic.remove_preview()
    assert scene.GetNumberOfNodes() == count


def test_preview_beyond_the_volume_is_an_error(scene, logic):
    source = add_volume(scene, noise())
    for number in (-1, 7):
        with pytest.raises(DenoisingError, match=f"no slice {number} along k; the last is 6"):
            logic.preview(ReferenceEngine(), source, Kernel(), 2, number)


def add_view(scene, normal, point):
    """Return a slice view's node whose plane goes through a point."""
    node = scene.AddNewNodeByClass("vtkMRMLSliceNode")
    normal = np.array(normal, float) / np.linalg.norm(normal)
    side = np.cross(normal, [0.3, 0.5, 0.8])
    side /= np.linalg.norm(side)
    node.SetSliceToRASByNTP(*normal, *side, *point, 0)
    return node


@pytest.mark.parametrize("axis, number", list(itertools.product(range(3), (0, 3, 6))))
@pytest.mark.parametrize("turned", [False, True])
def test_slice_of_a_view_is_found(scene, axis, number, turned):
    source = add_volume(scene, noise())
    to_world = np.eye(4)
    if turned:
        to_world[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
        to_world[:3, 3] = (5, -3, 11)
        source.SetAndObserveTransformNodeID(add_transform(scene, to_world).GetID())
    placement = to_world @ volumes.ijk_to_ras(source)
    voxel = np.array([2.0, 5.0, 1.0, 1.0])
    voxel[axis] = number + 0.3
    view = add_view(scene, placement[:3, axis] * (-1) ** number, (placement @ voxel)[:3])
    assert volumes.slice_in_view(source, view) == (axis, number)


def test_view_beside_the_volume_is_an_error_in_words(scene):
    source = add_volume(scene, noise())
    placement = volumes.ijk_to_ras(source)
    for number, inside in ((-0.4, True), (-0.6, False), (6.4, True), (6.6, False)):
        view = add_view(scene, placement[:3, 2], (placement @ [0, 0, number, 1])[:3])
        if inside:
            assert volumes.slice_in_view(source, view)[0] == 2
        else:
            with pytest.raises(DenoisingError, match="beside 'scan'"):
                volumes.slice_in_view(source, view)


def test_view_of_a_bent_volume_is_an_error_in_words(scene):
    source = add_volume(scene, noise())
    bent = scene.AddNewNodeByClass("vtkMRMLTransformNode")
    spline = vtk.vtkThinPlateSplineTransform()
    points = vtk.vtkPoints()
    moved = vtk.vtkPoints()
    for corner in itertools.product((0, 1), repeat=3):
        points.InsertNextPoint(corner)
        moved.InsertNextPoint(corner[0] + corner[1] * corner[2], corner[1], corner[2])
    spline.SetSourceLandmarks(points)
    spline.SetTargetLandmarks(moved)
    spline.SetBasisToR()
    bent.SetAndObserveTransformToParent(spline)
    source.SetAndObserveTransformNodeID(bent.GetID())
    with pytest.raises(DenoisingError, match="harden the transform"):
        volumes.slice_in_view(source, add_view(scene, (0, 0, 1), (0, 0, 0)))


def test_views_show_a_volume(scene, logic):
    views = [scene.AddNewNodeByClass("vtkMRMLSliceCompositeNode") for _ in range(3)]
    source = add_volume(scene, noise())
    logic.show_in_views(source)
    assert [view.GetBackgroundVolumeID() for view in views] == [source.GetID()] * 3


# What the scene remembers


def test_scene_keeps_the_settings(scene):
    source = add_volume(scene, noise())
    node = settings.parameter_node(scene)
    assert settings.read_kernel(node) == Kernel()
    wanted = Kernel((1 / 3, 2.5, 1e-3), VOXELS, slice_wise=True, acquisition_axis="j")
    settings.write_kernel(node, wanted)
    settings.set_input(node, source)
    settings.set_output(node, source)
    settings.set_output(node, None)
    scene.SetSaveToXMLString(1)
    scene.Commit()
    loaded = slicer.vtkMRMLScene()
    loaded.SetLoadFromXMLString(1)
    loaded.SetSceneXMLString(scene.GetSceneXMLString())
    loaded.Import()
    again = settings.parameter_node(loaded)
    assert again.GetModuleName() == "MedianDenoising"
    assert settings.read_kernel(again) == wanted
    assert settings.get_input(again).GetName() == "scan"
    assert settings.get_output(again) is None
    assert loaded.GetNumberOfNodesByClass("vtkMRMLScriptedModuleNode") == 1


@pytest.mark.parametrize(
    "parameter, text, words",
    [
        ("KernelSize", "3 3", "'3 3'; it must be three numbers"),
        ("KernelSize", "3 3 wide", "must be three numbers"),
        ("KernelUnit", "inch", "must be one of mm, voxels"),
        ("SliceWise", "1", "must be true or false"),
        ("AcquisitionAxis", "z", "must be one of automatic, i, j, k"),
    ],
)
def test_scene_with_other_settings_is_an_error_in_words(scene, parameter, text, words):
    node = settings.parameter_node(scene)
    node.SetParameter(parameter, text)
    with pytest.raises(DenoisingError) as caught:
        settings.read_kernel(node)
    assert parameter in str(caught.value)
    assert words in str(caught.value)


# Who computes


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint16, np.float32, np.float64])
def test_engines_equal_the_definition(scene, logic, engine, dtype):
    array = noise(dtype=dtype)
    source = add_volume(scene, array)
    count = scene.GetNumberOfNodes()
    result = logic.run(engine, source, source, Kernel((3, 5, 7), VOXELS))
    assert volumes.voxels(source).dtype == dtype
    assert np.array_equal(volumes.voxels(source), medians_of(array, (3, 2, 1)))
    assert scene.GetNumberOfNodes() == count
    assert result.engine == engine.name


def test_engines_preview(scene, logic, engine):
    array = noise((9, 10, 11))
    source = add_volume(scene, array)
    node = logic.preview(engine, source, Kernel((3, 5, 3), VOXELS), 1, 4).node
    assert np.array_equal(volumes.voxels(node), medians_of(array, (1, 2, 1))[:, 4:5, :])


def test_package_tells_device_progress_and_report(scene, logic, package_engine):
    fractions = []
    source = add_volume(scene, noise((40, 50, 60)))
    result = logic.run(package_engine, source, None, Kernel((3, 3, 3), VOXELS), fractions.append)
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert "Backend: " in result.report
    assert "Ran on" in result.in_words()
    assert package_engine.device()


def test_package_is_cancelled(scene, logic, package_engine):
    source = add_volume(scene, noise((40, 50, 60)))
    with pytest.raises(engines.Cancelled):
        logic.run(package_engine, source, None, Kernel((3, 3, 3), VOXELS), lambda fraction: True)
    assert scene.GetNumberOfNodesByClass("vtkMRMLScalarVolumeNode") == 1


def test_package_error_is_told_in_words(package_engine):
    array = noise()
    target = np.empty_like(array)
    target.flags.writeable = False
    with pytest.raises(DenoisingError, match="The filter could not run: "):
        package_engine.filter(array, request_of((1, 1, 1)), target, None)


def test_package_is_chosen_before_the_command_line(package_engine):
    chosen, why = engines.choose(None)
    assert isinstance(chosen, engines.PackageEngine)
    assert why == ""


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def test_command_line_is_chosen_without_the_package(scene, no_package):
    command_line = engines.CommandLineEngine(scene, None, None)
    chosen, why = engines.choose(command_line)
    assert chosen is command_line
    assert why == "The Python package itk_cuda_median is not installed. The command line module is used."


def test_neither_is_an_error_in_words(no_package):
    with pytest.raises(
        DenoisingError, match="not installed. The command line module CudaMedianImageFilter is not loaded"
    ):
        engines.choose(None)


def test_package_that_cannot_be_loaded_is_told(scene, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "itk_cuda_median", raising=False)
    (tmp_path / "itk_cuda_median.py").write_text("raise ImportError('no engine here')\n")
    monkeypatch.syspath_prepend(tmp_path)
    _, why = engines.choose(engines.CommandLineEngine(scene, None, None))
    assert "installed but cannot be used: no engine here" in why


def test_command_line_failure_is_one_line_and_leaves_no_node(scene, logic, program, tmp_path):
    def start(parameters):
        return ProgramRun.start(program, tmp_path, {**parameters, "backend": "quantum"}, scene)

    source = add_volume(scene, noise())
    count = scene.GetNumberOfNodes()
    with pytest.raises(DenoisingError) as caught:
        logic.run(engines.CommandLineEngine(scene, start, lambda: None), source, None, Kernel())
    assert str(caught.value).startswith("The command line module failed: ")
    assert "quantum" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert scene.GetNumberOfNodes() == count


def test_command_line_is_cancelled(scene, logic, program, tmp_path):
    runs = []

    def start(parameters):
        runs.append(ProgramRun.start(program, tmp_path, parameters, scene))
        return runs[0]

    source = add_volume(scene, noise((60, 60, 60)))
    count = scene.GetNumberOfNodes()
    engine = engines.CommandLineEngine(scene, start, lambda: None)
    with pytest.raises(engines.Cancelled):
        logic.run(engine, source, None, Kernel((7, 7, 7), VOXELS), lambda fraction: True)
    assert runs[0].GetStatus() == runs[0].Cancelled
    assert scene.GetNumberOfNodes() == count


def test_command_line_that_does_not_start_is_an_error_in_words(scene, logic):
    source = add_volume(scene, noise())
    count = scene.GetNumberOfNodes()
    with pytest.raises(DenoisingError, match="could not start the command line module"):
        logic.run(engines.CommandLineEngine(scene, lambda parameters: None, lambda: None), source, None, Kernel())
    assert scene.GetNumberOfNodes() == count


class Done(slicer.vtkMRMLCommandLineModuleNode):
    """A run that has ended well."""

    def GetStatus(self):  # noqa: N802
        """Well."""
        return self.Completed


def test_command_line_output_of_another_type_is_refused(scene, logic):
    def start(parameters):
        parameters["outputVolume"].SetAndObserveImageData(volumes.image_of(noise((7, 8, 9), np.float32)))
        return Done()

    source = add_volume(scene, noise())
    with pytest.raises(DenoisingError, match="float32, not .* of int16"):
        logic.run(engines.CommandLineEngine(scene, start, lambda: None), source, None, Kernel())


def test_command_line_engine_works_with_the_logic_of_slicer(program, tmp_path):
    if subprocess.run([program, "--xml"], capture_output=True, check=False).returncode != 0:
        pytest.skip("the program knows no --xml")
    script = Path(__file__).with_name("run_command_line_engine.py")
    command = [sys.executable, script, program, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("done")


def test_image_of_an_array_has_its_axes():
    array = noise((2, 3, 4))
    image = volumes.image_of(array)
    assert image.GetDimensions() == (4, 3, 2)
    assert image.GetScalarComponentAsDouble(3, 1, 0, 0) == array[0, 1, 3]
    assert np.array_equal(vtk_to_numpy(image.GetPointData().GetScalars()).reshape(2, 3, 4), array)


def test_library_needs_no_window():
    code = (
        "import json, sys; import MedianDenoisingLib.logic, MedianDenoisingLib.settings, MedianDenoisingLib.engines;"
        "print(json.dumps([name for name in ('qt', 'ctk', 'slicer') if name in sys.modules]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "slicer" / "MedianDenoising")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert json.loads(done.stdout) == []
