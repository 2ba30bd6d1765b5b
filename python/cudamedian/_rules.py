# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Which pixels count, and which are replaced: masks, an ignored value, NaN and outliers, as callers write them."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _tensors

# The engine's numbers of these rules.
_INVALID = {"computed": 0, "copied": 1}
_VALUE = {"empty": 1, "invalid": 2}
_ABSOLUTE, _DEVIATIONS = 1, 2

# "3mad": so many median absolute deviations.
_MAD = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*mad\s*")


@dataclass(frozen=True)
class Rules:
    """The rules for an array of one type, as the fields of the engine's requests.

    The mask's address is one of them. The mask lives as long as this.
    """

    mask: Any
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Given:
    """What a caller wrote, checked as far as that can be without the array."""

    mask: Any = None
    ignore: Any = None
    omits_nan: bool = False
    empty: Any = "input"
    invalid: Any = "computed"
    outliers: tuple[int, float] | None = None

    def __bool__(self) -> bool:
        """Whether there is any rule: without others, clipped windows may have no pixel, and want what stands in."""
        return (
            self.mask is not None
            or self.ignore is not None
            or self.omits_nan
            or self.outliers is not None
            or not isinstance(self.empty, str)
        )


def _check_number(name: str, value: Any) -> None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}, which is not a number")


def _read_outliers(outliers: Any) -> tuple[int, float] | None:
    if outliers is None:
        return None
    if isinstance(outliers, str):
        found = _MAD.fullmatch(outliers)
        if found is None:
            raise ValueError(f"outliers is {outliers!r}; it is a distance from the median, or as '3mad'")
        return _DEVIATIONS, float(found.group(1))
    _check_number("outliers", outliers)
    if not (outliers >= 0 and math.isfinite(outliers)):
        raise ValueError(f"outliers is {outliers}; a distance from the median starts at 0")
    return _ABSOLUTE, float(outliers)


def read(mask: Any, ignore: Any, nan: Any, empty: Any, invalid: Any, outliers: Any) -> Given:
    """Check what a caller wrote."""
    if nan not in ("order", "omit"):
        raise ValueError(f"nan is {nan!r}; the choices are 'order', 'omit'")
    if isinstance(empty, str) and empty != "input":
        raise ValueError(f"empty is {empty!r}; it is 'input' or a value")
    if isinstance(invalid, str) and invalid not in _INVALID:
        raise ValueError(f"invalid is {invalid!r}; it is 'computed', 'copied' or a value")
    for name, value in (("empty", empty), ("invalid", invalid), ("ignore", ignore)):
        if value is not None and not isinstance(value, str):
            _check_number(name, value)
    if empty is None or invalid is None:
        raise TypeError("empty and invalid are not None; leave them out")
    if isinstance(ignore, str):
        raise TypeError(f"ignore is {ignore!r}, which is not a number")
    if ignore is not None and math.isnan(ignore):
        raise ValueError("ignore is NaN; nan='omit' does without it")
    return Given(mask, ignore, nan == "omit", empty, invalid, _read_outliers(outliers))


def pixel_bytes(name: str, value: Any, dtype: np.dtype[Any], pixel: np.dtype) -> bytes:
    """Return the bytes of a value in pixels of type `pixel`, which carry those of `dtype`."""
    if dtype.kind in "iub":
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not (low <= value <= high) or value != int(value):
            raise ValueError(f"{name} is {value}, which pixels of type {dtype} do not hold: {low} to {high}")
        value = int(value)
    return np.array(value, dtype.newbyteorder("=")).astype(pixel).tobytes()


def fit_mask(mask: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    """Return a mask that broadcasts to an array's shape: that of its pixels is one for all components of each, too."""
    if dtype.kind not in "biu":
        raise TypeError(f"mask has type {dtype}; it holds integers or bools")
    given = tuple(mask.shape)
    if given == shape[:-1] != shape:
        mask = mask[..., None]
        given = (*given, 1)
    if len(given) > len(shape) or any(
        extent not in (1, whole) for extent, whole in zip(reversed(given), reversed(shape), strict=False)
    ):
        raise ValueError(f"mask has shape {given}, which is none of an array of shape {shape}")
    return mask


def spread_mask(mask: Any, shape: tuple[int, ...]) -> Any:
    """Return a mask of the host that broadcasts to an array's shape, or a Dask array."""
    mask = _tensors.resolve(mask)
    if not hasattr(mask, "shape") or hasattr(mask, "__dlpack_device__"):
        mask = np.asarray(mask)
    return fit_mask(mask, mask.dtype, shape)


def for_mask(
    given: Given, dtype: np.dtype[Any], pixel: np.dtype, mask: Any = None, address: int = 0, itemsize: int = 1
) -> Rules:
    """Return the rules for an array of a type, whose mask lies at an address."""
    fields: dict[str, Any] = {"omits_nan": int(given.omits_nan and dtype.kind == "f")}
    if mask is not None:
        fields.update(mask=address, mask_pixel_bytes=itemsize)
    if given.ignore is not None:
        fields.update(has_ignored_value=1, ignored_value=pixel_bytes("ignore", given.ignore, dtype, pixel))
    if not isinstance(given.empty, str):
        fields.update(empty_window=_VALUE["empty"], empty_value=pixel_bytes("empty", given.empty, dtype, pixel))
    if isinstance(given.invalid, str):
        fields["invalid_output"] = _INVALID[given.invalid]
    else:
        fields.update(
            invalid_output=_VALUE["invalid"], invalid_value=pixel_bytes("invalid", given.invalid, dtype, pixel)
        )
    if given.outliers is not None:
        fields["outlier_rule"], fields["outlier_threshold"] = given.outliers
    return Rules(mask, fields)


def for_array(given: Given, shape: tuple[int, ...], dtype: np.dtype[Any], pixel: np.dtype) -> Rules | None:
    """Return the rules for an array of a shape and a type, or None where there are none."""
    if not given:
        return None
    mask = None
    if given.mask is not None:
        mask = np.broadcast_to(np.asarray(spread_mask(given.mask, shape)), shape)
        mask = np.ascontiguousarray(mask if mask.dtype.itemsize == 1 else mask != 0).view("uint8")
    return for_mask(given, dtype, pixel, mask, 0 if mask is None else mask.ctypes.data)
