# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""How far a call is, as its caller wants to hear of it: by a function, or by a bar of tqdm."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

Told = Callable[[float], object]


def check(progress: Any) -> Told | bool | None:
    """Return what `progress` asks for: a function, a bar where it is True, or None; raise TypeError for others."""
    if progress is None or progress is False:
        return None
    if progress is True or callable(progress):
        return progress
    raise TypeError(f"progress is {progress!r}, which cannot be called and is not True")


@contextmanager
def told(progress: Told | bool | None, pixels: int) -> Generator[Told | None, None, None]:
    """Give the function that the engine tells the fraction done, and close the bar, if there is one, at the end.

    Parameters
    ----------
    progress : callable, bool or None
        What `check` returned.
    pixels : int
        How many pixels there are to filter, which the bar counts.

    Raises
    ------
    ImportError
        A bar is asked for, and tqdm is not installed. Nothing has been filtered.

    """
    if not isinstance(progress, bool):
        yield progress
        return
    try:
        from tqdm.auto import tqdm  # noqa: PLC0415 - only who wants a bar needs it
    except ImportError as error:
        raise ImportError("progress=True shows a bar of tqdm, which is not installed: pip install tqdm") from error
    with tqdm(total=pixels, unit="pixel", unit_scale=True, desc="median") as bar:

        def show(fraction: float) -> None:
            bar.update(round(fraction * pixels) - bar.n)

        yield show
