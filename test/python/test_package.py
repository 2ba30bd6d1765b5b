# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the package holds besides its functions."""

import inspect
import re
import subprocess
import sys
import tarfile
import tomllib
import typing
from importlib import metadata
from pathlib import Path

import pytest

import cudamedian

ROOT = Path(__file__).parents[2]
PROJECTS = {"cudamedian": ROOT / "pyproject.toml", "itk-cudamedian": ROOT / "python/itk-cudamedian/pyproject.toml"}

# What differs between the two packages.
OWN = {"name", "description", "readme", "dependencies", "keywords", "entry-points"}


def read_project(name):
    """Return the table of the project in a pyproject.toml."""
    return tomllib.loads(PROJECTS[name].read_text(encoding="utf-8"))["project"]


def project_version():
    """Return the version that CMake has."""
    return re.search(r"project\(CudaMedian VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


@pytest.mark.parametrize("name", PROJECTS)
def test_package_is_described(name):
    project = read_project(name)
    assert project["name"] == name
    assert project["license"] == "Apache-2.0"
    assert len(project["description"]) > 40
    assert project["authors"] and all("@" not in author.get("name", "") for author in project["authors"])
    assert {label.partition(" ")[0] for label in project["urls"]} == {"Documentation", "Source", "Changes"}
    # Where the licence is an expression, the index refuses a classifier of one.
    assert not [line for line in project["classifiers"] if line.startswith("License")]
    assert "Typing :: Typed" in project["classifiers"]
    assert len(set(project["classifiers"])) == len(project["classifiers"])
    for file in [*project["license-files"], project["readme"]]:
        assert (PROJECTS[name].parent / file).read_text(encoding="utf-8").strip(), file
    # The index shows the page alone: what lies beside it in the checkout is not there.
    page = (PROJECTS[name].parent / project["readme"]).read_text(encoding="utf-8")
    assert not re.findall(r"\]\((?!https:)", page)


def test_both_packages_are_described_alike():
    one, other = (read_project(name) for name in PROJECTS)
    for field in (set(one) | set(other)) - OWN:
        assert one.get(field) == other.get(field), field


def test_manifests_of_napari_have_the_names_of_the_packages():
    for name in PROJECTS:
        ((plugin, place),) = read_project(name)["entry-points"]["napari.manifest"].items()
        folder, _, file = place.partition(":")
        assert plugin == name
        assert f"\nname: {name}\n" in (ROOT / "python" / folder / file).read_text(encoding="utf-8")


def test_urls_that_are_placeholders_say_so():
    for name in PROJECTS:
        for label, url in read_project(name)["urls"].items():
            assert ("placeholder" in label) == (".example/" in url), label


def test_notices_name_what_the_library_may_hold():
    text = (ROOT / "THIRD-PARTY-NOTICES.txt").read_text(encoding="utf-8")
    for part in ("Highway,", "The CUDA runtime,", "CUB,", "nanobind,", "ITK,"):
        assert f"\n{part}" in text


def test_installed_package_has_version_and_licences():
    names = [name for name in PROJECTS if any(metadata.distributions(name=name))]
    if not names:
        pytest.skip("cudamedian is not installed, but found on PYTHONPATH")
    for name in names:
        package = metadata.distribution(name)
        assert package.version == project_version()
        assert package.metadata["License-Expression"] == "Apache-2.0"
        assert package.metadata.get_all("License-File") == ["LICENSE", "THIRD-PARTY-NOTICES.txt"]
        texts = {path.name for path in package.files if path.parent.name == "licenses"}
        assert texts == {"LICENSE", "THIRD-PARTY-NOTICES.txt"}


def test_package_says_that_it_has_types():
    assert Path(cudamedian.__file__).with_name("py.typed").exists()


def test_overloads_have_the_arguments_of_median_filter():
    """Type checkers see the overloads, whose arguments are in a dictionary's type."""
    from cudamedian import _types

    parameters = list(inspect.signature(cudamedian.median_filter).parameters)
    assert set(parameters) == {"input", "size", "output", *_types.Options.__annotations__}
    assert set(_types.Window.__annotations__) < set(parameters)
    function = sys.modules[cudamedian.median_filter.__module__].median_filter
    for overload in typing.get_overloads(function):
        assert list(inspect.signature(overload).parameters) == ["input", "size", "output", "options"]


def test_choices_are_those_that_types_name():
    from cudamedian import _filter, _types, _window

    assert set(typing.get_args(_types.Mode)) == set(_window.BORDERS)
    assert set(typing.get_args(_types.EvenMedian)) == set(_window._EVEN_MEDIANS)
    assert set(typing.get_args(_types.Backend)) == set(_filter._BACKENDS)
    assert set(typing.get_args(_types.Algorithm)) == set(_filter._ALGORITHMS)


def test_archive_of_sources_holds_what_the_wheel_is_made_of(tmp_path):
    pytest.importorskip("scikit_build_core")
    code = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert folders == {"cmake", "include", "python", "src", "wrapping"}
    assert {name for name in names if "/" not in name} == {
        *("CHANGELOG.md", "CMakeLists.txt", "LICENSE", "PKG-INFO", "THIRD-PARTY-NOTICES.txt", "pyproject.toml"),
        *("itk-module-init.cmake", "itk-module.cmake"),
    }
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "python" / "cudamedian").rglob("*.py")}
    assert {*sources, "python/cudamedian/napari.yaml", "python/cudamedian/py.typed", "python/README.md"} <= names
    assert not [name for name in names if re.search(r"\.so$|\.pyc$|__pycache__|/\.", name)]


def test_the_wheel_without_itk_holds_compiled_calls():
    if not any(metadata.distributions(name="cudamedian")):
        pytest.skip("the wheel cudamedian is not installed")
    from cudamedian import _calls, _plans

    assert type(_plans.calls) is _calls.Calls
    # One file for all versions from 3.12 on.
    names = {".abi3.so"} if sys.version_info >= (3, 12) else {f".cpython-3{sys.version_info[1]}-x86_64-linux-gnu.so"}
    assert {"".join(Path(_calls.__file__).suffixes)} == names


def test_compiled_calls_are_those_in_python():
    """Both have the same functions with the same arguments."""
    compiled = pytest.importorskip("cudamedian._calls")
    from cudamedian import _python_calls

    for name in _python_calls.__all__:
        one, other = getattr(compiled, name), getattr(_python_calls, name)
        methods = {method for method in vars(other) if not method.startswith("_")}
        assert methods <= set(dir(one)), name
        for method in methods:
            if inspect.isfunction(getattr(other, method)):
                listed = list(inspect.signature(getattr(other, method)).parameters)
                text = getattr(one, method).__nb_signature__[0][0]
                assert re.findall(r"(?:[(]|, )[*]?(\w+)", text.partition("->")[0]) == listed, method
