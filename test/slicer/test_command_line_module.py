# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The command line program as 3D Slicer runs it: by the parser and the logic of Slicer itself, without a window."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ctk_cli = pytest.importorskip("ctk_cli", reason="ctk-cli is not installed")
pytest.importorskip("slicer_core", reason="slicer-core is not installed")

PROGRAM = os.environ.get("CUDAMEDIAN_COMMAND_LINE_PROGRAM", "")
RUNNER = Path(__file__).with_name("run_module.py")
# A volume like that of a scanner: spacing of its own along each axis, two turns, and an origin.
SPACING = np.array([0.5, 0.75, 2.5])

pytestmark = pytest.mark.skipif(not PROGRAM, reason="CUDAMEDIAN_COMMAND_LINE_PROGRAM does not name the program")


def oblique_matrix():
    a, b = 0.3, -0.2
    about_z = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    matrix = np.eye(4)
    matrix[:3, :3] = about_z @ about_x * SPACING
    matrix[:3, 3] = [-20.5, 31.25, 7]
    return matrix


def median(voxels, radius):
    """Return the median with the nearest voxel beyond the border; the radius is along x, y, z."""
    padding = [(r, r) for r in reversed(radius)]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(voxels, padding, mode="edge"), tuple(2 * r + 1 for r in reversed(radius))
    )
    flat = windows.reshape(*voxels.shape, -1)
    return np.sort(flat, axis=-1)[..., flat.shape[-1] // 2]


def random_voxels(shape, dtype):
    numbers = np.random.default_rng(18)
    if np.dtype(dtype).kind == "f":
        return numbers.normal(0, 1000, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return numbers.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def description():
    return subprocess.run([PROGRAM, "--xml"], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def run(tmp_path):
    """Return a function that runs the module in Slicer's logic and returns what Slicer knows then."""

    def start(voxels=None, kind="vtkMRMLScalarVolumeNode", program=PROGRAM, xml=None, cancel=None, **parameters):
        folder = tmp_path / "slicer"
        folder.mkdir()
        case = {
            "program": str(program),
            "xml": description() if xml is None else xml,
            "folder": str(folder),
            "cache": str(tmp_path / "cache"),
            "class": kind,
            "matrix": oblique_matrix().tolist(),
            "parameters": parameters,
            "result": str(tmp_path / "result.npy"),
            "limit": 120,
        }
        if voxels is not None:
            np.save(tmp_path / "voxels.npy", voxels)
            case["voxels"] = str(tmp_path / "voxels.npy")
        if cancel is not None:
            case["cancel"] = cancel
        (tmp_path / "case.json").write_text(json.dumps(case))
        arguments = [sys.executable, str(RUNNER), str(tmp_path / "case.json"), str(tmp_path / "outcome.json")]
        process = subprocess.run(arguments, capture_output=True, text=True)
        assert process.returncode == 0, process.stdout + process.stderr
        result = json.loads((tmp_path / "outcome.json").read_text())
        if (tmp_path / "result.npy").exists():
            result["voxels"] = np.load(tmp_path / "result.npy")
        return result

    return start


def expect_error(result, *parts):
    """Expect one line of text that a user can read, no output, and nothing left behind."""
    assert result["status"] == "Completed with errors", result
    lines = [line for line in result["error"].splitlines() if line.startswith("CudaMedianImageFilter: ")]
    assert len(lines) == 1, result["error"]
    for part in parts:
        assert part in lines[0]
    assert "voxels" not in result
    assert (result["files"], result["processes"]) == ([], [])


def test_ctk_cli_reads_the_description():
    module = ctk_cli.CLIModule(PROGRAM)
    assert module.category == "Filtering.Denoising"
    assert module.license == "Apache-2.0"
    by_name = {parameter.name: parameter for group in module for parameter in group}
    assert by_name["neighborhood"].typ == "integer-vector"
    assert by_name["neighborhood"].default == [1, 1, 1]
    assert by_name["backend"].elements == ["auto", "cuda", "cpu"]
    assert (by_name["inputVolume"].index, by_name["inputVolume"].channel) == (0, "input")
    assert (by_name["outputVolume"].index, by_name["outputVolume"].channel) == (1, "output")
    assert by_name["report"].channel == "output"


def test_slicers_parser_refuses_what_it_should(run):
    """The parser that accepts the description elsewhere is able to refuse one."""
    assert run(xml=description().replace("--sliceWise", "--slice-wise")) == {"parsed": False}


@pytest.mark.parametrize("dtype", ["int16", "uint8", "float32"])
def test_a_volume_keeps_type_and_geometry(run, dtype):
    voxels = random_voxels((9, 10, 11), dtype)
    result = run(voxels, neighborhood="3,2,1")
    assert result["status"] == "Completed", result
    assert (result["error"], result["output"].strip()) == ("", "")
    assert result["voxels"].dtype == voxels.dtype
    np.testing.assert_array_equal(result["voxels"], median(voxels, (3, 2, 1)))
    np.testing.assert_allclose(result["matrix"], oblique_matrix(), atol=1e-6)


def test_the_program_alone_gives_the_same(run, tmp_path):
    """The file that Slicer would read is the one that the program writes without Slicer's flag, byte for byte."""
    voxels = random_voxels((9, 10, 11), "int16")
    np.testing.assert_array_equal(run(voxels, neighborhood="2,2,2")["voxels"], median(voxels, (2, 2, 2)))
    header = (
        "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nDimSize = 11 10 9\n"
        "ElementType = MET_SHORT\nElementDataFile = LOCAL\n"
    )
    (tmp_path / "in.mha").write_bytes(header.encode() + voxels.tobytes())
    files = []
    for name, extra in (("one", []), ("two", ["--returnparameterfile", str(tmp_path / "parameters")])):
        output = tmp_path / f"{name}.mha"
        subprocess.run(
            [PROGRAM, "--radius", "2", *extra, str(tmp_path / "in.mha"), str(output)], check=True, capture_output=True
        )
        files.append(output.read_bytes())
    assert files[0] == files[1]
    np.testing.assert_array_equal(
        np.frombuffer(files[0][-voxels.nbytes :], "<i2").reshape(voxels.shape), median(voxels, (2, 2, 2))
    )


def test_slice_by_slice_and_the_other_parameters(run):
    voxels = random_voxels((9, 10, 11), "int16")
    result = run(voxels, neighborhood="1,2,3", sliceWise="true", backend="cpu", memory="64M", algorithm="localRank")
    assert result["status"] == "Completed", result
    np.testing.assert_array_equal(result["voxels"], median(voxels, (1, 2, 0)))
    assert "Backend: CPU" in result["report"]
    assert "Algorithm: local rank" in result["report"]


def test_the_report_arrives(run):
    result = run(random_voxels((9, 10, 11), "uint8"))
    for part in ("Backend: ", "; Algorithm: ", "; Window: (3, 3, 3, 1)", "; Total time: "):
        assert part in result["report"]


def test_progress_rises_in_steps_to_100(run, tmp_path):
    # By selection, each window by itself: small, and long enough to be looked at. What the program says is kept:
    # Slicer shows 100 for a moment only, and goes back to 0 when a module has ended.
    said = tmp_path / "said"
    wrapper = tmp_path / "module"
    wrapper.write_text(f"#!/bin/bash\nset -o pipefail\n'{PROGRAM}' \"$@\" | tee '{said}'\n")
    wrapper.chmod(0o755)
    voxels = random_voxels((40, 40, 40), "float32")
    result = run(voxels, program=wrapper, neighborhood="6,6,6", algorithm="selection", backend="cpu")
    assert result["status"] == "Completed", result
    told = [float(number) for number in re.findall("<filter-progress>(.*)</filter-progress>", said.read_text())]
    assert told == sorted(told)
    assert told[-1] == 1
    shown = result["progress"]
    running = shown[: shown.index(max(shown)) + 1]
    assert running == sorted(running)
    assert len([step for step in running if 5 < step < 90]) >= 3, shown
    assert set(shown[len(running) :]) <= {0}


def test_cancel_ends_at_once_and_leaves_nothing(run):
    # It would take minutes.
    voxels = random_voxels((96, 96, 96), "float32")
    result = run(voxels, cancel=6, neighborhood="15,15,15", algorithm="selection", backend="cpu")
    assert result["status"] == "Cancelled", result
    assert result["processes_before"], "the processes of the module were not found"
    assert result["processes"] == []
    assert result["seconds_to_cancel"] < 1
    assert "voxels" not in result
    assert result["files"] == []


def test_cancel_while_the_image_is_written_leaves_nothing(run):
    result = run(random_voxels((256, 256, 256), "float32"), cancel=90, neighborhood="0,0,0", backend="cpu")
    # On a fast disk the image may be there before Slicer sees that the filter is done.
    assert result["status"] in ("Cancelled", "Completed"), result
    assert (result["files"], result["processes"]) == ([], [])


@pytest.mark.parametrize("neighborhood", ["1,-1,1", "1,1"])
def test_a_bad_radius_is_an_error(run, neighborhood):
    expect_error(run(random_voxels((4, 5, 6), "int16"), neighborhood=neighborhood), "--radius")


def test_an_unknown_backend_is_an_error(run):
    expect_error(run(random_voxels((4, 5, 6), "int16"), backend="quantum"), "--backend quantum", "auto, cuda and cpu")


def test_a_missing_input_is_an_error(run, tmp_path):
    # The file is gone when the program looks for it.
    wrapper = tmp_path / "module"
    wrapper.write_text(f"#!/bin/sh\nrm '{tmp_path}'/slicer/*.nrrd\nexec '{PROGRAM}' \"$@\"\n")
    wrapper.chmod(0o755)
    result = run(random_voxels((4, 5, 6), "int16"), program=wrapper)
    expect_error(result, "cannot read", "there is no such file")


def test_a_full_disk_is_an_error(run, tmp_path):
    # No file of the program may grow beyond 16 KiB; that of the volume would.
    wrapper = tmp_path / "module"
    wrapper.write_text(f"#!/bin/bash\nulimit -f 16\nexec '{PROGRAM}' \"$@\"\n")
    wrapper.chmod(0o755)
    result = run(random_voxels((40, 40, 40), "int16"), program=wrapper)
    expect_error(result, "cannot write", "File too large")


def test_a_label_volume_is_filtered(run):
    labels = random_voxels((9, 10, 11), "uint8") % 4
    result = run(labels.astype("int16"), kind="vtkMRMLLabelMapVolumeNode", neighborhood="1,1,1")
    assert result["status"] == "Completed", result
    np.testing.assert_array_equal(result["voxels"], median(labels, (1, 1, 1)))
    np.testing.assert_allclose(result["matrix"], oblique_matrix(), atol=1e-6)


def test_a_vector_volume_is_filtered_component_by_component(run):
    voxels = random_voxels((9, 10, 11, 3), "uint8")
    result = run(voxels, kind="vtkMRMLVectorVolumeNode", neighborhood="1,1,1")
    assert result["status"] == "Completed", result
    for component in range(3):
        expected = median(np.ascontiguousarray(voxels[..., component]), (1, 1, 1))
        np.testing.assert_array_equal(result["voxels"][..., component], expected)
