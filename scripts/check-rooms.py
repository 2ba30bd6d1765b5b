#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Check that rooms of the sources include only what they may know, and that no function is too long.

Which rooms know which is in documentation/architecture.md. A function is read at once.

usage: check-rooms.py [--count] [folder]   (default: the checkout that this script lies in)
"""

import argparse
import collections
import pathlib
import re
import sys

# Which rooms each may know besides itself and the headers in include/.
ALLOWED = {
    "core": set(),
    "program": {"core"},
    "cpu": {"core", "program"},
    "cuda": {"core", "cpu"},
    "algorithm": {"core"},
    "plan": {"core", "algorithm"},
    "tools": {"core", "program", "algorithm/tile"},
    ".": {"core", "plan", "cpu", "cuda", "algorithm"},
}
ALGORITHM = {"core", "program", "cpu", "cuda", "algorithm"}
# The one place that names the algorithms, and what stands in for their kernels where there is no CUDA.
REGISTRATION = {"algorithm/Algorithms.cxx", "algorithm/NoDeviceMethods.cxx"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".h", ".cxx", ".cu", ".cuh", ".inc"}
COUNTED = ("include", "src", "examples", "vtk", "plugin", "benchmark")
LONGEST_FUNCTION = 80  # lines between its braces
# What is no code, or holds braces that are none of the code's.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.S | re.M,
)
SCOPE = re.compile(
    r"(template\s*<.*>\s*)?((inline|constexpr|static|typedef|const)\s+)*(namespace|class|struct|union|extern)\b", re.S
)


def list_sources(source):
    """Return the source files below a folder, with the room that each lies in."""
    files = sorted(path for path in source.rglob("*") if path.suffix in SUFFIXES)
    return {path: path.parent.relative_to(source).as_posix() for path in files}


def find_violations(source):
    """Return a line for each include that no room of its file may have."""
    rooms = list_sources(source)
    room_of = {path.name: room for path, room in rooms.items()}
    lines = []
    for path, room in rooms.items():
        name = path.relative_to(source).as_posix()
        if name in REGISTRATION:
            continue
        allowed = ALGORITHM if room.startswith("algorithm/") else ALLOWED[room]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            other = room_of.get(found.group(1).split("/")[-1]) if found else None
            if other is not None and other != room and other not in allowed:
                lines.append(f"{name}:{number}: {room} may not know {other} ({found.group(1)})")
    return lines


def find_functions(path):
    """Return the first line, the number of lines and the name of each function of a C++ file."""
    code = NOT_CODE.sub(lambda found: "\n" * found.group().count("\n"), path.read_text())
    functions = []
    blocks = []  # for each open brace: whether it is one of a namespace or a class, its line, and the text before it
    header = ""
    for number, line in enumerate(code.splitlines(), 1):
        for part in re.split(r"([{};])", line):
            if part == "{":
                text = re.sub(r"^\s*((public|private|protected)\s*:\s*)+", "", header).strip()
                is_inside = bool(blocks) and not blocks[-1][0]
                blocks.append((not is_inside and bool(SCOPE.match(text)) and not text.endswith(")"), number, text))
            elif part == "}" and blocks:
                is_scope, first, text = blocks.pop()
                is_outermost = not is_scope and all(block[0] for block in blocks)
                if is_outermost and not text.endswith("="):
                    name = re.search(r"([\w:~]+)\s*\(", text)
                    functions.append((first, number - first - 1, name.group(1) if name else "a function"))
            header = "" if part and part in "{};" else header + part
        header += "\n"
    return functions


def find_long_functions(root):
    """Return a line for each function that is too long."""
    lines = []
    for folder in COUNTED + ("test", "wrapping"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES | {".hxx"}:
                for first, length, name in find_functions(path):
                    if length > LONGEST_FUNCTION:
                        place = f"{path.relative_to(root).as_posix()}:{first}"
                        lines.append(f"{place}: {name} has {length} lines, more than {LONGEST_FUNCTION}")
    return lines


def count_lines(path):
    """Return the lines of a C++ file that are neither blank nor comment."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def print_counts(root):
    """Print the lines of code of each room, and the files above 500 lines."""
    counts = collections.Counter()
    long_files = []
    for folder in COUNTED:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES | {".hxx"}:
                room = path.parent.relative_to(root).as_posix()
                counts[room] += count_lines(path)
                length = len(path.read_text().splitlines())
                if folder in ("include", "src") and length > 500:
                    long_files.append((length, path.relative_to(root).as_posix()))
    for room, lines in counts.items():
        print(f"{lines:6} {room}")
    print(f"{sum(counts.values()):6} together")
    for length, name in sorted(long_files, reverse=True):
        print(f"{length:6} lines in {name}")


def main():
    """Check the rooms and the functions, or count the rooms' lines. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", action="store_true", help="print lines of code instead")
    parser.add_argument("folder", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    options = parser.parse_args()
    if options.count:
        print_counts(options.folder)
        return 0
    violations = find_violations(options.folder / "src") + find_long_functions(options.folder)
    print("\n".join(violations), end="\n" if violations else "")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
