# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the module remembers in the scene: a parameter node, which is saved with it."""

from __future__ import annotations

from . import kernel
from .kernel import DenoisingError, Kernel

_INPUT = "InputVolume"
_OUTPUT = "OutputVolume"
_TAG = "MedianDenoising"


def parameter_node(scene):
    """Return the module's one parameter node of a scene; it is made if there is none."""
    node = scene.GetSingletonNode(_TAG, "vtkMRMLScriptedModuleNode")
    if node is None:
        node = scene.CreateNodeByClass("vtkMRMLScriptedModuleNode")
        node.UnRegister(None)
        node.SetSingletonTag(_TAG)
        node.SetModuleName(_TAG)
        node.SetName(_TAG)
        node = scene.AddNode(node)
    return node


def write_kernel(node, wanted: Kernel) -> None:
    """Write what a person asks for into a parameter node."""
    modified = node.StartModify()
    node.SetParameter("KernelSize", " ".join(repr(float(size)) for size in wanted.size))
    node.SetParameter("KernelUnit", wanted.unit)
    node.SetParameter("SliceWise", "true" if wanted.slice_wise else "false")
    node.SetParameter("AcquisitionAxis", wanted.acquisition_axis)
    node.EndModify(modified)


def read_kernel(node) -> Kernel:
    """Return what a parameter node holds; what it does not hold is as `Kernel` has it.

    Raises
    ------
    DenoisingError
        A parameter is not what `write_kernel` writes; the text names it.

    """
    values = {}
    for parameter, field, read in (
        ("KernelSize", "size", _numbers),
        ("KernelUnit", "unit", _choice(kernel.UNITS)),
        ("SliceWise", "slice_wise", _truth),
        ("AcquisitionAxis", "acquisition_axis", _choice((kernel.AUTOMATIC, *kernel.AXES))),
    ):
        text = node.GetParameter(parameter)
        if text:
            try:
                values[field] = read(text)
            except ValueError as error:
                raise DenoisingError(f"The scene's parameter {parameter} is '{text}'; it must be {error}.") from None
    return Kernel(**values)


def set_input(node, volume) -> None:
    """Remember the volume to filter, or None."""
    node.SetNodeReferenceID(_INPUT, volume.GetID() if volume else None)


def set_output(node, volume) -> None:
    """Remember the volume to write to, or None."""
    node.SetNodeReferenceID(_OUTPUT, volume.GetID() if volume else None)


def get_input(node):
    """Return the volume to filter, or None."""
    return node.GetNodeReference(_INPUT)


def get_output(node):
    """Return the volume to write to, or None."""
    return node.GetNodeReference(_OUTPUT)


def _numbers(text: str) -> tuple[float, float, float]:
    try:
        numbers = tuple(float(word) for word in text.split())
    except ValueError:
        numbers = ()
    if len(numbers) != 3:
        raise ValueError("three numbers")
    return numbers


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("true or false")
    return text == "true"


def _choice(choices: tuple[str, ...]):
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return text

    return read
