# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The docstrings of what the package offers: their examples run, and they tell of all arguments."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cudamedian

NAMES = ["dask", "monai", "napari", "ndimage", "skimage", "torch"]
MODULES = ["cudamedian", *(f"cudamedian.{name}" for name in NAMES)]
NEEDED = {
    "cudamedian": "scipy",
    "cudamedian.dask": "dask.array",
    "cudamedian.monai": "monai",
    "cudamedian.napari": "napari",
    "cudamedian.torch": "torch",
}


def public_objects(name):
    """Return the functions and classes that a module offers, by name."""
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    module = importlib.import_module(name)
    names = getattr(module, "__all__", ["median_filter"])
    return {name: getattr(module, name) for name in names}


def test_there_is_no_other_public_module():
    folder = Path(cudamedian.__file__).parent
    found = {f"cudamedian.{path.stem}" for path in folder.glob("[a-z]*.py")}
    assert {"cudamedian", *found} == set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(verbose=False)
    for object_name, value in public_objects(name).items():
        for example in finder.find(value, object_name, module=False, globs={}):
            if inspect.isfunction(value):
                assert example.examples, f"{name}.{object_name} has no example"
            said = []
            runner.run(example, out=said.append)
            assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_tell_of_all_arguments_in_their_order(name):
    for object_name, value in public_objects(name).items():
        if not inspect.isfunction(value):
            continue
        text = inspect.getdoc(value)
        part = re.search(r"\nParameters\n-+\n(.*?)\n\n[A-Z][A-Za-z ]+\n---", text + "\n\nEnd\n---", re.DOTALL)
        lines = [] if part is None else [line for line in part[1].splitlines() if line and not line.startswith(" ")]
        told = [argument for line in lines for argument in line.partition(" : ")[0].split(", ")]
        assert told == list(inspect.signature(value).parameters), object_name
        returned = inspect.signature(value, eval_str=False).return_annotation
        assert ("\nReturns\n-------\n" in text) == (returned != "None"), object_name


def test_page_of_functions_is_made_of_the_docstrings_as_they_are():
    script = Path(__file__).parents[2] / "scripts" / "python-api.py"
    subprocess.run([sys.executable, script, "--check"], check=True)
