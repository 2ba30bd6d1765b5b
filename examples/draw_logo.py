#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Draws CudaMedianImageFilter.png, the logo of the command line module.

usage: draw_logo.py [OUTPUT]

A disc in noise: the left half as it comes, the right half after the filter's work. Nothing but Python is needed.
"""

import random
import struct
import sys
import zlib
from pathlib import Path

SIZE = 128
RADIUS = 1
NOISE = 0.2


def noisy_disc():
    """Return the gray values of a disc, one in five of which is black or white, as rows."""
    numbers = random.Random(1)
    rows = []
    for y in range(SIZE // 4):
        row = []
        for x in range(SIZE // 4):
            inside = (x - 15.5) ** 2 + (y - 15.5) ** 2 < 11.5**2
            row.append(numbers.choice((0, 255)) if numbers.random() < NOISE else 190 if inside else 60)
        rows.append(row)
    return rows


def median(rows):
    """Return the median of each pixel's neighborhood; at the border the nearest pixel counts again."""
    last = len(rows) - 1
    steps = range(-RADIUS, RADIUS + 1)

    def at(y, x):
        window = [rows[min(max(y + j, 0), last)][min(max(x + i, 0), last)] for j in steps for i in steps]
        return sorted(window)[len(window) // 2]

    return [[at(y, x) for x in range(len(rows))] for y in range(len(rows))]


def chunk(kind, data):
    """Return a chunk of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main():
    """Write the picture."""
    before = noisy_disc()
    after = median(median(before))
    half = len(before) // 2
    enlarge = SIZE // len(before)
    lines = b""
    for y in range(SIZE):
        row = before[y // enlarge][:half] + after[y // enlarge][half:]
        lines += b"\0" + bytes(value for value in row for _ in range(enlarge))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 0, 0, 0, 0)
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "CudaMedianImageFilter.png"
    output.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    main()
