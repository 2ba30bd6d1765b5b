# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch whose memory does not have their values, or not all that there is to them.

PyTorch negates and conjugates lazily: `tensor.conj().imag` is a view of the same memory with a note that the values are
to be negated by whoever reads them. Other tensors stand for what is compiled, exported, batched or differentiated. They
go through PyTorch's operator, which knows what each of these asks for. Nothing here imports PyTorch but that operator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def is_lazy(array: Any) -> bool:
    """Whether an array is a tensor of PyTorch that is negated or conjugated by whoever reads it."""
    # Whoever has a tensor has imported PyTorch.
    return is_tensor(array) and (array.is_neg() or array.is_conj())


def resolve(array: Any) -> Any:
    """Return an array whose memory has its values: the array itself, or a copy of a tensor."""
    return array.resolve_conj().resolve_neg() if is_lazy(array) else array


def read(array: Any) -> np.ndarray:
    """Return what is small and tells of a filter, as a footprint, as an array of NumPy, from wherever it lies."""
    array = resolve(array)
    for name in ("get", "cpu", "copy_to_host"):  # CuPy, PyTorch, Numba
        if hasattr(array, "__cuda_array_interface__") and hasattr(array, name):
            array = getattr(array, name)()
    return np.asarray(array)


def check_output(output: Any) -> None:
    """Refuse a tensor that would show others than the values that are written to its memory."""
    if is_lazy(output):
        raise ValueError(
            "output is a tensor that PyTorch negates or conjugates when it is read, so that what is written to its "
            "memory would not be its values; give one of its own, such as that of resolve_conj().resolve_neg()"
        )


def _ask_pytorch() -> bool:
    """Whether PyTorch's compiler reads a call and does not run it, where PyTorch is."""
    torch: Any = sys.modules.get("torch")
    try:
        return torch is not None and torch.compiler.is_dynamo_compiling()
    except AttributeError:  # PyTorch before 2.2, or one that another thread still imports
        return False


# The same. Once a tensor has come this is PyTorch's own function, since each call on an array other than NumPy's asks.
# That is False wherever Python runs, and the compiler takes it for True.
is_compiling: Callable[[], bool] = _ask_pytorch


def is_tensor(array: Any) -> bool:
    """Whether an array is a tensor of PyTorch."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return kind is not None and isinstance(array, kind)


def _is_watched(tensor: Any, torch: Any) -> bool:
    """Whether a tensor is more than its memory: its class, its gradient, or who watches what is done with it.

    A class is one that is derived from PyTorch's, as those of tensors that stand for others are. Who watches is
    a dispatch mode, as that which writes down a graph, `torch.func` (vmap, grad), `torch.jit.trace`, or forward
    differentiation.
    """
    forward_ad = torch.autograd.forward_ad
    return (
        type(tensor) is not torch.Tensor
        or tensor.requires_grad
        or tensor.is_meta
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
        or torch._C._get_tracing_state() is not None
        or (forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None)
    )


def needs_operator(array: Any, *others: Any) -> bool:
    """Whether an array is a tensor that PyTorch's operator filters: it, or a tensor among others, is watched."""
    global is_compiling
    if not is_tensor(array):
        return False
    torch: Any = sys.modules["torch"]
    is_compiling = getattr(getattr(torch, "compiler", None), "is_dynamo_compiling", is_compiling)
    return any(is_tensor(tensor) and _is_watched(tensor, torch) for tensor in (array, *others))


def filter_tensor(
    function: str, tensor: Any, output: Any, options: dict[str, Any], more: dict[str, Any] | None = None
) -> Any:
    """Filter a tensor through PyTorch's operator, with a function that `cudamedian.torch` names.

    `more` are arguments that the operator does not take; those that are None are not given.
    """
    from . import torch  # noqa: PLC0415 - the package does not need PyTorch

    return torch.filter_tensor(function, tensor, output, options, more or {})
