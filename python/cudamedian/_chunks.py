# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What Dask's and Zarr's arrays share, which are filtered chunk by chunk and later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import _filter, _numpy, _rules, _types, _window


def check_arguments(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    shape_of_window: _types.Window,
    given: _rules.Given,
    backend: str,
    algorithm: str,
) -> _window.Window:
    """Return the window of an array that is filtered later; what is wrong with the arguments is an error now."""
    _filter.check_choices(backend, algorithm)
    window = _window.window_of_axes(len(shape), **shape_of_window)
    pixel = _numpy.carrier(dtype)
    _window.border_value(window, dtype, pixel)
    _rules.for_array(replace(given, mask=None), shape, dtype, pixel)
    _window.merge_axes(shape, window)
    return window
