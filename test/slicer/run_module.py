# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Runs a command line module through 3D Slicer's own logic, once; run by test_command_line_module.py, not by itself.

usage: run_module.py CASE.json RESULT.json

It is a process of its own, since Slicer's processing thread does not end. `ModuleDescription` has no Python wrapping:
it is filled through ctypes, by the mangled names of the one version of slicer-core that requirements.txt names.
"""

import ctypes
import json
import os
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import slicer
import slicer_core
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

# Slicer gives the thread that runs modules, and thereby this process and the module, the least priority: beside a
# compiler they would take minutes.
os.environ["SLICER_BACKGROUND_THREAD_PRIORITY"] = "0"

LIBRARIES = Path(slicer_core.__file__).parent
KEPT = []


def old_string(text):
    """Return a std::string of GCC's old ABI, by reference: length, capacity, a count that never ends, characters."""
    data = text.encode()
    head = b"".join(number.to_bytes(8, "little") for number in (len(data), len(data), 1 << 20))
    memory = ctypes.create_string_buffer(head + data)
    pointer = ctypes.c_void_p(ctypes.addressof(memory) + len(head))
    KEPT.extend((memory, pointer))
    return ctypes.byref(pointer)


def describe(xml, target):
    """Return what Slicer's parser makes of a description, or None where it refuses it."""
    library = ctypes.CDLL(str(LIBRARIES / "third_party.libs" / "libModuleDescriptionParser.so"))
    description = ctypes.create_string_buffer(1 << 16)
    parser = ctypes.create_string_buffer(1 << 12)
    KEPT.append(description)
    library["_ZN17ModuleDescriptionC1Ev"](ctypes.byref(description))
    parse = library["_ZN23ModuleDescriptionParser5ParseERKSsR17ModuleDescription"]
    if parse(ctypes.byref(parser), old_string(xml), ctypes.byref(description)) != 0:
        return None
    for setter, value in (("7SetType", "CommandLineModule"), ("9SetTarget", target), ("11SetLocation", target)):
        library[f"_ZN17ModuleDescription{setter}ERKSs"](ctypes.byref(description), old_string(value))
    return description


def make_scene(folder, cache_folder):
    """Return a scene, its application logic and the logic of modules, with a cache apart from temporary files."""
    scene = slicer.vtkMRMLScene()
    cache = slicer.vtkCacheManager()
    cache.SetRemoteCacheDirectory(cache_folder)
    cache.SetMRMLScene(scene)
    scene.SetCacheManager(cache)
    data_io = slicer.vtkDataIOManager()
    data_io.SetCacheManager(cache)
    scene.SetDataIOManager(data_io)
    application = slicer.vtkSlicerApplicationLogic()
    application.SetMRMLScene(scene)
    application.SetTemporaryPath(folder)
    application.CreateProcessingThread()
    logic = slicer.vtkSlicerCLIModuleLogic()
    logic.SetMRMLApplicationLogic(application)
    logic.SetMRMLScene(scene)
    KEPT.extend((scene, cache, data_io, application, logic))
    return scene, application, logic


def matrix_of(node):
    """Return the matrix from voxels to Slicer's space."""
    matrix = vtk.vtkMatrix4x4()
    node.GetIJKToRASMatrix(matrix)
    return [[matrix.GetElement(row, column) for column in range(4)] for row in range(4)]


def add_volume(scene, case):
    """Add the volume of a case, with the axes z, y, x and, for a vector volume, the components."""
    voxels = np.load(case["voxels"])
    components = voxels.shape[3] if voxels.ndim == 4 else 1
    image = vtk.vtkImageData()
    image.SetDimensions(*voxels.shape[2::-1])
    image.GetPointData().SetScalars(numpy_to_vtk(voxels.reshape(-1, components), deep=True))
    node = scene.AddNewNodeByClass(case["class"], "input")
    node.SetAndObserveImageData(image)
    matrix = vtk.vtkMatrix4x4()
    matrix.DeepCopy(np.ravel(case["matrix"]))
    node.SetIJKToRASMatrix(matrix)
    return node


def run(case):
    """Run the module as the case says and return what Slicer knows then."""
    description = describe(case["xml"], case["program"])
    if description is None:
        return {"parsed": False}
    scene, application, logic = make_scene(case["folder"], case["cache"])
    node = slicer.vtkMRMLCommandLineModuleNode()
    address = int(node.GetAddressAsString("").split("=")[-1], 16)
    ctypes.CDLL(str(LIBRARIES / "libMRMLCLI.so"))[
        "_ZN28vtkMRMLCommandLineModuleNode20SetModuleDescriptionERK17ModuleDescription"
    ](ctypes.c_void_p(address), ctypes.byref(description))
    scene.AddNode(node)
    target = scene.AddNewNodeByClass(case["class"], "output")
    if "voxels" in case:
        node.SetParameterAsNode("inputVolume", add_volume(scene, case))
    node.SetParameterAsNode("outputVolume", target)
    for name, value in case["parameters"].items():
        node.SetParameterAsString(name, value)

    progress = []
    seconds_to_cancel = None
    seen = ""
    logic.Apply(node, False)
    deadline = time.monotonic() + case["limit"]
    while node.IsBusy() and time.monotonic() < deadline:
        application.ProcessModified()
        application.ProcessReadData()
        if not progress or node.GetProgress() != progress[-1]:
            progress.append(node.GetProgress())
        if "cancel" in case and seconds_to_cancel is None and progress[-1] >= case["cancel"]:
            seen = " ".join(processes_of(case["folder"]))
            started = time.monotonic()
            node.Cancel()
            while (node.IsBusy() or processes_of(case["folder"])) and time.monotonic() < deadline:
                application.ProcessModified()
                time.sleep(0.01)
            seconds_to_cancel = time.monotonic() - started
        time.sleep(0.005)
    # What was read back is applied to the nodes by the requests that are still in the queue.
    for _ in range(100):
        application.ProcessModified()
        application.ProcessReadData()
        time.sleep(0.005)
    result = {
        "parsed": True,
        "status": node.GetStatusString(),
        "output": node.GetOutputText(),
        "error": node.GetErrorText(),
        "report": node.GetParameterAsString("report"),
        "progress": [*progress, node.GetProgress()],
        "seconds_to_cancel": seconds_to_cancel,
        "processes_before": seen,
        "processes": processes_of(case["folder"]),
        "files": sorted(str(path.relative_to(case["folder"])) for path in Path(case["folder"]).rglob("*")),
    }
    image = target.GetImageData()
    if image is not None and image.GetNumberOfPoints() > 0:
        voxels = vtk_to_numpy(image.GetPointData().GetScalars())
        np.save(case["result"], voxels.reshape(*image.GetDimensions()[::-1], *voxels.shape[1:]))
        result["matrix"] = matrix_of(target)
    return result


def processes_of(folder):
    """Return the numbers of the other processes that were started with files of a folder: the module and its copies."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and int(entry.name) != os.getpid()
                and f"{folder}/".encode() in (entry / "cmdline").read_bytes()
            ):
                found.append(entry.name)
        except OSError:
            pass  # It has ended meanwhile.
    return found


if __name__ == "__main__":
    status = 1
    try:
        outcome = run(json.loads(Path(sys.argv[1]).read_text()))
        Path(sys.argv[2]).write_text(json.dumps(outcome))
        status = 0
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
