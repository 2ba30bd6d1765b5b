# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Median Denoising with Slicer's own logic of command line modules: run by test_median_denoising.py, not by itself.

usage: run_command_line_engine.py PROGRAM FOLDER

Slicer's logic writes the volumes, starts the program, and reads the result. `ModuleDescription` has no Python wrapping,
so it is filled through ctypes, by the mangled names of the one version of slicer-core that requirements.txt names. This
is a process of its own, since Slicer's processing thread does not end.
"""

import ctypes
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import slicer
import slicer_core

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "slicer" / "MedianDenoising"))

from MedianDenoisingLib import engines, volumes  # noqa: E402
from MedianDenoisingLib.kernel import BALL, VOXELS, DenoisingError, Kernel  # noqa: E402
from MedianDenoisingLib.logic import MedianDenoisingLogic  # noqa: E402
from MedianDenoisingLib.rules import ABSOLUTE, COPIED, Rules  # noqa: E402

LIBRARIES = Path(slicer_core.__file__).parent
KEPT = []


def string(text):
    """Return a std::string of GCC's old ABI, by reference.

    Ahead of the characters are their number, the capacity and a count of references, here one that never comes to 0.
    """
    data = text.encode()
    head = len(data).to_bytes(8, "little") * 2 + (1 << 20).to_bytes(8, "little")
    memory = ctypes.create_string_buffer(head + data)
    pointer = ctypes.c_void_p(ctypes.addressof(memory) + len(head))
    KEPT.extend((memory, pointer))
    return ctypes.byref(pointer)


def describe(program):
    """Return Slicer's ModuleDescription of a program."""
    library = ctypes.CDLL(str(LIBRARIES / "third_party.libs" / "libModuleDescriptionParser.so"))
    xml = subprocess.run([program, "--xml"], capture_output=True, text=True, check=True).stdout
    description = ctypes.create_string_buffer(1 << 16)
    parser = ctypes.create_string_buffer(1 << 12)
    library["_ZN17ModuleDescriptionC1Ev"](ctypes.byref(description))
    parse = library["_ZN23ModuleDescriptionParser5ParseERKSsR17ModuleDescription"]
    assert parse(ctypes.byref(parser), string(xml), ctypes.byref(description)) == 0, "Slicer does not accept the XML"
    for setter, value in (("7SetType", "CommandLineModule"), ("9SetTarget", program), ("11SetLocation", program)):
        library[f"_ZN17ModuleDescription{setter}ERKSs"](ctypes.byref(description), string(value))
    return description


def run_with_rules(scene, logic, engine, source, array):
    """Filter with a ball, a mask, an ignored value and outliers, all of which go through Slicer's files."""
    counts = np.random.default_rng(2).integers(0, 2, array.shape).astype(np.uint8)
    array[::2, ::3, ::4] = -5
    mask = scene.AddNewNodeByClass("vtkMRMLLabelMapVolumeNode", "mask")
    mask.SetAndObserveImageData(volumes.image_of(counts))
    mask.SetSpacing(source.GetSpacing())
    wanted = Kernel(shape=BALL, ball_radius=0.65)
    asked = Rules("-5", COPIED, ABSOLUTE, 700)
    result = logic.run(engine, source, None, wanted, asked=asked, mask=mask)
    # A ball of 0.65 mm in voxels of 0.5 x 0.6 x 2 mm is the voxel and its four neighbours in the slice.
    valid = (counts != 0) & (array != -5)
    expected = array.copy()
    for place in zip(*np.nonzero(valid), strict=True):
        seen = []
        for step in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)):
            near = place[0], *(np.clip(place[a + 1] + step[a], 0, array.shape[a + 1] - 1) for a in range(2))
            if valid[near]:
                seen.append(int(array[near]))
        median = sorted(seen)[len(seen) // 2]
        if abs(int(array[place]) - median) > 700:
            expected[place] = median
    assert not np.array_equal(expected, array)
    assert np.array_equal(volumes.voxels(result.node), expected)
    scene.RemoveNode(result.node)
    scene.RemoveNode(mask)


def main(program, folder):
    """Filter, fail and cancel, each time with what must hold afterwards."""
    scene = slicer.vtkMRMLScene()
    cache = slicer.vtkCacheManager()
    cache.SetRemoteCacheDirectory(folder)
    cache.SetMRMLScene(scene)
    scene.SetCacheManager(cache)
    data_io = slicer.vtkDataIOManager()
    data_io.SetCacheManager(cache)
    scene.SetDataIOManager(data_io)
    application = slicer.vtkSlicerApplicationLogic()
    application.SetMRMLScene(scene)
    application.SetTemporaryPath(folder)
    application.CreateProcessingThread()
    module = slicer.vtkSlicerCLIModuleLogic()
    module.SetMRMLApplicationLogic(application)
    module.SetMRMLScene(scene)
    description = describe(program)
    set_description = ctypes.CDLL(str(LIBRARIES / "libMRMLCLI.so"))[
        "_ZN28vtkMRMLCommandLineModuleNode20SetModuleDescriptionERK17ModuleDescription"
    ]

    def start(parameters):
        run = slicer.vtkMRMLCommandLineModuleNode()
        address = int(run.GetAddressAsString("").split("=")[-1], 16)
        set_description(ctypes.c_void_p(address), ctypes.byref(description))
        scene.AddNode(run)
        for name, value in parameters.items():
            (run.SetParameterAsString if isinstance(value, str) else run.SetParameterAsNode)(name, value)
        module.Apply(run, False)
        return run

    def pump():
        application.ProcessModified()
        application.ProcessReadData()

    array = np.random.default_rng(1).integers(-1000, 1000, (9, 10, 11)).astype(np.int16)
    source = scene.AddNewNodeByClass("vtkMRMLScalarVolumeNode", "scan")
    source.SetAndObserveImageData(volumes.image_of(array))
    source.SetSpacing(0.5, 0.6, 2)
    logic = MedianDenoisingLogic(scene)
    engine = engines.CommandLineEngine(scene, start, pump)

    result = logic.run(engine, source, None, Kernel((3, 5, 7), VOXELS))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(array, ((3, 3), (2, 2), (1, 1)), mode="edge"), (7, 5, 3))
    assert np.array_equal(volumes.voxels(result.node), np.median(windows, axis=(3, 4, 5)))
    assert "Ran on" in result.in_words(), result.report

    run_with_rules(scene, logic, engine, source, volumes.voxels(source))

    failing = engines.CommandLineEngine(scene, lambda given: start({**given, "backend": "quantum"}), pump)
    try:
        logic.run(failing, source, None, Kernel())
        raise AssertionError("a backend that is none was accepted")
    except DenoisingError as error:
        assert "quantum" in str(error), error
        assert "\n" not in str(error), error

    try:
        logic.run(engine, source, None, Kernel(), lambda fraction: True)
        raise AssertionError("the run was not cancelled")
    except engines.Cancelled:
        pass

    scalars = {scene.GetNthNode(number).GetName() for number in range(scene.GetNumberOfNodes())}
    assert {name for name in scalars if "olume" in name or "median" in name} == {"scan median"}, scalars
    print("done")


if __name__ == "__main__":
    status = 1
    try:
        main(os.path.abspath(sys.argv[1]), sys.argv[2])
        status = 0
    finally:
        if status:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
