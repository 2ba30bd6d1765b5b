# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Masks, ignored values, balls and outliers of the module Median Denoising, on Slicer's own nodes."""

import os

import numpy as np
import pytest
import slicer
import vtk
from MedianDenoisingLib import engines, kernel, masks, settings, volumes
from MedianDenoisingLib.kernel import BALL, VOXELS, DenoisingError, Kernel, Window
from MedianDenoisingLib.logic import KERNEL_ATTRIBUTE, MASK_ATTRIBUTE, RULES_ATTRIBUTE
from MedianDenoisingLib.rules import ABSOLUTE, COPIED, DEVIATIONS, Rules

from conftest import ReferenceEngine, add_transform, add_volume, filtered, noise

SEED = int(os.environ.get("CUDAMEDIAN_TEST_SEED", "20261123"))
CUBE = Kernel((3, 3, 3), VOXELS)
LABELS = "vtkMRMLLabelMapVolumeNode"


def blob(shape=(7, 8, 9)):
    """Return labels 0, 1 and 2."""
    labels = np.zeros(shape, np.uint8)
    labels[1:5, 2:7, 3:8] = 1
    labels[3:6, 4:, :4] = 2
    return labels


def lay_over(image, node):
    """Return an image as Slicer's class for segments, which lies where a volume does."""
    laid = slicer.vtkOrientedImageData()
    laid.DeepCopy(image)
    placement = vtk.vtkMatrix4x4()
    node.GetIJKToRASMatrix(placement)
    laid.SetGeometryFromImageToWorldMatrix(placement)
    return laid


def add_segmentation(scene, node, *parts, name="organs"):
    """Return a segmentation with a segment for each array, which lies over a volume's voxels."""
    segmentation = scene.AddNewNodeByClass("vtkMRMLSegmentationNode", name)
    segmentation.CreateDefaultDisplayNodes()
    segments = [
        segmentation.AddSegmentFromBinaryLabelmapRepresentation(
            lay_over(volumes.image_of(part.astype(np.uint8)), node), f"part {number}"
        )
        for number, part in enumerate(parts)
    ]
    return segmentation, segments


# Balls


def test_ball_has_the_voxels_whose_centres_are_in_it():
    random = np.random.default_rng(SEED)
    print(f"CUDAMEDIAN_TEST_SEED={SEED}")
    for _ in range(50):
        spacing = random.uniform(0.3, 3, 3)
        radius = random.uniform(0.2, 6)
        window = kernel.window(Kernel(shape=BALL, ball_radius=radius), (99, 99, 99), spacing)
        k, j, i = np.mgrid[tuple(slice(-r, r + 1) for r in window.array_radius)]
        distances = np.sqrt((i * spacing[0]) ** 2 + (j * spacing[1]) ** 2 + (k * spacing[2]) ** 2)
        assert np.array_equal(window.footprint, distances <= radius)
        assert all(radius - step < r * step <= radius for r, step in zip(window.radius, spacing, strict=True))


def test_ball_does_not_lose_a_voxel_to_rounding():
    window = kernel.window(Kernel(shape=BALL, ball_radius=0.3), (9, 9, 9), (0.1, 0.1, 0.1))
    assert window.radius == (3, 3, 3)
    assert window.footprint[3, 3, 6]
    assert not window.footprint[3, 4, 6]
    assert str(window).startswith("123 voxels of a ball of 0.3 mm radius in 7 x 7 x 7 voxels")


def test_ball_is_a_disc_slice_by_slice_and_in_one_slice():
    ball = Kernel(slice_wise=True, shape=BALL, ball_radius=2)
    for wanted, extent in ((ball, (9, 9, 9)), (Kernel(shape=BALL, ball_radius=2), (9, 9, 1))):
        window = kernel.window(wanted, extent, (1, 1, 1))
        assert window.radius == (2, 2, 0)
        assert window.footprint.shape == (1, 5, 5)
        assert np.count_nonzero(window.footprint) == 13


@pytest.mark.parametrize(
    "wanted, words",
    [
        (Kernel(shape=BALL, ball_radius=0), "radius is 0 mm; it must be above 0"),
        (Kernel(shape=BALL, ball_radius=float("nan")), "radius is nan mm; it must be above 0"),
        (Kernel(shape=BALL, ball_radius=float("inf")), "radius is inf mm; it must be above 0"),
        (Kernel(shape=BALL, ball_radius=4.5), "19 voxels (9.5 mm) along i, where the volume has 9"),
        (Kernel(shape="cone"), "shape is 'cone'; the choices are box and ball"),
    ],
)
def test_ball_that_is_none_is_an_error_in_words(wanted, words):
    with pytest.raises(DenoisingError) as caught:
        kernel.window(wanted, (9, 8, 7), (0.5, 0.6, 2))
    assert words in str(caught.value)


# Masks


def counts_of(mask, source):
    return masks.voxels_of(mask, source, (0, 0, 0), source.GetImageData().GetDimensions())


def test_label_map_counts_where_it_has_a_label(scene, logic):
    source = add_volume(scene, noise())
    mask = add_volume(scene, blob(), kind=LABELS, name="organs")
    engine = ReferenceEngine()
    result = logic.run(engine, source, None, CUBE, mask=mask)
    assert np.array_equal(engine.requests[0].mask, blob() != 0)
    assert np.array_equal(volumes.voxels(result.node), filtered(noise(), engine.requests[0]))
    assert f"{np.count_nonzero(blob())} of {blob().size} voxels count." in result.in_words()
    assert result.node.GetAttribute(MASK_ATTRIBUTE) == "organs"
    assert result.node.GetAttribute(RULES_ATTRIBUTE) is None
    assert np.array_equal(volumes.voxels(mask), blob())


def test_shown_segments_count(scene, logic):
    source = add_volume(scene, noise())
    segmentation, segments = add_segmentation(scene, source, blob() == 1, blob() == 2)
    assert np.array_equal(counts_of(segmentation, source), blob() != 0)
    segmentation.GetDisplayNode().SetSegmentVisibility(segments[0], False)
    assert np.array_equal(counts_of(segmentation, source), blob() == 2)
    engine = ReferenceEngine()
    count = scene.GetNumberOfNodes()
    logic.run(engine, source, source, CUBE, mask=segmentation)
    assert np.array_equal(engine.requests[0].mask, blob() == 2)
    assert scene.GetNumberOfNodes() == count


def test_segments_that_share_their_voxels_count_each_by_itself(scene):
    source = add_volume(scene, noise())
    segmentation = scene.AddNewNodeByClass("vtkMRMLSegmentationNode")
    shared = lay_over(volumes.image_of(blob()), source)
    for label in (1, 2):
        segment = slicer.vtkSegment()
        segment.SetName(f"label {label}")
        segment.SetLabelValue(label)
        segment.AddRepresentation("Binary labelmap", shared)
        segmentation.GetSegmentation().AddSegment(segment, f"label {label}")
    assert np.array_equal(counts_of(segmentation, source), blob() != 0)
    segmentation.CreateDefaultDisplayNodes()
    segmentation.GetDisplayNode().SetSegmentVisibility("label 2", False)
    assert np.array_equal(counts_of(segmentation, source), blob() == 1)


def test_segments_of_other_voxels_are_laid_over_the_volume(scene):
    source = add_volume(scene, noise((4, 6, 8)), (1, 1, 1), np.eye(3))
    fine = add_volume(scene, noise((8, 12, 16)), (0.5, 0.5, 0.5), np.eye(3), "fine")
    random = np.random.default_rng(SEED)
    print(f"CUDAMEDIAN_TEST_SEED={SEED}")
    part = random.integers(0, 2, (8, 12, 16), np.uint8)
    segmentation, _ = add_segmentation(scene, fine, part)
    assert np.array_equal(counts_of(segmentation, source), part[::2, ::2, ::2])
    cut = add_volume(scene, noise((2, 3, 4)), (1, 1, 1), np.eye(3), "cut")
    segmentation, _ = add_segmentation(scene, cut, np.ones((2, 3, 4), np.uint8))
    expected = np.zeros((4, 6, 8), np.uint8)
    expected[:2, :3, :4] = 1
    assert np.array_equal(counts_of(segmentation, source), expected)


def test_segments_go_with_their_transform(scene):
    source = add_volume(scene, noise((4, 6, 8)), (1, 1, 1), np.eye(3))
    segmentation, _ = add_segmentation(scene, source, blob((4, 6, 8)) == 1)
    whole = counts_of(segmentation, source)
    shift = np.eye(4)
    shift[0, 3] = 2
    moved = add_transform(scene, shift)
    segmentation.SetAndObserveTransformNodeID(moved.GetID())
    expected = np.zeros_like(whole)
    expected[:, :, 2:] = whole[:, :, :-2]
    assert np.array_equal(counts_of(segmentation, source), expected)
    source.SetAndObserveTransformNodeID(moved.GetID())
    assert np.array_equal(counts_of(segmentation, source), whole)


def test_mask_that_is_none_is_an_error_in_words(scene, logic):
    source = add_volume(scene, noise())
    empty, _ = add_segmentation(scene, source, name="empty")
    hidden, segments = add_segmentation(scene, source, blob() == 1, name="hidden")
    hidden.GetDisplayNode().SetSegmentVisibility(segments[0], False)
    surface = scene.AddNewNodeByClass("vtkMRMLSegmentationNode", "surface")
    surface.GetSegmentation().SetSourceRepresentationName("Closed surface")
    sphere = vtk.vtkSphereSource()
    sphere.Update()
    segment = slicer.vtkSegment()
    segment.SetName("ball")
    segment.AddRepresentation("Closed surface", sphere.GetOutput())
    surface.GetSegmentation().AddSegment(segment, "ball")
    smaller = add_volume(scene, blob((7, 8, 8)), kind=LABELS, name="smaller")
    moved = add_volume(scene, blob(), (0.5, 0.6, 2.1), kind=LABELS, name="moved")
    turned = add_volume(scene, blob(), kind=LABELS, name="turned")
    turned.SetAndObserveTransformNodeID(add_transform(scene, np.diag([2.0, 1.0, 1.0, 1.0])).GetID())
    for mask, words in (
        (empty, "The segmentation 'empty' has no segment."),
        (hidden, "No segment of 'hidden' is shown"),
        (surface, "'ball' of 'surface' has no binary labelmap; create it in the module Segmentations"),
        (
            add_volume(scene, noise(), name="other scan"),
            "'other scan' is no mask; choose a label map or a segmentation",
        ),
        (smaller, "The mask 'smaller' has 8 x 8 x 7 voxels and 'scan' 9 x 8 x 7"),
        (moved, "The voxels of the mask 'moved' lie elsewhere than those of 'scan'"),
        (turned, "The voxels of the mask 'turned' lie elsewhere than those of 'scan'"),
    ):
        for call in (
            lambda mask=mask: logic.run(ReferenceEngine(), source, None, CUBE, mask=mask),
            lambda mask=mask: logic.preview(ReferenceEngine(), source, CUBE, 2, 3, mask=mask),
            lambda mask=mask: logic.check(source, None, Rules(), mask),
        ):
            with pytest.raises(DenoisingError) as caught:
                call()
            assert words in str(caught.value)


def test_mask_that_is_the_output_is_refused(scene, logic):
    source = add_volume(scene, blob(), kind=LABELS, name="labels")
    mask = add_volume(scene, blob(), kind=LABELS, name="mask")
    with pytest.raises(DenoisingError, match="'mask' is the mask and the output"):
        logic.run(ReferenceEngine(), source, mask, CUBE, mask=mask)
    with pytest.raises(DenoisingError, match="'labels' is the mask and the output"):
        logic.run(ReferenceEngine(), source, source, CUBE, mask=source)
    assert np.array_equal(volumes.voxels(mask), blob())
    logic.run(ReferenceEngine(), source, None, CUBE, mask=source)


def test_mask_beside_the_volume_is_refused_but_has_a_preview(scene, logic):
    source = add_volume(scene, noise())
    nothing = add_volume(scene, np.zeros((7, 8, 9), np.uint8), kind=LABELS, name="nothing")
    with pytest.raises(DenoisingError, match="The mask 'nothing' has no voxel in 'scan'"):
        logic.run(ReferenceEngine(), source, None, CUBE, mask=nothing)
    # A slice that the mask does not reach is not an error: its windows have no valid voxel.
    node = logic.preview(ReferenceEngine(), source, CUBE, 2, 3, mask=nothing).node
    assert np.array_equal(volumes.voxels(node)[0], noise()[3])


# The ignored value


@pytest.mark.parametrize(
    "dtype, text, value", [("int16", "-1024", -1024), ("float32", "0.1", 0.1), ("uint8", "2e2", 200)]
)
def test_ignored_value_does_not_count(scene, logic, dtype, text, value):
    array = noise(dtype=dtype)
    array[::2, 1:, ::3] = value
    engine = ReferenceEngine()
    source = add_volume(scene, array)
    result = logic.run(engine, source, None, CUBE, asked=Rules(f" {text} "))
    plain = logic.run(engine, source, None, CUBE)
    assert np.array_equal(volumes.voxels(result.node), filtered(array, engine.requests[0]))
    assert not np.array_equal(volumes.voxels(result.node), volumes.voxels(plain.node))
    assert result.node.GetAttribute(RULES_ATTRIBUTE) == f"ignored: {text}"
    assert plain.node.GetAttribute(RULES_ATTRIBUTE) is None


@pytest.mark.parametrize(
    "dtype, text, value",
    [
        ("int64", "9007199254740993", 2**53 + 1),
        ("uint64", "18446744073709551615", 2**64 - 1),
        ("float64", "1e300", 1e300),
        ("float32", "0.1", float(np.float32(0.1))),
    ],
)
def test_ignored_value_is_exact(dtype, text, value):
    assert Rules(text).ignored_value(np.dtype(dtype)) == value


@pytest.mark.parametrize(
    "dtype, text, words",
    [
        ("int16", "air", "'air'; it must be a number"),
        ("int16", "nan", "must be finite"),
        ("float32", "inf", "must be finite"),
        ("float32", "1e39", "1e39, which voxels of type float32 do not hold"),
        ("int16", "-40000", "type int16 do not hold: they are whole numbers from -32768 to 32767"),
        ("uint8", "-1", "type uint8 do not hold: they are whole numbers from 0 to 255"),
        ("int16", "0.5", "0.5, which voxels of type int16 do not hold"),
    ],
)
def test_ignored_value_that_is_none_is_an_error_in_words(scene, logic, dtype, text, words):
    source = add_volume(scene, noise(dtype=dtype))
    for call in (
        lambda: logic.run(ReferenceEngine(), source, None, CUBE, asked=Rules(text)),
        lambda: logic.check(source, None, Rules(text), None),
    ):
        with pytest.raises(DenoisingError) as caught:
            call()
        assert words in str(caught.value)


def test_volume_without_a_voxel_that_counts_is_refused(scene, logic):
    array = np.full((7, 8, 9), 5, np.int16)
    array[0] = 7
    source = add_volume(scene, array)
    inside = np.ones_like(array, np.uint8)
    inside[0] = 0
    mask = add_volume(scene, inside, kind=LABELS, name="mask")
    with pytest.raises(DenoisingError, match="All voxels of 'scan' in the mask 'mask' have the ignored value, 5"):
        logic.run(ReferenceEngine(), source, None, CUBE, asked=Rules("5"), mask=mask)
    logic.run(ReferenceEngine(), source, None, CUBE, asked=Rules("5"))


# Outliers


def test_outliers_as_the_command_line_writes_them():
    assert Rules().outliers == ""
    assert Rules(replaced=ABSOLUTE, threshold=100).outliers == "100"
    assert Rules(replaced=ABSOLUTE, threshold=1e-7).outliers == "0.0000001"
    assert Rules(replaced=DEVIATIONS, threshold=2.5).outliers == "2.5mad"
    assert str(Rules("-5", COPIED, DEVIATIONS, 3)) == (
        "ignored: -5; voxels that do not count are copied; outliers beyond 3 MAD"
    )


@pytest.mark.parametrize(
    "asked, words",
    [
        (Rules(replaced=ABSOLUTE, threshold=-1), "farther than -1 from the median; it must be 0 or more"),
        (Rules(replaced=DEVIATIONS, threshold=float("nan")), "it must be 0 or more"),
        (Rules(replaced="some"), "'some'; the choices are every, absolute, deviations"),
        (Rules(invalid_output="black"), "'black'; the choices are computed and copied"),
    ],
)
def test_rules_that_are_none_are_errors_in_words(scene, logic, asked, words):
    with pytest.raises(DenoisingError) as caught:
        logic.run(ReferenceEngine(), add_volume(scene, noise()), None, CUBE, asked=asked)
    assert words in str(caught.value)


def test_outliers_of_labels_are_refused(scene, logic):
    labels = add_volume(scene, blob(), kind=LABELS, name="organs")
    with pytest.raises(DenoisingError, match="'organs' holds labels, and the distance between two labels says nothing"):
        logic.run(ReferenceEngine(), labels, None, CUBE, asked=Rules(replaced=ABSOLUTE))


# Undo, and what the scene remembers


def test_what_a_result_tells_is_of_its_last_run_and_restored(scene, logic):
    source = add_volume(scene, noise())
    mask = add_volume(scene, blob(), kind=LABELS, name="organs")
    logic.run(ReferenceEngine(), source, source, CUBE, asked=Rules("3", replaced=ABSOLUTE), mask=mask)
    first = {name: source.GetAttribute(name) for name in source.GetAttributeNames()}
    assert first[MASK_ATTRIBUTE] == "organs"
    assert first[RULES_ATTRIBUTE] == "ignored: 3; outliers beyond 3"
    logic.run(ReferenceEngine(), source, source, CUBE)
    assert source.GetAttribute(MASK_ATTRIBUTE) is None
    assert source.GetAttribute(RULES_ATTRIBUTE) is None
    assert source.GetAttribute(KERNEL_ATTRIBUTE)
    assert logic.restore()
    assert {name: source.GetAttribute(name) for name in source.GetAttributeNames()} == first


def test_scene_keeps_the_rules_and_the_mask(scene):
    mask = add_volume(scene, blob(), kind=LABELS, name="organs")
    node = settings.parameter_node(scene)
    assert settings.read_rules(node) == Rules()
    assert settings.get_mask(node) is None
    asked = Rules("-1024", COPIED, DEVIATIONS, 1 / 3)
    wanted = Kernel(shape=BALL, ball_radius=2 / 3)
    settings.write_rules(node, asked)
    settings.write_kernel(node, wanted)
    settings.set_mask(node, mask)
    scene.SetSaveToXMLString(1)
    scene.Commit()
    loaded = slicer.vtkMRMLScene()
    loaded.SetLoadFromXMLString(1)
    loaded.SetSceneXMLString(scene.GetSceneXMLString())
    loaded.Import()
    again = settings.parameter_node(loaded)
    assert settings.read_rules(again) == asked
    assert settings.read_kernel(again) == wanted
    assert settings.get_mask(again).GetName() == "organs"
    settings.set_mask(again, None)
    assert settings.get_mask(again) is None


@pytest.mark.parametrize(
    "parameter, text, words",
    [
        ("KernelShape", "cone", "must be one of box, ball"),
        ("BallRadius", "wide", "must be a number"),
        ("InvalidOutput", "black", "must be one of computed, copied"),
        ("Replaced", "some", "must be one of every, absolute, deviations"),
        ("OutlierThreshold", "far", "must be a number"),
    ],
)
def test_scene_with_other_rules_is_an_error_in_words(scene, parameter, text, words):
    node = settings.parameter_node(scene)
    node.SetParameter(parameter, text)
    with pytest.raises(DenoisingError) as caught:
        (settings.read_kernel if parameter in ("KernelShape", "BallRadius") else settings.read_rules)(node)
    assert parameter in str(caught.value)
    assert words in str(caught.value)


# Both ways to compute

REQUESTS = {
    "mask": {"mask": True},
    "mask, copied": {"mask": True, "asked": Rules(invalid_output=COPIED)},
    "ignored value": {"asked": Rules("7")},
    "outliers by distance": {"asked": Rules(replaced=ABSOLUTE, threshold=12.5)},
    "outliers by deviations": {"asked": Rules(replaced=DEVIATIONS, threshold=1.5)},
    "ball": {"wanted": Kernel(shape=BALL, ball_radius=1.3)},
    "disc": {"wanted": Kernel(shape=BALL, ball_radius=2.1, slice_wise=True)},
    "disc across i": {"wanted": Kernel(shape=BALL, ball_radius=2.1, slice_wise=True, acquisition_axis="i")},
    "all": {
        "wanted": Kernel(shape=BALL, ball_radius=2.1),
        "asked": Rules("7", COPIED, DEVIATIONS, 1),
        "mask": True,
    },
}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
@pytest.mark.parametrize("case", REQUESTS)
def test_engines_equal_the_definition(scene, logic, engine, case, dtype):
    given = dict(REQUESTS[case])
    # Few values, so that some are ignored and some are no outliers.
    array = (noise(dtype="uint8") % 40).astype(dtype)
    source = add_volume(scene, array)
    if given.pop("mask", False):
        given["mask"] = add_volume(scene, blob(), kind=LABELS)
    count = scene.GetNumberOfNodes()
    reference = ReferenceEngine()
    wanted = given.pop("wanted", CUBE)
    expected = volumes.voxels(logic.run(reference, source, None, wanted, **given).node).copy()
    scene.RemoveNode(scene.GetFirstNodeByName("scan median"))
    count = scene.GetNumberOfNodes()
    logic.run(engine, source, source, wanted, **given)
    assert volumes.voxels(source).dtype == dtype
    assert np.array_equal(volumes.voxels(source), expected)
    assert not np.array_equal(expected, array)
    assert scene.GetNumberOfNodes() == count


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_preview_is_the_slice_of_the_result(scene, logic, engine, axis):
    array = noise()
    source = add_volume(scene, array)
    segmentation, _ = add_segmentation(scene, source, blob() == 1)
    given = {"asked": Rules(replaced=DEVIATIONS, threshold=1), "mask": segmentation}
    wanted = Kernel(shape=BALL, ball_radius=2.1)
    whole = volumes.voxels(logic.run(ReferenceEngine(), source, None, wanted, **given).node)
    node = logic.preview(engine, source, wanted, axis, 4, **given).node
    assert np.array_equal(volumes.voxels(node), np.take(whole, [4], axis=2 - axis))


def test_command_line_module_gets_what_was_asked_alone(scene):
    given = []
    engine = engines.CommandLineEngine(scene, given.append, lambda: None)
    array = noise()
    mask = (blob() != 0).astype(np.uint8)
    plain = Window((1, 1, 1), (0.5, 0.6, 2.0))
    disc = Window((0, 3, 1), (0.5, 0.6, 2.0), 2.1)
    for request in (engines.Request(plain), engines.Request(disc, Rules("7", COPIED, DEVIATIONS, 3), mask)):
        with pytest.raises(DenoisingError, match="could not start"):
            engine.filter(array, request, np.empty_like(array), None)
    assert set(given[0]) == {"inputVolume", "outputVolume", "neighborhood", "backend"}
    texts = {name: text for name, text in given[1].items() if isinstance(text, str)}
    assert texts == {
        "neighborhood": "0,3,1",
        "backend": "auto",
        "ball": "2.1",
        "ignoredValue": "7",
        "outliers": "3mad",
        "invalidOutput": "copied",
    }
    assert given[1]["maskVolume"].GetClassName() == LABELS
    assert given[1]["maskVolume"].GetSpacing() == given[1]["inputVolume"].GetSpacing() == (4.2, 0.6, 2.0)
    assert scene.GetNumberOfNodes() == 0
