# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""scipy.ndimage's functions, replaced for the time of a block."""

import contextlib
from collections.abc import Generator


@contextlib.contextmanager
def use() -> Generator[None, None, None]:
    """Let `scipy.ndimage` have the functions of `cudamedian.ndimage` in a `with` block.

    All that calls them by `scipy.ndimage.median_filter` or by a module's own name for `scipy.ndimage` gets them, in
    every thread, other packages included. A name that was imported before, as by `from scipy.ndimage import
    median_filter`, stays scipy's. What was there before is restored at the block's end, also after an exception; blocks
    may be nested.

    Returns
    -------
    context manager
        For a `with` statement; it gives nothing.

    Examples
    --------
    >>> import scipy.ndimage
    >>> from cudamedian import use
    >>> with use():
    ...     scipy.ndimage.median_filter([5, 1, 4], size=3)
    array([5, 4, 4])

    """
    import scipy.ndimage  # noqa: PLC0415 - the package does not need scipy

    from . import ndimage  # noqa: PLC0415

    before = {name: getattr(scipy.ndimage, name) for name in ndimage.__all__}
    for name in before:
        setattr(scipy.ndimage, name, getattr(ndimage, name))
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(scipy.ndimage, name, function)
