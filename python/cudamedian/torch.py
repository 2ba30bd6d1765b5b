# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The filters as an operator of PyTorch, `torch.ops.cudamedian.filter`.

The functions of `cudamedian`, `cudamedian.ndimage` and `cudamedian.skimage` call it themselves, for tensors in
`torch.compile`, `torch.export`, `torch.vmap` and `torch.func`, and for those that need a gradient or have a class of
their own. Import this module before `torch.export.load`: an exported program names the operator.

No gradient flows through. The result of a tensor that needs one needs one, too, and `backward()` raises a RuntimeError
that says so; give the filter `tensor.detach()` where that is meant. `vmap` takes its axis for one of many images, and
filters them in one call where the window is the same for all.

Arguments that say what the filter is are a part of the graph: numbers, names and sequences of them. Footprints, weights
and masks are tensors in it. `output` may be a tensor of the input's shape and type. PyTorch is 2.4 or later.
"""

from __future__ import annotations

import inspect
import json
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from . import _engine, _filter, _types, ndimage

__all__ = []

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "median_filter": _filter.median_filter,
    **{f"ndimage.{name}": getattr(ndimage, name) for name in ndimage.__all__},
}

# Arguments that are tensors, in the operator's order.
_TENSORS = ("footprint", "weights", "mask")


def _read(arguments: str) -> dict[str, Any]:
    """Return the arguments that a graph has as text."""
    options: dict[str, Any] = json.loads(arguments)
    return {name: tuple(value) if _types.is_items(value) else value for name, value in options.items()}


@torch.library.custom_op(
    "cudamedian::filter",
    mutates_args=(),
    schema="(Tensor input, Tensor? footprint, Tensor? weights, Tensor? mask, str function, str arguments) -> Tensor",
)
def _operator(
    input: torch.Tensor,  # noqa: A002 - the functions' name
    footprint: torch.Tensor | None,
    weights: torch.Tensor | None,
    mask: torch.Tensor | None,
    function: str,
    arguments: str,
) -> torch.Tensor:
    """Filter a tensor that has its values in memory."""
    options = _read(arguments)
    for name, tensor in zip(_TENSORS, (footprint, weights, mask), strict=True):
        if tensor is not None:
            plain = tensor.as_subclass(torch.Tensor).detach()
            # The mask of a tensor in device memory lies there, too.
            options[name] = plain if name == "mask" and input.is_cuda else plain.cpu().numpy()
    return _FUNCTIONS[function](input.as_subclass(torch.Tensor).detach(), **options)


@_operator.register_fake
def _check(
    input: torch.Tensor,  # noqa: A002
    footprint: torch.Tensor | None,
    weights: torch.Tensor | None,
    mask: torch.Tensor | None,
    function: str,
    arguments: str,
) -> torch.Tensor:
    """Return a tensor like the result; raise what the function does for wrong arguments, whatever the values are."""
    name = str(input.dtype).removeprefix("torch.")
    if name not in ("bool", *_engine.PIXEL_TYPES):
        raise TypeError(
            f"pixels of type {input.dtype} have no median here; the types are {', '.join(_engine.PIXEL_TYPES)}"
        )
    options = _read(arguments)
    # Of tensors nobody knows the values now.
    for key, tensor in (("footprint", footprint), ("weights", weights)):
        if tensor is not None:
            options[key] = np.ones([int(extent) for extent in tensor.shape], np.uint8)
    # An array without pixels: what is wrong is found, and nothing is done.
    _FUNCTIONS[function](np.empty((0,) * input.ndim, name), **options)
    return input.new_empty(input.shape)


@torch.library.custom_op("cudamedian::no_gradient", mutates_args=(), schema="(Tensor gradient) -> Tensor")
def _no_gradient(gradient: torch.Tensor) -> torch.Tensor:
    """Say that there is none. An operator, so that a graph with it can be compiled, and says so when it runs."""
    raise RuntimeError(
        "the filters of cudamedian have no gradient: give them tensor.detach(), or call them in torch.no_grad()"
    )


_no_gradient.register_fake(torch.empty_like)


def _batched(arguments: str, axes: int) -> str:
    """Return the arguments for images of so many axes behind one that counts them."""
    options = _read(arguments)
    given = options.get("axes")
    chosen = tuple(range(axes)) if given is None else (given,) if isinstance(given, int) else given
    return json.dumps({**options, "axes": [axis if axis < 0 else axis + 1 for axis in chosen]})


class _Filter(torch.autograd.Function):
    """The operator, with what `torch.func` and differentiation ask for."""

    @staticmethod
    def forward(*given: Any) -> torch.Tensor:
        """Call the operator."""
        return _operator(*given)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        """Keep nothing: there is no gradient."""

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Raise a RuntimeError, when the graph runs."""
        return _no_gradient(gradient), None, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        """Raise a RuntimeError."""
        return _no_gradient(tangents[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *given: Any) -> tuple[torch.Tensor, int]:
        """Filter many images, in one call where they have one window and no mask."""
        tensors, (function, arguments) = given[:4], given[4:]
        if in_dims[0] is not None and in_dims[1:4] == (None, None, None) and tensors[3] is None:
            images = tensors[0].movedim(in_dims[0], 0)
            return _Filter.apply(images, *tensors[1:], function, _batched(arguments, images.ndim - 1)), 0
        pairs = list(zip(tensors, in_dims, strict=False))
        results: list[torch.Tensor] = []
        for number in range(info.batch_size):
            some = [tensor if axis is None else tensor.select(axis, number) for tensor, axis in pairs]
            results.append(_Filter.apply(*some, function, arguments))
        return torch.stack(results), 0


def _plain(value: Any) -> Any:
    """Return a number as JSON has it."""
    if isinstance(value, (torch.SymInt, numbers.Integral)):
        return int(value)
    if isinstance(value, (torch.SymFloat, numbers.Real)):
        return float(value)
    kind = "tensor" if isinstance(value, torch.Tensor) else type(value).__name__
    raise TypeError(
        f"an argument is of type {kind}; in PyTorch's operator it is a number, a name, or a sequence of them"
    )


# What PyTorch's compiler does not read: it calls this with tensors that have shapes alone.
@torch.compiler.allow_in_graph
def _filter_in_graph(function: str, tensor: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """Call the operator, with the arguments as text."""
    given = [options.get(name) for name in _TENSORS]
    tensors = [None if value is None else torch.as_tensor(value) for value in given]
    parameters = inspect.signature(_FUNCTIONS[function]).parameters
    plain = {
        name: value for name, value in options.items() if name not in _TENSORS and value is not parameters[name].default
    }
    return _Filter.apply(tensor, *tensors, function, json.dumps(plain, default=_plain))


# What PyTorch's compiler leaves to Python.
@torch.compiler.disable
def _filter_in_python(function: str, tensor: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    """Call a function as if nobody compiled it."""
    return _FUNCTIONS[function](tensor, **options)


def filter_tensor(
    function: str, tensor: torch.Tensor, output: Any, options: dict[str, Any], more: dict[str, Any]
) -> torch.Tensor:
    """Filter a tensor with a function and its arguments by name; see `_tensors.filter_tensor`."""
    if any(value is not None for value in more.values()):
        if torch.compiler.is_dynamo_compiling():
            return _filter_in_python(function, tensor, {**options, **more, "output": output})
        raise TypeError(f"a tensor that goes through PyTorch's operator takes none of {', '.join(more)}")
    result = _filter_in_graph(function, tensor, options)
    if output is None:
        return result
    if not isinstance(output, torch.Tensor):
        raise TypeError(f"output is of type {type(output).__name__}; in PyTorch's operator it is a tensor or None")
    if output.shape != tensor.shape or output.dtype != tensor.dtype or output.device != tensor.device:
        raise ValueError(
            f"output has shape {tuple(output.shape)} and type {output.dtype} on {output.device}, "
            f"but the input has {tuple(tensor.shape)} and {tensor.dtype} on {tensor.device}"
        )
    output.copy_(result)
    return output
