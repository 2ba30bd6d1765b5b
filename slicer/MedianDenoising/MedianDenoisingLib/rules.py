# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Which voxels count, and which are replaced: an ignored value and outliers, as a person asks for them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from .kernel import DenoisingError

# What becomes of voxels that do not count.
COMPUTED = "computed"
COPIED = "copied"
INVALID_OUTPUTS = (COMPUTED, COPIED)

# Which voxels are replaced.
EVERY = "every"
ABSOLUTE = "absolute"
DEVIATIONS = "deviations"
REPLACED = (EVERY, ABSOLUTE, DEVIATIONS)


@dataclasses.dataclass(frozen=True)
class Rules:
    """What a person asks for beside the kernel and the mask.

    Parameters
    ----------
    ignored
        A value whose voxels do not count, as it was typed; empty: all count.
    invalid_output
        What voxels that do not count become: `COMPUTED`, the median of those around them that count, or `COPIED`.
    replaced
        Which voxels become their median: `EVERY` one, those farther from it than a distance (`ABSOLUTE`), or than a
        number of median absolute deviations of their window (`DEVIATIONS`).
    threshold
        The distance, or the number of deviations.

    """

    ignored: str = ""
    invalid_output: str = COMPUTED
    replaced: str = EVERY
    threshold: float = 3.0

    @property
    def outliers(self) -> str:
        """The outliers as the command line writes them: "100", "3mad", or nothing for every voxel."""
        if self.replaced == EVERY:
            return ""
        number = np.format_float_positional(self.threshold, trim="-")
        return f"{number}mad" if self.replaced == DEVIATIONS else number

    def __str__(self) -> str:
        """Return what differs from the plain median: "ignored: -1024; outliers beyond 3 MAD"."""
        parts = []
        if self.ignored.strip():
            parts.append(f"ignored: {self.ignored.strip()}")
        if self.invalid_output == COPIED:
            parts.append("voxels that do not count are copied")
        if self.replaced != EVERY:
            unit = " MAD" if self.replaced == DEVIATIONS else ""
            parts.append(f"outliers beyond {self.threshold:.6g}{unit}")
        return "; ".join(parts)

    def ignored_value(self, dtype: np.dtype) -> int | float | None:
        """Return the ignored value as voxels of a type have it, or None where there is none.

        Raises
        ------
        DenoisingError
            It is no number, or such voxels cannot hold it.

        """
        text = self.ignored.strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            raise DenoisingError(f"The ignored value is '{text}'; it must be a number.") from None
        if not math.isfinite(value):
            raise DenoisingError(f"The ignored value is '{text}'; it must be finite.")
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                held = dtype.type(value)
            if not np.isfinite(held):
                raise DenoisingError(f"The ignored value is {text}, which voxels of type {dtype} do not hold.")
            return float(held)
        limits = np.iinfo(dtype)
        try:
            whole = int(text)
        except ValueError:
            whole = int(value) if value.is_integer() else None
        if whole is None or not limits.min <= whole <= limits.max:
            raise DenoisingError(
                f"The ignored value is {text}, which voxels of type {dtype} do not hold: they are whole numbers from "
                f"{limits.min} to {limits.max}."
            )
        return whole


# All voxels count, and all are replaced.
NO_RULES = Rules()


def check(rules: Rules, dtype: np.dtype, name: str, is_label_map: bool) -> None:
    """Say in words what cannot be asked of a volume.

    Raises
    ------
    DenoisingError
        It cannot be done; the text says why.

    """
    if rules.invalid_output not in INVALID_OUTPUTS:
        raise DenoisingError(
            f"Voxels that do not count are to be '{rules.invalid_output}'; the choices are "
            f"{' and '.join(INVALID_OUTPUTS)}."
        )
    if rules.replaced not in REPLACED:
        raise DenoisingError(f"The voxels to replace are '{rules.replaced}'; the choices are {', '.join(REPLACED)}.")
    rules.ignored_value(dtype)
    if rules.replaced == EVERY:
        return
    if is_label_map:
        raise DenoisingError(
            f"{name} holds labels, and the distance between two labels says nothing; replace every voxel, not outliers "
            "only."
        )
    if not math.isfinite(rules.threshold) or rules.threshold < 0:
        raise DenoisingError(f"Outliers are farther than {rules.threshold:g} from the median; it must be 0 or more.")
