#!/usr/bin/env python3
"""Checks the descriptions of packages in packaging: each is one, and all have the version of the project.

usage: check-packaging.py   (with py-rattler-build)

The recipe for conda is rendered by rattler-build. The port of vcpkg and the packages of Debian are read for their
versions and for the files that they name. The commit that ITK's remote module file names has to be one of this
checkout's history, where that is there. Prints what is wrong, and fails if something is.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import rattler_build

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"


def find_version(file: str, pattern: str) -> str:
    """Return what the first group of a pattern matches in a file of the checkout."""
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    return match.group(1) if match else "none"


def conda_versions() -> dict[str, str]:
    """Render the recipe, and return the versions of its packages."""
    recipe = rattler_build.Stage0Recipe.from_file(PACKAGING / "conda" / "recipe.yaml")
    variants = rattler_build.VariantConfig.from_file(PACKAGING / "conda" / "variants.yaml")
    packages = (variant.recipe.package for variant in recipe.render(variants))
    return {f"conda's {package.name}": str(package.version) for package in packages}


def missing_files() -> list[str]:
    """Return the files that packages name and the checkout lacks."""
    names = []
    for listing in (PACKAGING / "debian").glob("*.docs"):
        names += listing.read_text(encoding="utf-8").split()
    recipe = (PACKAGING / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    names += [f"packaging/conda/{name}" for name in re.findall(r"^ +file: (\S+)", recipe, re.MULTILINE)]
    names += ["packaging/vcpkg/usage", "packaging/vcpkg/portfile.cmake", "LICENSE"]
    return [name for name in names if not (ROOT / name).exists()]


def run_git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in the checkout."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


def faults_of_remote_module() -> list[str]:
    """Return what is wrong with the commit that ITK would fetch."""
    commit = find_version("CudaMedian.remote.cmake", r"^ *GIT_TAG (\S+)")
    if run_git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return []
    if run_git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
        return [f"CudaMedian.remote.cmake names {commit}, which is no commit of this history"]
    return []


def main() -> int:
    """Compare versions, and look for files."""
    expected = find_version("CMakeLists.txt", r"^project\(CudaMedian VERSION ([0-9.]+)")
    versions = conda_versions()
    versions["vcpkg"] = json.loads((PACKAGING / "vcpkg" / "vcpkg.json").read_text(encoding="utf-8"))["version"]
    versions["Debian"] = find_version("packaging/debian/changelog", r"^cudamedian \(([0-9.]+)-")
    versions["the manual page"] = find_version("packaging/debian/CudaMedianImageFilter.1", r'"CudaMedian ([0-9.]+)"')
    others = {name: version for name, version in versions.items() if version != expected}
    wrong = [f"{name} has version {version}, not {expected}" for name, version in others.items()]
    wrong += [f"no such file: {name}" for name in missing_files()]
    wrong += faults_of_remote_module()
    for line in wrong:
        print(line)
    print(f"{len(versions)} packages, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
