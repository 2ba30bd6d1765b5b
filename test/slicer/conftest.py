# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the module Median Denoising share: the definition, volumes of a scene, and both ways to compute."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import slicer
import vtk

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "slicer" / "MedianDenoising"))

from MedianDenoisingLib import engines, rules, volumes  # noqa: E402
from MedianDenoisingLib.kernel import Window  # noqa: E402
from MedianDenoisingLib.logic import MedianDenoisingLogic  # noqa: E402


def request_of(radius, spacing=(1.0, 1.0, 1.0), **given):
    """Return the request for a box, whose radius is along the axes of an array."""
    return engines.Request(Window(tuple(reversed(radius)), spacing), **given)


def medians_of(array, radius):
    """Return the middle value of each window, with the border repeated outwards: the definition."""
    padded = np.pad(array, [(r, r) for r in radius], mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, [2 * r + 1 for r in radius])
    values = np.sort(windows.reshape(*array.shape, -1), axis=-1)
    return values[..., values.shape[-1] // 2]


def middle_of(values, valid):
    """Return the upper middle one of the values that count, along the last axis; there is one at least."""
    order = np.lexsort((values, ~valid), axis=-1)
    middle = np.maximum(np.count_nonzero(valid, axis=-1), 1) // 2
    return np.take_along_axis(np.take_along_axis(values, order, -1), middle[..., None], -1)[..., 0]


def filtered(array, request):
    """Return what a request asks for, by the definition of each of its parts."""
    window, asked = request.window, request.rules
    footprint = np.ones(tuple(reversed(window.size)), bool) if window.footprint is None else window.footprint
    valid = np.ones(array.shape, bool) if request.mask is None else request.mask != 0
    ignored = asked.ignored_value(array.dtype)
    if ignored is not None:
        valid = valid & (array != array.dtype.type(ignored))
    seen = []
    for pixels in (array, valid):
        padded = np.pad(pixels, [(r, r) for r in window.array_radius], mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, footprint.shape)
        seen.append(windows[..., footprint])
    values, counts = seen
    medians = np.where(counts.any(axis=-1), middle_of(values, counts), array)
    result = medians.copy()
    if asked.replaced != rules.EVERY:
        wide = np.float32 if array.dtype == np.float32 else np.float64
        distances = np.abs(values.astype(wide) - medians[..., None].astype(wide))
        limit = asked.threshold
        if asked.replaced == rules.DEVIATIONS:
            limit = limit * middle_of(distances, counts).astype(float)
        inside = np.abs(array.astype(wide) - medians.astype(wide)).astype(float) <= limit
        result = np.where(valid & inside, array, medians)
    return np.where(valid, result, array) if asked.invalid_output == rules.COPIED else result


class ReferenceEngine:
    """Filters by the definition, and remembers what it was given."""

    name = "reference"

    def __init__(self):
        """Nothing was given yet."""
        self.shapes = []
        self.radii = []
        self.requests = []

    def filter(self, source, request, target, progress):
        """As the engines do."""
        self.shapes.append(source.shape)
        self.radii.append(request.window.array_radius)
        self.requests.append(request)
        if progress is not None and progress(0.5):
            raise engines.Cancelled
        target[...] = filtered(source, request)
        return "Device: host"


@pytest.fixture
def scene():
    """Return an empty scene."""
    return slicer.vtkMRMLScene()


@pytest.fixture
def logic(scene):
    """Return the module's logic."""
    return MedianDenoisingLogic(scene)


OBLIQUE = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])


def add_volume(scene, array, spacing=(0.5, 0.6, 2.0), directions=OBLIQUE, name="scan", kind="vtkMRMLScalarVolumeNode"):
    """Return a new volume's node, turned in space."""
    node = scene.AddNewNodeByClass(kind, name)
    node.SetAndObserveImageData(volumes.image_of(array))
    placement = np.eye(4)
    placement[:3, :3] = directions * np.array(spacing)
    placement[:3, 3] = (-12.5, 40.0, 7.25)
    volumes.set_ijk_to_ras(node, placement)
    node.CreateDefaultDisplayNodes()
    return node


def noise(shape=(7, 8, 9), dtype=np.int16, seed=1):
    """Return random voxels over the whole range of a type."""
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return generator.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def add_transform(scene, matrix):
    """Return a new linear transform's node."""
    node = scene.AddNewNodeByClass("vtkMRMLLinearTransformNode")
    values = vtk.vtkMatrix4x4()
    values.DeepCopy(matrix.ravel())
    node.SetMatrixTransformToParent(values)
    return node


@pytest.fixture(scope="session")
def program():
    """Return the path of the command line module's program."""
    path = os.environ.get("CUDAMEDIAN_COMMAND_LINE_PROGRAM")
    if not path:
        pytest.skip("CUDAMEDIAN_COMMAND_LINE_PROGRAM does not say where the program CudaMedianImageFilter is")
    return Path(path)


@pytest.fixture(scope="session")
def package_engine(program, tmp_path_factory):
    """Load the Python package of this checkout with the engine that the program was built with.

    The wheel has the C interface inside ITK's wrapping; here it is compiled by itself, from the same file.
    """
    build = program.resolve().parents[1]
    library = build / "src"
    if shutil.which("c++") is None or not (library / "libCudaMedian.so").exists():
        pytest.skip(f"there is no C++ compiler, or no shared library in {library}")
    site = tmp_path_factory.mktemp("site")
    (site / "itk").mkdir()
    source = ROOT / "wrapping" / "CudaMedianCInterface.cxx"
    includes = [f"-I{ROOT / 'include'}", f"-I{library / 'include'}"]
    linked = ["-L", str(library), "-lCudaMedian", f"-Wl,-rpath,{library}"]
    output = site / "itk" / "_CudaMedianPython.abi3.so"
    command = ["c++", "-std=c++17", "-O1", "-shared", "-fPIC", *includes, str(source), "-o", str(output), *linked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    added = [str(site), str(ROOT / "python")]
    sys.path[:0] = added
    try:
        engine, reason = engines.load_package()
        assert engine is not None, reason
        yield engine
    finally:
        for path in added:
            sys.path.remove(path)
        for name in [name for name in sys.modules if name.split(".")[0] in ("cudamedian", "itk_cuda_median")]:
            del sys.modules[name]


class ProgramRun(slicer.vtkMRMLCommandLineModuleNode):
    """Slicer's node of a run. What Slicer's application does is done here: files, a process, the output read back."""

    @classmethod
    def start(cls, program, folder, parameters, scene):
        """Run the program with the module's parameters, as Slicer's node with this behaviour in the scene."""
        run = cls()
        scene.AddNode(run)
        run._result = parameters["outputVolume"]
        run._folder = folder
        command = [program, "--radius", parameters["neighborhood"], "--backend", parameters["backend"]]
        for name, flag in (
            ("ball", "--ball"),
            ("ignoredValue", "--ignore"),
            ("outliers", "--outliers"),
            ("invalidOutput", "--invalid"),
        ):
            command += [flag, parameters[name]] if name in parameters else []
        if "maskVolume" in parameters:
            command += ["--mask", run._write(parameters["maskVolume"], "mask.mha")]
        run._output = folder / "out.mha"
        command += [run._write(parameters["inputVolume"], "in.mha"), run._output]
        run._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return run

    def _write(self, node, name):
        """Write a volume with its spacing, as Slicer does, and return its path."""
        image = vtk.vtkImageData()
        image.ShallowCopy(node.GetImageData())
        image.SetSpacing(node.GetSpacing())
        writer = vtk.vtkMetaImageWriter()
        writer.SetInputData(image)
        writer.SetFileName(str(self._folder / name))
        writer.Write()
        return self._folder / name

    def IsBusy(self):  # noqa: N802
        """Whether the process runs; once it has ended well, its output is read."""
        if self._process.poll() is None:
            return True
        if self._process.returncode == 0 and self._result.GetImageData() is None:
            reader = vtk.vtkMetaImageReader()
            reader.SetFileName(str(self._output))
            reader.Update()
            self._result.SetAndObserveImageData(reader.GetOutput())
        return False

    def GetStatus(self):  # noqa: N802
        """Completed, completed with errors, or cancelled."""
        if self._process.returncode == 0:
            return self.Completed
        return self.Cancelled if self._process.returncode < 0 else self.CompletedWithErrors

    def GetErrorText(self):  # noqa: N802
        """Return what the program wrote to stderr."""
        return self._process.stderr.read()

    def Cancel(self):  # noqa: N802
        """As Slicer does."""
        self._process.kill()


@pytest.fixture
def command_line(program, scene, tmp_path):
    """Return the engine that runs the program."""
    return engines.CommandLineEngine(
        scene, lambda parameters: ProgramRun.start(program, tmp_path, parameters, scene), pump=lambda: None
    )


@pytest.fixture(params=["package_engine", "command_line"])
def engine(request):
    """Return one engine after the other."""
    return request.getfixturevalue(request.param)
