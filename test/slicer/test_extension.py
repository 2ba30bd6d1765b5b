# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The extension's build files and its entry of the catalogue.

Slicer's build tree is not at hand. A stand-in for it, written here, has the variables and macros that the extension
uses, as Slicer's own have them, and records what it is given.
"""

import json
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "slicer"
MODULE = EXTENSION / "MedianDenoising"

# The rules of Slicer's slicer-catalog-entry-schema-v1.0.2.json, in this project's words. The schema itself is
# Slicer's and is not copied.
TEXT = {"type": "string"}
CATALOGUE_RULES = {
    "$schema": "http://json-schema.org/draft-07/schema",
    "type": "object",
    "required": ["$schema", "category", "scm_url"],
    "additionalProperties": False,
    "properties": {
        "$schema": TEXT,
        "category": TEXT,
        "scm_url": TEXT,
        "scm_revision": TEXT,
        "scm_type": {"enum": ["git", "local"]},
        "build_dependencies": {"type": "array", "items": TEXT},
        "dicom_support_rule": TEXT,
        "build_subdirectory": TEXT,
        "enabled": {"type": "boolean"},
        "tier": {"type": "integer", "minimum": 1, "maximum": 5},
    },
}

SLICER_CONFIG = """
set(Slicer_USE_FILE ${CMAKE_CURRENT_LIST_DIR}/UseSlicer.cmake)
set(Slicer_EXTENSION_GENERATE_CONFIG ${CMAKE_CURRENT_LIST_DIR}/GenerateConfig.cmake)
set(Slicer_EXTENSION_CPACK ${CMAKE_CURRENT_LIST_DIR}/CPack.cmake)
"""

USE_SLICER = """
set(Slicer_CLIMODULES_BIN_DIR lib/Slicer-5.13/cli-modules)
set(Slicer_INSTALL_CLIMODULES_BIN_DIR lib/Slicer-5.13/cli-modules)
set(BUILD_SHARED_LIBS ON)
set(BUILD_TESTING ON)
macro(slicerMacroBuildScriptedModule)
  cmake_parse_arguments(MY_SLICER "WITH_GENERIC_TESTS;WITH_SUBDIR;VERBOSE" "NAME" "SCRIPTS;RESOURCES" ${ARGN})
  if(MY_SLICER_UNPARSED_ARGUMENTS OR NOT MY_SLICER_NAME)
    message(FATAL_ERROR "slicerMacroBuildScriptedModule: ${ARGN}")
  endif()
  foreach(key IN ITEMS NAME SCRIPTS RESOURCES)
    file(APPEND ${CMAKE_BINARY_DIR}/recorded.txt "${key}=${MY_SLICER_${key}}\\n")
  endforeach()
  add_custom_target(${MY_SLICER_NAME} ALL)
endmacro()
"""

GENERATE_CONFIG = """
foreach(key IN ITEMS HOMEPAGE CATEGORY CONTRIBUTORS DESCRIPTION ICONURL SCREENSHOTURLS DEPENDS LICENSE_FILE README_FILE)
  if(NOT DEFINED EXTENSION_${key})
    message(FATAL_ERROR "EXTENSION_${key} is not set")
  endif()
  file(APPEND ${CMAKE_BINARY_DIR}/recorded.txt "EXTENSION_${key}=${EXTENSION_${key}}\\n")
endforeach()
file(APPEND ${CMAKE_BINARY_DIR}/recorded.txt "PROJECT=${CMAKE_PROJECT_NAME}\\n")
"""

CPACK = """
file(APPEND ${CMAKE_BINARY_DIR}/recorded.txt "CPACK=1\\n")
"""


@pytest.fixture(scope="module", params=["the extension's folder", "the repository's root"])
def configured(request, tmp_path_factory):
    """Configure the extension; return the build folder and what the stand-in recorded."""
    if shutil.which("cmake") is None or shutil.which("ninja") is None:
        pytest.skip("cmake and ninja are not both on PATH")
    folder = tmp_path_factory.mktemp("extension")
    slicer = folder / "slicer"
    slicer.mkdir()
    for name, text in (
        ("SlicerConfig", SLICER_CONFIG),
        ("UseSlicer", USE_SLICER),
        ("GenerateConfig", GENERATE_CONFIG),
        ("CPack", CPACK),
    ):
        (slicer / f"{name}.cmake").write_text(text)
    build = folder / "build"
    source = EXTENSION if request.param.startswith("the extension") else ROOT
    options = ["-G", "Ninja", f"-DSlicer_DIR={slicer}", "-DCUDAMEDIAN_USE_CUDA=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    done = subprocess.run(
        ["cmake", "-S", source, "-B", build, *options], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    recorded = dict(line.split("=", 1) for line in (build / "recorded.txt").read_text().splitlines())
    return build, recorded


def test_module_is_built_of_files_that_exist(configured):
    _, recorded = configured
    assert recorded["NAME"] == "MedianDenoising"
    assert recorded["PROJECT"] == "MedianDenoising"
    for name in recorded["SCRIPTS"].split(";") + recorded["RESOURCES"].split(";"):
        assert (MODULE / name).is_file(), name
    assert recorded["CPACK"] == "1"


def test_every_file_of_the_module_is_packed(configured):
    _, recorded = configured
    packed = set(recorded["SCRIPTS"].split(";") + recorded["RESOURCES"].split(";"))
    there = {str(path.relative_to(MODULE)) for path in MODULE.rglob("*.*") if path.suffix in (".py", ".png", ".txt")}
    assert there - {"CMakeLists.txt"} == packed


def test_licence_and_description_exist(configured):
    _, recorded = configured
    assert "Apache License" in Path(recorded["EXTENSION_LICENSE_FILE"]).read_text()
    assert Path(recorded["EXTENSION_README_FILE"]).read_text()
    assert recorded["EXTENSION_DEPENDS"] == "NA"
    assert recorded["EXTENSION_DESCRIPTION"]


def test_program_and_its_description_go_to_slicer_and_nothing_else(configured):
    build, _ = configured
    targets = subprocess.run(["ninja", "-C", build, "-t", "query", "all"], capture_output=True, text=True, check=True)
    asked = subprocess.run(["ninja", "-C", build, "-n", "all"], capture_output=True, text=True, check=True).stdout
    assert "lib/Slicer-5.13/cli-modules/CudaMedianImageFilter" in asked, targets.stdout
    assert "CudaMedianImageFilter --xml" in asked or "CudaMedianImageFilter.xml" in asked
    # Neither tests nor the other programs are built, and the library is inside the program.
    for unwanted in ("GTest", "CudaMedianBenchmark", "CudaMedianFigure", "libCudaMedian.so"):
        assert unwanted not in asked, unwanted
    scripts = "".join(path.read_text() for path in build.glob("cmake_install.cmake"))
    scripts += "".join(path.read_text() for path in (build / "slicer").glob("cmake_install.cmake"))
    assert scripts.count("lib/Slicer-5.13/cli-modules") >= 2
    assert "include" not in [line.strip() for line in scripts.splitlines() if "DESTINATION" in line]


def test_catalogue_entry_follows_the_rules():
    entry = json.loads((EXTENSION / "MedianDenoising.json").read_text())
    jsonschema.validate(entry, CATALOGUE_RULES)
    assert entry["$schema"].endswith("/slicer-catalog-entry-schema-v1.0.2.json#")


@pytest.mark.parametrize(
    "change", [{"tier": 6}, {"tier": "1"}, {"scm_type": "svn"}, {"enabled": "yes"}, {"homepage": "https://itk.org"}]
)
def test_rules_refuse_what_the_catalogue_would(change):
    entry = json.loads((EXTENSION / "MedianDenoising.json").read_text())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**entry, **change}, CATALOGUE_RULES)


def test_icon_is_a_whole_png():
    data = (MODULE / "Resources/Icons/MedianDenoising.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    position, pixels, kinds = 8, b"", []
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 8 : position + 8 + length]
        (check,) = struct.unpack(">I", data[position + 8 + length : position + 12 + length])
        assert check == zlib.crc32(kind + body)
        kinds.append(kind)
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            pixels += body
        position += 12 + length
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")
    assert width == height >= 64
    assert len(zlib.decompress(pixels)) >= width * height
