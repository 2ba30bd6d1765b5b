#!/usr/bin/env python3
"""Checks Doxygen's pages: every public class has one, and it says what the class is; pages of filters have a picture.

usage: check-pages.py FOLDER   (where scripts/doxygen.sh wrote html and xml)

Public are the classes, structures and enumerations of the headers in include, apart from those of the filters' details.
A filter is a class whose name ends with ImageFilter. Its picture is one that the class's description shows, besides
the diagram that Doxygen draws of each class that derives from another. Prints each that is missing, and fails if there
is one.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DETAILS = "itkCudaMedianFilterDetail.h"
DECLARATION = re.compile(
    r"^ *(?:class|struct|enum class) (?:CudaMedian_EXPORT |ITK_TEMPLATE_EXPORT )?(\w+)(?: : [^;]*)?$", re.MULTILINE
)


def declared_names() -> set[str]:
    """Return the names of what the public headers declare."""
    names = set()
    for header in sorted((ROOT / "include").glob("*.h")):
        if header.name != DETAILS:
            names.update(DECLARATION.findall(header.read_text(encoding="utf-8")))
    return names


def is_described(element: ElementTree.Element) -> bool:
    """Tell whether an entry has a description that is more than blanks."""
    texts = (element.find(name) for name in ("briefdescription", "detaileddescription"))
    return any(text is not None and "".join(text.itertext()).strip() for text in texts)


def described_names(pages: Path) -> set[str]:
    """Return the names of classes with pages that describe them, and of enumerations that are described on one."""
    names = set()
    for file in (pages / "xml").glob("*.xml"):
        for compound in ElementTree.parse(file).getroot().iter("compounddef"):
            name = compound.findtext("compoundname", "").rsplit("::", 1)[-1]
            has_page = (pages / "html" / f"{compound.get('id')}.html").exists()
            if compound.get("kind") in ("class", "struct") and has_page and is_described(compound):
                names.add(name)
            for member in compound.iter("memberdef"):
                if member.get("kind") == "enum" and is_described(member):
                    names.add(member.findtext("name", ""))
    return names


def filters_without_picture(pages: Path, declared: set[str]) -> list[str]:
    """Return the names of declared filters on whose pages no picture is shown that is there."""
    missing = []
    for file in (pages / "xml").glob("class*.xml"):
        for compound in ElementTree.parse(file).getroot().iter("compounddef"):
            name = compound.findtext("compoundname", "").rsplit("::", 1)[-1]
            if name not in declared or not name.endswith("ImageFilter"):
                continue
            images = [image.get("name", "") for image in compound.findall("detaileddescription//image")]
            if not images or not all((pages / "html" / image).exists() for image in images):
                missing.append(name)
    return sorted(missing)


def main() -> int:
    """Compare what is declared with what is described."""
    declared = declared_names()
    pages = Path(sys.argv[1])
    missing = sorted(declared - described_names(pages))
    for name in missing:
        print(f"no page describes {name}")
    print(f"{len(declared)} public types, {len(missing)} without a page")
    bare = filters_without_picture(pages, declared)
    for name in bare:
        print(f"no picture on the page of {name}")
    return 1 if missing or bare or not declared else 0


if __name__ == "__main__":
    sys.exit(main())
