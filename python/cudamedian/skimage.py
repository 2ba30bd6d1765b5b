# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The median of `skimage.filters` and cuCIM: the same name, arguments and results."""

from __future__ import annotations

import warnings
from typing import Any, cast

import numpy as np

from . import _tensors, ndimage
from ._filter import median_filter

__all__ = ["median"]

_RANK_TYPES = ("uint8", "uint16")


def _median_of_clipped_windows(image: Any, footprint: Any, out: Any) -> Any:
    array = np.asarray(_tensors.resolve(image))
    if array.dtype.name not in _RANK_TYPES:
        raise TypeError(
            f"behavior='rank' takes images of {' and '.join(_RANK_TYPES)}, not of {array.dtype}, which scikit-image "
            "would round to uint8; behavior='ndimage' takes them as they are"
        )
    if array.ndim not in (2, 3):
        raise ValueError(f"behavior='rank' takes images of two or three axes; this one has {array.ndim}")
    return median_filter(array, footprint=footprint, output=out, mode="shrink")


def _is_size(footprint: Any, image: Any) -> bool:
    """Whether a footprint is a size along each axis, as cuCIM has it, and not pixels."""
    is_tuple = isinstance(footprint, tuple) and all(isinstance(extent, int) for extent in cast("Any", footprint))
    return is_tuple and len(cast("Any", footprint)) == np.ndim(image)


def median(
    image: Any,
    footprint: Any = None,
    out: Any = None,
    mode: str = "nearest",
    cval: float = 0.0,
    behavior: str = "ndimage",
) -> Any:
    """Return the local median of an image: `skimage.filters.median`.

    Parameters
    ----------
    image : array
        An array of bool, integers, float16, float32 or float64 with any number of axes; with behavior "rank" a NumPy
        array of uint8 or uint16 with two or three.
    footprint : array or tuple of int, optional
        An array with as many axes as the image: its pixels are those that are not 0. Or, as in cuCIM, a tuple of
        integers: the size along each axis. By default 3 pixels along each axis.
    out : array, optional
        An array for the result.
    mode, cval : str, float
        What lies beyond the border, as in `cudamedian.ndimage.median_filter`; not with behavior "rank".
    behavior : {"ndimage", "rank"}, default "ndimage"
        "ndimage", or "rank": windows are clipped at the border.

    Returns
    -------
    array
        The medians, of the image's type and kind.

    Examples
    --------
    >>> import numpy as np
    >>> from cudamedian.skimage import median
    >>> median(np.array([[1, 9, 2], [3, 4, 5], [8, 7, 6]], "uint8"))
    array([[3, 3, 4],
           [4, 5, 5],
           [7, 6, 6]], dtype=uint8)

    """
    if behavior not in ("ndimage", "rank"):
        raise ValueError(f"behavior is {behavior!r}; the choices are 'ndimage', 'rank'")
    size = 3 if footprint is None else footprint if _is_size(footprint, image) else None
    if size is not None and behavior == "ndimage":
        return ndimage.median_filter(image, size=size, output=out, mode=mode, cval=cval)
    footprint = _tensors.read(footprint) if size is None else np.ones(np.broadcast_to(size, np.ndim(image)), bool)
    if behavior == "rank":
        if mode != "nearest" or not np.isclose(cval, 0.0):
            warnings.warn(
                "Change 'behavior' to 'ndimage' if you want to use the parameters 'mode' or 'cval'. They will be "
                "discarded otherwise.",
                stacklevel=2,
            )
        return _median_of_clipped_windows(image, footprint, out)
    if np.all(footprint):
        return ndimage.median_filter(image, size=np.shape(footprint), output=out, mode=mode, cval=cval)
    return ndimage.median_filter(image, footprint=footprint, output=out, mode=mode, cval=cval)
