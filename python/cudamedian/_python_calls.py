# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What a call that is like an earlier one does, in Python.

`_calls` has the same classes, compiled (wrapping/CudaMedianPythonCalls.cxx), and takes the place of this module where
the wheel holds it. The tests run both with the same cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _engine
from ._device_plans import CuPyPlan, TorchPlan

__all__ = ["Calls", "CuPyPlan", "HostPlan", "TorchPlan"]

Key = tuple[Any, ...]

# Of values of these types, equal ones mean the same.
_PLAIN = frozenset((type(None), int, str))

# Tuples in tuples that an argument has at most.
_MOST_LEVELS = 8


def _is_plain(value: object, levels: int = _MOST_LEVELS) -> bool:
    """Whether a value is None, an integer, text, or a tuple of these. Equal ones mean the same; 3 and 3.0 need not."""
    kind = type(value)
    if kind is tuple:
        items: Any = value
        return levels > 0 and all(_is_plain(item, levels - 1) for item in items)
    return value is None or kind is int or kind is str


def _number(value: Any) -> int | str | None:
    """Return what two numbers have to have in common to mean the same; None for what is no plain number.

    Of -0.0 and 0.0, of 3 and 3.0, and of NaN and itself, the text says what they are.
    """
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    return value if kind is int else repr(value) if kind is float else None


class HostPlan:
    """A request for arrays of NumPy."""

    def __init__(self, prepared: _engine.Prepared) -> None:
        """Keep the request."""
        self._run = prepared.run

    def run(self, array: Any, output: Any) -> Any:
        """Filter an array to `output`, or to a new one; return that, or None where the arrays are not as they were."""
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
        self._run(array.__array_interface__["data"][0], output.__array_interface__["data"][0])
        return output


class Calls:
    """Finds the plan of an earlier call with the same arguments on an array of the same type, shape and pixels."""

    HostPlan = HostPlan
    CuPyPlan = CuPyPlan
    TorchPlan = TorchPlan

    def __init__(self, plans: dict[Key, Any], kinds: set[type[Any]], is_kind: Callable[[type[Any]], bool]) -> None:
        """Look in `plans`. `kinds` are types of arrays, other than NumPy's, that `is_kind` has found to have plans."""
        self._plans = plans
        self._kinds = kinds
        self._is_kind = is_kind

    def _run(self, key: Key, array: Any, output: Any) -> tuple[Any, Key]:
        plan = self._plans.get(key)
        return (None if plan is None else plan.run(array, output)), key

    def median(self, array: Any, output: Any, cval: Any, percentile: Any, *plain: Any) -> tuple[Any, Key | None]:
        """Filter an array as an earlier call of the package's `median_filter` did another.

        Parameters
        ----------
        array, output, cval, percentile
            Those of the call.
        plain
            Its other arguments that a plan can be kept for.

        Returns
        -------
        result : array or None
            The output; None where there is no plan, or the arrays are not like those of the plan.
        key : tuple or None
            What a plan for such a call is kept by; None where none can be kept.

        """
        kind: type[Any] = type(array)  # pyright: ignore[reportUnknownVariableType]
        if kind is not np.ndarray and kind not in self._kinds and not self._is_kind(kind):
            return None, None
        if not (_PLAIN.issuperset(map(type, plain)) or _is_plain(plain)):
            return None, None
        border = _number(cval)
        share = _number(percentile)
        if border is None or (share is None and percentile is not None):
            return None, None
        return self._run((kind, border, share, plain, array.shape, array.dtype), array, output)

    def ranked(
        self,
        array: Any,
        output: Any,
        name: str,
        wanted: Any,
        size: Any,
        footprint: Any,
        mode: Any,
        cval: Any,
        origin: Any,
        axes: Any,
    ) -> tuple[Any, Key | None]:
        """Return the same for a function of `ndimage` with a name, where `wanted` is its rank or percentile."""
        kind: type[Any] = type(array)  # pyright: ignore[reportUnknownVariableType]
        if kind is not np.ndarray and kind not in self._kinds and not self._is_kind(kind):
            return None, None
        border = _number(cval)
        rank = _number(wanted)
        if border is None or rank is None or not all(map(_is_plain, (size, mode, origin, axes))):
            return None, None
        if footprint is not None:
            if type(footprint) is not np.ndarray or size is not None:
                return None, None
            footprint = (footprint.shape, footprint.astype(bool).tobytes())
        key = (kind, name, rank, size, footprint, mode, border, origin, axes, array.shape, array.dtype)
        return self._run(key, array, output)
