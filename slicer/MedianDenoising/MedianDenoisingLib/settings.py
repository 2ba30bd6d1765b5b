# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the module remembers in the scene: a parameter node, which is saved with it."""

from __future__ import annotations

from . import kernel, rules
from .kernel import DenoisingError, Kernel
from .rules import Rules

_INPUT = "InputVolume"
_OUTPUT = "OutputVolume"
_MASK = "Mask"
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
    node.SetParameter("KernelShape", wanted.shape)
    node.SetParameter("BallRadius", repr(float(wanted.ball_radius)))
    node.EndModify(modified)


def read_kernel(node) -> Kernel:
    """Return what a parameter node holds; what it does not hold is as `Kernel` has it.

    Raises
    ------
    DenoisingError
        A parameter is not what `write_kernel` writes; the text names it.

    """
    return Kernel(
        **_read(
            node,
            ("KernelSize", "size", _numbers),
            ("KernelUnit", "unit", _choice(kernel.UNITS)),
            ("SliceWise", "slice_wise", _truth),
            ("AcquisitionAxis", "acquisition_axis", _choice((kernel.AUTOMATIC, *kernel.AXES))),
            ("KernelShape", "shape", _choice(kernel.SHAPES)),
            ("BallRadius", "ball_radius", _number),
        )
    )


def write_rules(node, asked: Rules) -> None:
    """Write which voxels count, and which are replaced, into a parameter node."""
    modified = node.StartModify()
    node.SetParameter("IgnoredValue", asked.ignored)
    node.SetParameter("InvalidOutput", asked.invalid_output)
    node.SetParameter("Replaced", asked.replaced)
    node.SetParameter("OutlierThreshold", repr(float(asked.threshold)))
    node.EndModify(modified)


def read_rules(node) -> Rules:
    """Return what a parameter node holds; what it does not hold is as `Rules` has it.

    Raises
    ------
    DenoisingError
        A parameter is not what `write_rules` writes; the text names it.

    """
    return Rules(
        **_read(
            node,
            ("IgnoredValue", "ignored", str),
            ("InvalidOutput", "invalid_output", _choice(rules.INVALID_OUTPUTS)),
            ("Replaced", "replaced", _choice(rules.REPLACED)),
            ("OutlierThreshold", "threshold", _number),
        )
    )


def _read(node, *parameters) -> dict:
    """Return the fields that a parameter node holds, of those with these names, fields, and ways to read them."""
    values = {}
    for parameter, field, read in parameters:
        text = node.GetParameter(parameter)
        if text:
            try:
                values[field] = read(text)
            except ValueError as error:
                raise DenoisingError(f"The scene's parameter {parameter} is '{text}'; it must be {error}.") from None
    return values


def set_input(node, volume) -> None:
    """Remember the volume to filter, or None."""
    node.SetNodeReferenceID(_INPUT, volume.GetID() if volume else None)


def set_output(node, volume) -> None:
    """Remember the volume to write to, or None."""
    node.SetNodeReferenceID(_OUTPUT, volume.GetID() if volume else None)


def set_mask(node, mask) -> None:
    """Remember the segmentation or the label map whose voxels count, or None."""
    node.SetNodeReferenceID(_MASK, mask.GetID() if mask else None)


def get_input(node):
    """Return the volume to filter, or None."""
    return node.GetNodeReference(_INPUT)


def get_output(node):
    """Return the volume to write to, or None."""
    return node.GetNodeReference(_OUTPUT)


def get_mask(node):
    """Return the segmentation or the label map whose voxels count, or None."""
    return node.GetNodeReference(_MASK)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


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
