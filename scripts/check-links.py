#!/usr/bin/env python3
"""Checks the links of the documentation: every file and every heading that a Markdown page points to is there.

usage: scripts/check-links.py [root]   (default: the checkout)

Addresses on other machines are not asked. Prints each dead link with its page and line, and fails if there is one.
"""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*)$")


def lines_outside_code(page: Path):
    """Yield the number and the text of every line that is not part of a block of code."""
    inside = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(page: Path) -> set[str]:
    """Return the names that a page's headings have in links: small letters, blanks as hyphens, nothing but words."""
    names = set()
    for _, line in lines_outside_code(page):
        match = HEADING.match(line)
        if match:
            text = re.sub(r"[^\w\- ]", "", match.group(1).lower())
            names.add(text.strip().replace(" ", "-"))
    return names


def main() -> int:
    """Check all pages that belong to the checkout."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    pages = [root / name for name in listed]
    dead = 0
    links = 0
    for page in pages:
        for number, line in lines_outside_code(page):
            for target in LINK.findall(line):
                if re.match(r"[a-z]+:", target):
                    continue
                links += 1
                name, _, anchor = target.partition("#")
                file = (page.parent / name).resolve() if name else page
                if not file.exists() or (anchor and anchor not in anchors(file)):
                    print(f"{page.relative_to(root)}:{number}: dead link: {target}")
                    dead += 1
    print(f"{links} links in {len(pages)} pages, {dead} dead")
    return 1 if dead or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
