# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch whose memory does not have their values.

PyTorch negates and conjugates lazily: `tensor.conj().imag` is a view of the same memory with a note that the values are
to be negated by whoever reads them.
"""

from __future__ import annotations

import sys
from typing import Any


def is_lazy(array: Any) -> bool:
    """Whether an array is a tensor of PyTorch that is negated or conjugated by whoever reads it."""
    # Whoever has a tensor has imported PyTorch.
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return kind is not None and isinstance(array, kind) and (array.is_neg() or array.is_conj())


def resolve(array: Any) -> Any:
    """Return an array whose memory has its values: the array itself, or a copy of a tensor."""
    return array.resolve_conj().resolve_neg() if is_lazy(array) else array


def check_output(output: Any) -> None:
    """Refuse a tensor that would show others than the values that are written to its memory."""
    if is_lazy(output):
        raise ValueError(
            "output is a tensor that PyTorch negates or conjugates when it is read, so that what is written to its "
            "memory would not be its values; give one of its own, such as that of resolve_conj().resolve_neg()"
        )
