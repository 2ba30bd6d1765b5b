# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Requests of earlier calls: a call with the same arguments on another array of the same shape and type takes one.

To read scipy's arguments takes several times as long as to filter a small image.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _device_plans, _engine

Key = tuple[Any, ...]
Plan = _engine.Prepared | _device_plans.CuPyPlan | _device_plans.TorchPlan

# How many are kept. When there are more, all go.
_MOST_PLANS = 256
_plans: dict[Key, Plan] = {}

# Of values of these types, equal ones mean the same.
_PLAIN = frozenset((type(None), int, str))


def _is_plain(value: object) -> bool:
    """Whether a value is None, an integer, text, or a tuple of these. Equal ones mean the same; 3 and 3.0 need not."""
    kind = type(value)
    if kind is tuple:
        return all(map(_is_plain, value))  # pyright: ignore[reportArgumentType] - a tuple, by its type
    return value is None or kind is int or kind is str


def make_key(
    array: Any, name: str, wanted: Any, size: Any, footprint: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Key | None:
    """Return what two calls have to have in common to be asked the same, or None for arguments that are not plain."""
    kind: type[Any] = type(array)  # pyright: ignore[reportUnknownVariableType]
    if kind is not np.ndarray and kind not in _device_plans.kinds and not _device_plans.is_kind(kind):
        return None
    if type(cval) not in (float, int) or type(wanted) not in (float, int):
        return None
    if footprint is not None:
        if type(footprint) is not np.ndarray or size is not None:
            return None
        footprint = (footprint.shape, footprint.astype(bool).tobytes())
    for value in (size, mode, origin, axes):
        if not _is_plain(value):
            return None
    # Of -0.0 and 0.0, of 3 and 3.0, and of NaN and itself, the text says what they are.
    return (kind, name, repr(wanted), size, footprint, mode, repr(cval), origin, axes, array.shape, array.dtype)


def make_median_key(array: Any, cval: Any, percentile: Any, *plain: Any) -> Key | None:
    """Return the same for `median_filter` of the package, whose other arguments are `plain` where they can be kept."""
    kind: type[Any] = type(array)  # pyright: ignore[reportUnknownVariableType]
    if kind is not np.ndarray and kind not in _device_plans.kinds and not _device_plans.is_kind(kind):
        return None
    if not (_PLAIN.issuperset(map(type, plain)) or _is_plain(plain)):
        return None
    if type(cval) is not int:
        if type(cval) is not float:
            return None
        cval = repr(cval)
    if percentile is not None:
        if type(percentile) not in (float, int):
            return None
        percentile = repr(percentile)
    return (kind, cval, percentile, plain, array.shape, array.dtype)


def keep(key: Key, plan: Plan | None) -> None:
    """Keep a request for later calls."""
    if plan is not None:
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        _plans[key] = plan


def run(key: Key, array: Any, output: Any) -> Any:
    """Filter an array as an earlier call did another; return None where none has, or the arrays are not like those."""
    plan = _plans.get(key)
    if plan is None:
        return None
    if not isinstance(plan, _engine.Prepared):
        return plan.run(array, output)
    if not (array.flags.c_contiguous and array.flags.aligned):
        return None
    if output is None:
        output = np.empty(array.shape, array.dtype)
    elif (
        type(output) is not np.ndarray
        or output.base is not None
        or output.dtype != array.dtype
        or output.shape != array.shape
        or not (output.flags.c_contiguous and output.flags.aligned and output.flags.writeable)
        or np.may_share_memory(array, output)
    ):
        return None
    plan.run(array.__array_interface__["data"][0], output.__array_interface__["data"][0])
    return output
