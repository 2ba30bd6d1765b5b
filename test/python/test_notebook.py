# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The notebook of the examples, run as its readers would, with nbclient, ipykernel and what the notebook imports."""

import json
from pathlib import Path

import numpy as np
import pytest

import cudamedian

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "python" / "head_scan.ipynb"

# Shows nothing, and says what it was given. itkwidgets' own waits for a browser.
VIEW = """
def view(volume):
    return f"a view of {type(volume).__name__} {dict(volume.sizes)} {volume.dtype}, z from {float(volume.z[0])}"
"""


@pytest.fixture
def run_notebook(tmp_path, monkeypatch):
    """Return a function that runs the notebook with a module in the place of itkwidgets, and returns all outputs."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for name in ("ipykernel", "matplotlib", "xarray"):
        pytest.importorskip(name)
    sitk = pytest.importorskip("SimpleITK")
    places = np.indices((24, 30, 32)) - np.array([12, 15, 16]).reshape(3, 1, 1, 1)
    head = (1000 * ((places**2).sum(axis=0) < 120)).astype("int16")
    image = sitk.GetImageFromArray(head)
    image.SetSpacing((2.0, 2.0, 3.0))
    image.SetOrigin((0.0, 0.0, -21.0))
    sitk.WriteImage(image, tmp_path / "head.nii.gz")
    paths = [tmp_path / "modules", Path(cudamedian.__file__).parents[1]]
    paths[0].mkdir()
    monkeypatch.setenv("PYTHONPATH", ":".join(map(str, paths)))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))

    def run(itkwidgets):
        (paths[0] / "itkwidgets.py").write_text(itkwidgets, encoding="utf-8")
        notebook = nbformat.read(NOTEBOOK, 4)
        where = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where).execute()
        return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]

    return run


def test_notebook_holds_no_results():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 3
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def find_errors(outputs):
    """Return the errors that the notebook prints: with noise, slice by slice, in 3D."""
    (line,) = [output.text for output in outputs if output.output_type == "stream" and "RMS error" in output.text]
    return [float(word) for word in line.replace(",", "").split() if word[0].isdigit() and word != "3D"]


def test_notebook_draws_where_itkwidgets_is_not(run_notebook):
    outputs = run_notebook("raise ImportError")
    noisy, slices, smooth = find_errors(outputs)
    assert noisy > 2 * slices and noisy > 2 * smooth
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 3


def test_notebook_shows_volumes_by_itkwidgets(run_notebook):
    outputs = run_notebook(VIEW)
    shown = [
        output.data["text/plain"] for output in outputs if "a view of" in output.get("data", {}).get("text/plain", "")
    ]
    place = "{'z': 24, 'y': 30, 'x': 32}"
    assert [text.strip('"') for text in shown] == [
        *(f"a view of DataArray {place} int16, z from -21.0" for _ in range(2)),
        f"a view of DataArray {place} float64, z from -21.0",
    ]
    assert not any("image/png" in output.get("data", {}) for output in outputs)
