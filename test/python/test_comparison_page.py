# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The page that benchmark/compare_python.py writes of what it measured."""

import sys
from pathlib import Path

import pytest

CASES = {
    "median | uint8 | 3x3 | 64x64": {
        "ours": {"NumPy": 0.001},
        "others": {
            "scipy": {"seconds": 0.02, "kind": "NumPy", "result": "equal"},
            "OpenCV": {"failed": "Error: no\nmore"},
        },
    },
    "median | float32 | 3x3 | 64x64": {
        "ours": {"NumPy": 0.002, "PyTorch": 0.004},
        "others": {
            "scipy": {"seconds": 0.001, "kind": "NumPy", "result": "3 of 4096 pixels differ"},
            "PyTorch": {"seconds": 0.008, "kind": "PyTorch", "result": "equal"},
        },
    },
    "median | uint8 | 3x3 | 128x256": {"ours": {"NumPy": 0.016}, "others": {}},
}


@pytest.fixture
def tables(monkeypatch):
    """Return the module that writes the page."""
    monkeypatch.syspath_prepend(Path(__file__).resolve().parents[2] / "benchmark")
    import compare_python_tables

    yield compare_python_tables
    for name in [name for name in sys.modules if name.startswith("compare_python")]:
        del sys.modules[name]


def make_results(**changes):
    """Return what a file of results holds."""
    return {"place": "host", "device": "a GPU", "cores": 2, "versions": {"scipy": "1"}, "cases": CASES, **changes}


def test_ratios_times_and_what_is_reckoned_are_in_the_table(tables):
    page = tables.write_page([make_results()])
    assert "a GPU; 2 cores; 3 cases. scipy 1." in page
    # 8 times the pixels of 20 ms, for our 16 ms.
    assert "| array | window | ours, NumPy, ms | ours, PyTorch, ms | OpenCV | PyTorch | scipy |" in page
    assert "| 64x64 | 3x3 | 1 / – / 2 | – / – / 4 | – | – / – / 2 | 20 / – / 0.5 |" in page
    assert "| 128x256 | 3x3 | 16 / – / – | – | – | – | ~10 / – / – |" in page
    assert "| scipy | 2 | 0.5 | 20 | 20 | 1 |" in page


def test_what_is_not_equal_and_what_failed_is_told(tables):
    results = make_results(missing=["ITK (No module named 'itk')"])
    page = tables.write_page([results])
    assert "- Not equal: median | float32 | 3x3 | 64x64, scipy: 3 of 4096 pixels differ\n" in page
    assert "- Failed in 1 cases: OpenCV: Error: no\n" in page
    assert "- Not there: ITK (No module named 'itk')\n" in page
    assert tables.find_differences(results)
    equal = make_results(cases={name: CASES[name] for name in list(CASES)[::2]})
    assert tables.find_differences(equal) == []
    assert "- All results that were measured are equal." in tables.write_page([equal])


def test_rounded_convolutions_are_explained(tables):
    different = {"seconds": 0.01, "kind": "PyTorch", "result": "9 of 4096 pixels differ"}
    cases = {"median | float32 | 3x3 | 64x64": {"ours": {"PyTorch": 0.002}, "others": {"MONAI": different}}}
    assert tables.CONVOLUTIONS in tables.write_page([make_results(place="device", cases=cases)])
    assert tables.CONVOLUTIONS not in tables.write_page([make_results(cases=cases), make_results(place="device")])


def test_a_file_for_each_place(tables):
    page = tables.write_page([make_results(), make_results(place="device")])
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# Times of the Python package beside other libraries",
        "## From host memory to host memory: OpenCV, PyTorch, scipy",
        "### median, host",
        "## From device memory to device memory: OpenCV, PyTorch, scipy",
        "### median, device",
    ]
