# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Windows that are balls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# A length that is a whole number of pixels may come out of a division a little short of it.
CLOSE = 1e-9


def ball(radius: Sequence[float]) -> np.ndarray:
    """Return the pixels of an ellipsoid with these radii in pixels: those whose middle lies in it."""
    if not all(0 <= length <= 1024 for length in radius):
        raise ValueError(f"a ball has the radius {list(radius)}; each is from 0 to 1024")
    reach = [int(length + CLOSE) for length in radius]
    grids = np.meshgrid(*[np.arange(-length, length + 1) for length in reach], indexing="ij", sparse=True)
    squares = [(grid / length) ** 2 if length else grid * 0.0 for grid, length in zip(grids, radius, strict=True)]
    return sum(squares, np.zeros((1,) * len(reach))) <= 1 + CLOSE
