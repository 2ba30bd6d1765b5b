# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The gallery that VTK draws, on a small volume of which every part is known.

CUDAMEDIAN_COMMAND_LINE_PROGRAM names the built CudaMedianImageFilter.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

vtk = pytest.importorskip("vtk")
from vtk.util.numpy_support import vtk_to_numpy  # noqa: E402

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "python" / "vtk_gallery.py"
sys.path.insert(0, str(SCRIPT.parent))

import vtk_gallery  # noqa: E402

PROGRAM = os.environ.get("CUDAMEDIAN_COMMAND_LINE_PROGRAM", "")
SPACING = (1.5, 1.0, 2.0)
SHAPE = (24, 40, 32)  # z, y, x
MIDDLE = SHAPE[0] // 2

# Places in the middle slice, as x, y.
SPECK = (4, 5)  # one bright voxel on the dark ground
HOLE = (15, 20)  # one dark voxel inside the bright box
BOX = (12, 14)  # inside the box, away from its surface and from the hole
GROUND = (26, 5)
PLATE = (25, 33)  # the middle of a bright plate, one slice thick


def drawing_fails():
    """Return why nothing can be drawn without a screen, or an empty text. In a process of its own: drivers crash."""
    code = "import vtk_gallery\ntry: vtk_gallery.open_window()\nexcept vtk_gallery.GalleryError as e: print(e)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=SCRIPT.parent, capture_output=True, text=True, check=False, timeout=120
    )
    return run.stdout.strip() if run.returncode == 0 else f"opening a window ends with exit code {run.returncode}"


NO_DRAWING = drawing_fails()
needs_drawing = pytest.mark.skipif(bool(NO_DRAWING), reason=NO_DRAWING or "drawing works")
needs_program = pytest.mark.skipif(
    not os.access(PROGRAM, os.X_OK),
    reason=f"CUDAMEDIAN_COMMAND_LINE_PROGRAM names no built program: '{PROGRAM}'",
)


def write_volume(path, voxels):
    """Write an array by z, y, x as MetaImage."""
    writer = vtk.vtkMetaImageWriter()
    writer.SetInputData(vtk_gallery.make_image(voxels, SPACING))
    writer.SetFileName(str(path))
    writer.Write()


def make_voxels():
    """Return a box on dark ground, a bright speck, a dark hole and a thin plate."""
    voxels = np.full(SHAPE, 20, np.int16)
    voxels[4:20, 10:30, 8:22] = 150
    x, y = SPECK
    voxels[MIDDLE, y, x] = 150
    x, y = HOLE
    voxels[MIDDLE, y, x] = 20
    x, y = PLATE
    voxels[MIDDLE, y - 2 : y + 3, x - 2 : x + 3] = 150
    return voxels


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Return the file of the volume."""
    path = tmp_path_factory.mktemp("scan") / "scan.mha"
    write_volume(path, make_voxels())
    return path


def make_gallery(scan, *options):
    """Return the gallery of a file."""
    arguments = [str(scan), "--output", "unused", "--program", PROGRAM, *options]
    return vtk_gallery.make_gallery(vtk_gallery.parse_arguments(arguments))


def read_picture(path):
    """Return the pixels of a PNG by row from the top, column and colour."""
    reader = vtk.vtkPNGReader()
    reader.SetFileName(str(path))
    reader.Update()
    columns, rows, _ = reader.GetOutput().GetDimensions()
    return vtk_to_numpy(reader.GetOutput().GetPointData().GetScalars()).reshape(rows, columns, -1)[::-1]


def colour_at(picture, panel, voxel, spacing=SPACING):
    """Return red, green and blue where a voxel is drawn."""
    row, column = picture.panels[panel].pixel_at(*(place * size for place, size in zip(voxel, spacing, strict=False)))
    return picture.pixels[row, column].astype(int)


def is_orange(colour):
    """Whether a colour says: brighter."""
    return colour[0] > 100 and colour[0] > colour[2] + 60


def is_blue(colour):
    """Whether a colour says: darker."""
    return colour[2] > 100 and colour[2] > colour[0] + 60


def run_script(*arguments, **environment):
    """Run the script as users do."""
    return subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | environment,
    )


@needs_drawing
@needs_program
def test_pictures_are_written(scan, tmp_path):
    """All three files hold what is drawn, and something in every panel."""
    folder = tmp_path / "new" / "folder"
    run = run_script(scan, "--output", folder, "--program", PROGRAM, "--seed", "3")
    assert (run.returncode, run.stderr) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == sorted(vtk_gallery.PICTURES)
    gallery = make_gallery(scan, "--seed", "3")
    drawn = (gallery.draw_median(), gallery.draw_slice_wise(), gallery.draw_volume())
    for name, picture, panels in zip(vtk_gallery.PICTURES, drawn, (3, 6, 3), strict=True):
        pixels = read_picture(folder / name)
        np.testing.assert_array_equal(pixels, picture.pixels)
        assert 300 < pixels.shape[0] < 1200 and 600 < pixels.shape[1] < 1400
        assert 5_000 < (folder / name).stat().st_size < 300_000
        assert len(picture.panels) == panels
        for panel in picture.panels:
            part = panel.cut_from(pixels)
            assert part.shape == (panel.height, panel.width, 3)
            assert part.std() > 5
            caption = pixels[panel.top - 36 : panel.top - 4, panel.left : panel.left + panel.width]
            assert caption.max() > 200, "a caption in white"
            assert caption[:, -2:].max() < 60, "that is not longer than its panel"


@needs_drawing
@needs_program
def test_median_removes_what_is_isolated(scan):
    """The speck and the hole are gone, and drawn as what was taken away. The box stays."""
    picture = make_gallery(scan, "--noise", "0").draw_median()
    noisy, median, taken = range(3)
    for panel, speck, hole in ((noisy, 255, 0), (median, 0, 255)):
        assert colour_at(picture, panel, SPECK).tolist() == [speck] * 3
        assert colour_at(picture, panel, HOLE).tolist() == [hole] * 3
        assert colour_at(picture, panel, BOX).tolist() == [255] * 3
        assert colour_at(picture, panel, GROUND).tolist() == [0] * 3
    assert is_orange(colour_at(picture, taken, SPECK))
    assert is_blue(colour_at(picture, taken, HOLE))
    assert colour_at(picture, taken, BOX).max() < 5
    assert colour_at(picture, taken, GROUND).max() < 5


@needs_drawing
@needs_program
def test_slice_wise_keeps_a_plate(scan):
    """A plate of one slice stays slice by slice and goes in 3D, seen from both sides."""
    picture = make_gallery(scan, "--noise", "0").draw_slice_wise()
    slice_wise, median, apart = range(3)
    assert colour_at(picture, slice_wise, PLATE).tolist() == [255] * 3
    assert colour_at(picture, median, PLATE).tolist() == [0] * 3
    assert is_orange(colour_at(picture, apart, PLATE))
    for panel in (slice_wise, median):
        assert colour_at(picture, panel, SPECK).tolist() == [0] * 3
        assert colour_at(picture, panel, HOLE).tolist() == [255] * 3
    # Below: x to the right, z upwards.
    x, _, z = SPACING
    for panel in (slice_wise + 3, median + 3):
        assert colour_at(picture, panel, (15, 10), (x, z)).tolist() == [255] * 3
        assert colour_at(picture, panel, (15, 2), (x, z)).tolist() == [0] * 3
        assert colour_at(picture, panel, (6, 10), (x, z)).tolist() == [0] * 3


@needs_drawing
@needs_program
def test_volume_gets_clear(scan):
    """Noise fills the panel with specks; both medians leave the box, lit and with a shaded corner cut out."""
    picture = make_gallery(scan, "--noise", "0.2").draw_volume()
    noisy, slice_wise, median = (panel.cut_from(picture.pixels).max(axis=2) for panel in picture.panels)
    lit = [np.count_nonzero(panel > 40) / panel.size for panel in (noisy, slice_wise, median)]
    assert lit[0] > 1.3 * lit[1] > 1.3 * lit[2] > 0.1
    rows, columns = median.shape
    assert median[rows // 2 - 5 : rows // 2 + 5, columns // 2 - 5 : columns // 2 + 5].max() > 60
    for corner in (median[:10, :10], median[:10, -10:], median[-10:, :10], median[-10:, -10:]):
        assert corner.max() < 10
    shades = median[median > 40]
    assert np.percentile(shades, 90) > 1.2 * np.percentile(shades, 10)


@needs_drawing
@needs_program
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_types_of_voxels(tmp_path, dtype):
    """The median is that of the definition, with the noise that the seed says, for each type."""
    write_volume(tmp_path / "scan.mha", make_voxels().astype(dtype))
    gallery = make_gallery(tmp_path / "scan.mha", "--noise", "0.3", "--seed", "11", "--radius", "2,1,1")
    assert gallery.noisy.voxels.dtype == gallery.median.voxels.dtype == np.dtype(dtype)
    changed = gallery.noisy.voxels != gallery.scan.voxels
    assert 0.1 < changed.mean() < 0.2, "half of the voxels that are hit had that value before"
    for median, radius in ((gallery.median, (1, 1, 2)), (gallery.slice_wise, (0, 1, 2))):
        padded = np.pad(gallery.noisy.voxels, [(r, r) for r in radius], mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, [2 * r + 1 for r in radius])
        np.testing.assert_array_equal(median.voxels, np.median(windows, axis=(-3, -2, -1)))
    assert gallery.captions["median"].startswith("median 5×3×3\n")
    assert gallery.captions["slice_wise"].startswith("median 5×3, slice by slice\n")


@needs_drawing
@pytest.mark.parametrize("name", vtk_gallery.OFF_SCREEN_WINDOWS)
def test_each_window_draws(monkeypatch, name):
    """EGL and OSMesa draw the same."""
    monkeypatch.setenv("VTK_DEFAULT_OPENGL_WINDOW", name)
    try:
        assert vtk_gallery.open_window().GetClassName() == name
    except vtk_gallery.GalleryError as error:
        pytest.skip(str(error))
    table = vtk_gallery.grey_table(0, 3)
    plane = vtk_gallery.make_slice(np.array([[0, 3], [3, 0]], np.uint8), (1, 1), table)
    view = (-0.5, 1.5, -0.5, 1.5)
    picture = vtk_gallery.draw_panels([[("four voxels", plane)]], [view], [vtk_gallery.camera_over(view)])
    for voxel, value in (((0, 0), 0), ((1, 0), 255), ((0, 1), 255), ((1, 1), 0)):
        assert colour_at(picture, 0, voxel, (1, 1)).tolist() == [value] * 3


@needs_program
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--radius", "1,2"], "1,2"),
        (["--radius", "1,1,0"], "1,1,0"),
        (["--radius", "-1"], "-1"),
        (["--noise", "1.5"], "1.5"),
        (["--noise", "nan"], "nan"),
        (["--seed", "-3"], "-3"),
        (["--program", "no/such/program"], "no/such/program"),
        (["--program", "/bin/false"], "/bin/false ended with exit code 1"),
    ],
)
def test_bad_options(scan, tmp_path, options, said):
    """One line names the value. Nothing is written."""
    run = run_script(scan, "--output", tmp_path / "out", "--program", PROGRAM, *options)
    assert run.returncode in (1, 2) and run.stdout == ""
    assert run.stderr.startswith("error: ") and run.stderr.count("\n") == 1
    assert said in run.stderr
    assert not (tmp_path / "out").exists()


@needs_program
def test_bad_inputs(tmp_path):
    """One line names the file and what is wrong with it."""
    (tmp_path / "text.nii.gz").write_text("this is no volume")
    (tmp_path / "scan.png").write_bytes(b"")
    write_volume(tmp_path / "flat.mha", np.full(SHAPE, 7, np.uint8))
    write_volume(tmp_path / "thin.mha", np.zeros((2, 8, 8), np.uint8))
    whole = tmp_path / "whole.mha"
    write_volume(whole, make_voxels())
    (tmp_path / "cut.mha").write_bytes(whole.read_bytes()[:-3000])
    for name, said in (
        ("missing.nii.gz", "there is no such file"),
        ("text.nii.gz", "VTK cannot read it"),
        ("scan.png", "the name must end with"),
        ("flat.mha", "the same value everywhere"),
        ("thin.mha", "it has 8x8x2 voxels"),
        ("cut.mha", "VTK cannot read it"),
    ):
        run = run_script(tmp_path / name, "--output", tmp_path / "out", "--program", PROGRAM)
        assert run.returncode == 1 and run.stdout == "", name
        assert run.stderr.startswith("error: ") and run.stderr.count("\n") == 1, run.stderr
        assert said in run.stderr
        assert not (tmp_path / "out").exists()


@needs_drawing
@needs_program
def test_output_that_cannot_be_written(scan, tmp_path):
    """One line names the folder."""
    (tmp_path / "file").write_text("kept")
    run = run_script(scan, "--output", tmp_path / "file", "--program", PROGRAM)
    assert run.returncode == 1
    assert run.stderr == f"error: {tmp_path / 'file'}: File exists\n"
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.skipif(find_spec("itk_cuda_median") is not None, reason="the Python package is installed")
def test_neither_package_nor_program(scan, tmp_path):
    """One line says what to do."""
    run = run_script(scan, "--output", tmp_path / "out")
    assert run.returncode == 1
    assert run.stderr.startswith("error: the Python package itk_cuda_median is not installed; name")
    assert run.stderr.count("\n") == 1
