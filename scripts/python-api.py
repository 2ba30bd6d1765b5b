# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Writes documentation/python-api.md from the docstrings of the package cudamedian, which is read and not imported.

usage: python3 scripts/python-api.py [--check]

With --check nothing is written: it fails where the page is not what it would be.
"""

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "cudamedian"
PAGE = ROOT / "documentation" / "python-api.md"

HEAD = """# Functions of the Python package

Made from the docstrings by `scripts/python-api.py`; what is written by hand is in [From Python](python.md).
"""

# Sections that are lists, of what a line that is not indented names; the others are prose.
LISTS = ("Parameters", "Returns", "Raises", "See Also")


def definitions(tree: ast.Module) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Return what a module defines by name: of overloads the last, which is the function itself."""
    return {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def public_names(tree: ast.Module) -> list[str]:
    """Return `__all__`, or the functions without an underscore."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return [name for name in definitions(tree) if not name.startswith("_")]


def find(tree: ast.Module, name: str) -> ast.FunctionDef | ast.ClassDef:
    """Return the definition of a name, in the module or in the one that it is imported from."""
    found = definitions(tree).get(name)
    if found is not None:
        return found
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            path = PACKAGE / f"{node.module.rpartition('.')[2]}.py"
            return find(ast.parse(path.read_text(encoding="utf-8")), name)
    raise LookupError(f"{name} is public, and defined nowhere")


def argument(node: ast.arg, default: ast.expr | None) -> str:
    """Return an argument as a call has it; its type is told below."""
    return node.arg if default is None else f"{node.arg}={ast.unparse(default)}".replace("'", '"')


def signature(node: ast.FunctionDef) -> str:
    """Return the head of a function without types, an argument a line where one line is too short."""
    arguments = node.args
    first = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(first) - len(arguments.defaults)) + arguments.defaults
    words = [argument(*pair) for pair in zip(first, defaults, strict=True)]
    if arguments.kwonlyargs:
        words.append("*")
    words += [argument(*pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    line = f"{node.name}({', '.join(words)})"
    if len(line) <= 100:
        return line
    return "\n".join([f"{node.name}(", *(f"    {word}," for word in words), ")"])


def blocks(text: str) -> str:
    """Return prose, with examples as code."""
    parts = []
    for part in re.split(r"\n\n+", text.strip()):
        parts.append(f"```pycon\n{part}\n```" if part.startswith(">>>") else part)
    return "\n\n".join(parts)


def items(title: str, text: str) -> str:
    """Return a list of what a section has a line for each: its names, its type, and what is said of it."""
    found = []
    for entry in re.split(r"\n(?=\S)", text.strip()):
        line, _, said = entry.partition("\n")
        names, _, kind = line.partition(" : ")
        head = ", ".join(f"`{name}`" for name in names.split(", "))
        if title == "See Also":
            kind, said = "", kind
        said = " ".join(said.split())
        point = f"- {head} ({kind}): {said}" if kind else f"- {head}: {said}"
        found.append(textwrap.fill(point, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))
    return "\n".join(found)


def body(text: str) -> str:
    """Return a docstring as Markdown."""
    pieces = re.split(r"(?:^|\n\n)([A-Z][A-Za-z ]+)\n-{3,}\n", text)
    result = [blocks(pieces[0])]
    for title, content in zip(pieces[1::2], pieces[2::2], strict=True):
        result.append(f"**{title}**")
        result.append(items(title, content) if title in LISTS else blocks(content))
    return "\n\n".join(result)


def docstring(node: ast.FunctionDef | ast.ClassDef | ast.Module, name: str) -> str:
    """Return a docstring without its indentation."""
    text = ast.get_docstring(node)
    if text is None:
        raise LookupError(f"{name} has no docstring")
    return inspect.cleandoc(text)


def describe(path: Path) -> str:
    """Return the part of a module."""
    module = "cudamedian" if path.stem == "__init__" else f"cudamedian.{path.stem}"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = [f"## {module}", blocks(docstring(tree, module))]
    nodes = [(name, find(tree, name)) for name in public_names(tree)]
    for name, node in sorted(nodes, key=lambda pair: isinstance(pair[1], ast.ClassDef)):
        parts.append(f"### {module}.{name}")
        if isinstance(node, ast.ClassDef):
            parts.append(f"```python\nclass {name}({', '.join(map(ast.unparse, node.bases))})\n```")
        else:
            parts.append(f"```python\n{signature(node)}\n```")
        parts.append(body(docstring(node, name)))
    return "\n\n".join(parts)


def main() -> int:
    """Write the page, or compare it."""
    paths = [PACKAGE / "__init__.py", *sorted(PACKAGE.glob("[a-z]*.py"))]
    page = "\n".join([HEAD, "\n\n".join(map(describe, paths)), ""])
    if sys.argv[1:] == ["--check"]:
        if page == PAGE.read_text(encoding="utf-8"):
            return 0
        print(f"{PAGE.relative_to(ROOT)} is not made of the docstrings as they are; run python3 scripts/python-api.py")
        return 1
    if sys.argv[1:]:
        print(f"unknown arguments: {sys.argv[1:]} (--check)")
        return 2
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
