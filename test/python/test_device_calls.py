# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Calls on device arrays that are like earlier ones. What needs a GPU skips without one."""

import collections
import ctypes
import gc
import math
import sys
import threading
import time
import types

import numpy as np
import psutil
import pytest

from conftest import import_library, make_array
from cudamedian import MedianError, _device_plans, _engine, _plans, _tensors, median_filter, ndimage

pytestmark = pytest.mark.usefixtures("calls")

# What `median_filter(array, 3)` looks for a plan with, behind cval and percentile.
PLAIN = (3, None, None, "nearest", 0, None, "upper", "auto", "automatic", 0, None)

# The C function that runs a prepared request.
RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)


class Described(ctypes.Structure):
    """A tensor as DLPack lays it out."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Exchange(ctypes.Structure):
    """The functions in C that PyTorch has for its tensors from 2.10 on, as DLPack lays them out."""

    DESCRIBE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Described))
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("others", ctypes.c_void_p * 4),
        ("describe", DESCRIBE),
        ("get_stream", ctypes.c_void_p),
    ]


def describe(array, found):
    """Tell where a stand-in lies, as PyTorch tells it of a tensor."""
    if array.watched or array.is_meta:
        return -1
    contiguous = tuple(math.prod(array.shape[axis + 1 :]) for axis in range(array.ndim))
    strides = contiguous if array.flags.c_contiguous else contiguous[::-1]
    numbers = ctypes.c_int64 * array.ndim
    # What is one pixel wide may have any stride.
    stepping = [stride if extent > 1 else 77 for stride, extent in zip(strides, array.shape, strict=True)]
    array.told = numbers(*array.shape), numbers(*stepping)
    kind = "iufb".index(array.dtype.kind)
    found[0] = Described(
        *(array.data.ptr - 64, 2 if array.is_cuda else 1, array.data.device_id, array.ndim),
        *((0, 1, 2, 6)[kind], 8 * array.dtype.itemsize, 1, *array.told, 64),
    )
    return 0


def make_capsule(structure, name):
    """Return a capsule with the address of a structure. The name has to live as long."""
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(structure), name, None)


class Memory:
    """Where a stand-in's pixels would lie."""

    next = 4096

    def __init__(self, device):
        """Take an address that no other has."""
        Memory.next += 4096
        self.ptr = Memory.next
        self.device_id = device


class StandIn:
    """An array that looks like one of CuPy and like one of PyTorch, and has no pixels."""

    def __init__(self, shape=(4, 5), dtype="uint8", device=0, contiguous=True, grad=False, negated=False):
        """Describe an array."""
        self.shape, self.dtype, self.ndim = shape, np.dtype(dtype), len(shape)
        self.data = Memory(device)
        self.flags = types.SimpleNamespace(c_contiguous=contiguous)
        self.is_cuda, self.is_meta, self.requires_grad, self.negated = True, False, grad, negated
        self.watched = False

    @property
    def __cuda_array_interface__(self):
        """Say the same as a library's own array does."""
        strides = None if self.flags.c_contiguous else (1, self.shape[0])
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data.ptr, False), "strides": strides}

    def data_ptr(self):
        """As PyTorch, whose tensors of torch.func have no memory."""
        if self.watched:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return self.data.ptr

    def is_contiguous(self):
        """As PyTorch."""
        return self.flags.c_contiguous

    def is_neg(self):
        """As PyTorch."""
        return self.negated

    def is_conj(self):
        """As PyTorch: of real numbers none is."""
        return False

    def resolve_conj(self):
        """As PyTorch."""
        return self

    def resolve_neg(self):
        """As PyTorch: a copy of what is negated."""
        if not self.negated:
            return self
        copy = type(self)(self.shape, self.dtype)
        copy.device = self.device
        return copy

    def get_device(self):
        """As PyTorch."""
        return self.data.device_id


class Library:
    """A library of stand-ins, and what the engine was asked to do with them."""

    def __init__(self, name, monkeypatch):
        """Take the place of a library, and of the engine's device functions. It may have functions in C."""
        name, _, functions = name.partition(" with ")
        self.stream, self.device, self.status, self.watchers, self.trace = 0, 0, 0, 0, None
        self.planned, self.ran, self.through_operator = [], [], []
        self.kind = type(_device_plans._KINDS[name], (StandIn,), {"__module__": name})
        self.exchange = Exchange(1, 3, (ctypes.c_void_p * 4)(), Exchange.DESCRIBE(describe))
        self.name_of_exchange = b"dlpack_exchange_api"
        if functions:
            self.kind.__dlpack_c_exchange_api__ = make_capsule(self.exchange, self.name_of_exchange)
        module = types.ModuleType(name)
        setattr(module, self.kind.__name__, self.kind)
        module.empty_like = lambda array: make(self, array.shape, array.dtype)
        module.ascontiguousarray = module.empty_like
        module.cuda = types.SimpleNamespace(
            get_current_stream=lambda device=0: types.SimpleNamespace(ptr=self.stream),
            current_stream=lambda device: types.SimpleNamespace(cuda_stream=self.stream),
            runtime=types.SimpleNamespace(getDevice=lambda: self.device),
        )
        module._C = types.SimpleNamespace(
            _cuda_getCurrentRawStream=lambda device: self.stream,
            _len_torch_dispatch_stack=lambda: self.watchers,
            _get_tracing_state=lambda: self.trace,
            _functorch=types.SimpleNamespace(is_functorch_wrapped_tensor=lambda tensor: tensor.watched),
        )
        module.autograd = types.SimpleNamespace(forward_ad=types.SimpleNamespace(_current_level=-1))
        self.kind.__array_namespace__ = lambda array: module
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setattr(
            _engine, "run_on_device", lambda *work, **_: self.planned.append((*work[1:3], work[-1])) or ""
        )
        self.function = RUN(lambda handle, *addresses_and_stream: self.run(*addresses_and_stream))
        monkeypatch.setattr(_engine, "PreparedOnDevice", lambda *_, **__: self.prepare())
        monkeypatch.setattr(
            _tensors, "filter_tensor", lambda function, tensor, *_: self.through_operator.append((function, tensor))
        )

    def prepare(self):
        """Return what the engine prepares."""
        address = ctypes.cast(self.function, ctypes.c_void_p).value
        return types.SimpleNamespace(run=self.run, function=address, handle=4096)

    def run(self, *addresses_and_stream):
        """Stand in for the engine."""
        self.ran.append(addresses_and_stream)
        return self.status


class DeviceOfCuPy:
    """The first device, as CuPy's arrays name it."""

    id = 0

    def __enter__(self):
        """Do nothing."""

    def __exit__(self, *error):
        """Do nothing."""


@pytest.fixture(params=["cupy", "torch", "torch with functions"])
def library(request, monkeypatch):
    """Return a library of stand-ins."""
    return Library(request.param, monkeypatch)


@pytest.fixture(params=["torch", "torch with functions"])
def tensors(request, monkeypatch):
    """Return PyTorch, of stand-ins."""
    return Library(request.param, monkeypatch)


def make(library, *arguments, **options):
    """Make a stand-in."""
    array = library.kind(*arguments, **options)
    array.device = DeviceOfCuPy()
    return array


def test_a_call_is_kept_and_taken(library):
    first = median_filter(make(library), 3)
    assert (len(library.planned), library.ran) == (1, [])
    array = make(library)
    result = median_filter(array, size=3)
    assert type(result) is library.kind
    assert result is not first
    assert library.ran == [(array.data.ptr, result.data.ptr, 1)]
    library.stream = 77
    output = make(library)
    assert median_filter(array, 3, output=output) is output
    assert library.ran[1:] == [(array.data.ptr, output.data.ptr, 77)]
    assert len(library.planned) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"size": 5},
        {"size": (3, 1)},
        {"mode": "wrap"},
        {"mode": "constant", "cval": -0.0},
        {"origin": 1},
        {"rank": 2},
        {"percentile": 50},
        {"algorithm": "selection"},
        {"memory": 1 << 20},
        {"axes": 1},
    ],
    ids=str,
)
def test_every_argument_tells(library, options):
    median_filter(make(library), 3)
    median_filter(make(library), **{"size": 3, **options})
    assert (len(library.planned), library.ran) == (2, [])
    median_filter(make(library), **{"size": 3, **options})
    assert len(library.ran) == 1


def test_functions_of_scipy_are_kept_too(library):
    for _ in range(3):
        ndimage.median_filter(make(library), 3)
        ndimage.maximum_filter(make(library), 3)
    assert (len(library.planned), len(library.ran)) == (2, 4)


def test_shapes_and_types_are_not_mixed(library):
    for array in (make(library), make(library, (5, 4)), make(library, dtype="int8"), make(library, (4, 5, 1))):
        median_filter(array, 3)
    assert (len(library.planned), library.ran) == (4, [])
    host = np.zeros((4, 5), np.uint8)
    assert type(median_filter(host, 3)) is np.ndarray
    assert type(median_filter(host, 3)) is np.ndarray
    assert (len(library.planned), library.ran) == (4, [])


def test_outputs_that_are_not_as_the_input(library):
    for _ in range(2):
        median_filter(make(library), 3)
    library.ran.clear()
    for output in (make(library, (5, 4)), make(library, dtype="int8")):
        with pytest.raises(ValueError, match="output has shape"):
            median_filter(make(library), 3, output=output)
    with pytest.raises(ValueError, match="not C-contiguous"):
        median_filter(make(library), 3, output=make(library, contiguous=False))
    with pytest.raises(TypeError, match="cannot be written to"):
        median_filter(make(library), 3, output=np.zeros((4, 5), np.uint8))
    assert library.ran == []


def test_arrays_that_lie_otherwise(library):
    median_filter(make(library), 3)
    copied = make(library, contiguous=False)
    median_filter(copied, 3)
    assert library.ran == []
    assert library.planned[1][0] != copied.data.ptr


def test_a_derived_type_is_not_kept(library):
    class Derived(library.kind):
        pass

    for _ in range(2):
        array = Derived()
        array.device = DeviceOfCuPy()
        median_filter(array, 3)
    assert len(library.planned) + len(library.through_operator) == 2
    assert library.ran == []


def test_a_stream_that_is_named_is_not_kept(library):
    for _ in range(2):
        median_filter(make(library), 3, output=make(library), stream=5)
    assert ([call[2] for call in library.planned], library.ran) == ([5, 5], [])


def test_another_device_is_none_of_cupys_plan(monkeypatch):
    library = Library("cupy", monkeypatch)
    median_filter(make(library), 3)
    library.device = 1
    median_filter(make(library), 3)
    assert (len(library.planned), library.ran) == (2, [])


def test_tensors_with_gradients_are_none_of_pytorchs_plan(tensors):
    library = tensors
    median_filter(make(library), 3)
    tensor = make(library, grad=True)
    median_filter(tensor, 3)
    assert library.through_operator == [("median_filter", tensor)]
    median_filter(make(library), 3, output=make(library, grad=True))
    assert (len(library.planned), library.ran) == (2, [])


@pytest.mark.parametrize("name", ["median", "maximum"])
def test_tensors_that_stand_for_others_are_none_of_pytorchs_plan(tensors, name):
    library = tensors
    function = getattr(ndimage, f"{name}_filter")
    function(make(library), 3)
    tensors = [make(library) for _ in range(4)]
    tensors[0].watched = True
    tensors[1].is_meta, tensors[1].is_cuda = True, False
    for tensor in tensors[:2]:
        function(tensor, 3)
    library.watchers = 1
    function(tensors[2], 3)
    library.watchers, library.trace = 0, object()
    function(tensors[3], 3)
    assert library.through_operator == [(f"ndimage.{name}_filter", tensor) for tensor in tensors]
    assert (len(library.planned), library.ran) == (1, [])
    library.trace = None
    function(tensors[2], 3)
    assert len(library.ran) == 1


@pytest.mark.parametrize("function", [median_filter, ndimage.median_filter])
def test_negated_tensors_are_copied_and_none_of_pytorchs_plan(tensors, function):
    library = tensors
    negated = make(library, negated=True)
    for _ in range(2):
        function(negated, 3)
    assert (len(library.planned), library.ran) == (2, [])
    assert negated.data.ptr not in [call[0] for call in library.planned]
    function(make(library), 3)
    function(make(library), 3)
    assert (len(library.planned), len(library.ran)) == (3, 1)
    function(negated, 3)
    assert (len(library.planned), len(library.ran)) == (4, 1)
    assert library.planned[3][0] != negated.data.ptr
    for plain in (make(library), negated):
        with pytest.raises(ValueError, match="output is a tensor that PyTorch negates"):
            function(plain, 3, output=make(library, negated=True))
    assert (len(library.planned), len(library.ran)) == (4, 1)


def test_a_stream_that_is_named_takes_no_negated_tensor(tensors):
    library = tensors
    with pytest.raises(ValueError, match="memory has its values"):
        median_filter(make(library, negated=True), 3, output=make(library), stream=5)
    assert library.planned == []


def test_a_pytorch_without_its_compilers_stream(tensors):
    library = tensors
    del sys.modules["torch"]._C._cuda_getCurrentRawStream
    library.stream = 9
    for _ in range(2):
        median_filter(make(library), 3)
    assert [call[2] for call in library.ran] == [9]


def test_what_a_kept_call_cannot_do_is_told_by_another(library, monkeypatch):
    def fail(*_work, **_wanted):
        raise MedianError("what is wrong")

    median_filter(make(library), 3)
    library.status = 2
    monkeypatch.setattr(_engine, "run_on_device", fail)
    with pytest.raises(MedianError, match="what is wrong"):
        median_filter(make(library), 3)
    assert len(library.ran) == 1


@pytest.mark.parametrize("own", [True, False])
def test_what_cupy_says_of_its_order(monkeypatch, own):
    library = Library("cupy", monkeypatch)
    if own:
        library.kind._c_contiguous = property(lambda array: array.flags.c_contiguous)
    for _ in range(2):
        median_filter(make(library), 3)
    median_filter(make(library), 3, output=make(library))
    assert (len(library.planned), len(library.ran)) == (1, 2)
    copied = make(library, contiguous=False)
    median_filter(copied, 3)
    assert (len(library.planned), len(library.ran)) == (2, 2)
    with pytest.raises(ValueError, match="not C-contiguous"):
        median_filter(make(library), 3, output=make(library, contiguous=False))
    assert len(library.ran) == 2


def test_arrays_that_lie_on_other_devices(monkeypatch):
    library = Library("cupy", monkeypatch)
    for array, output in ((0, 0), (1, None), (0, 1), (1, 1)):
        median_filter(make(library, device=array), 3, output=None if output is None else make(library, device=output))
    assert (len(library.planned), library.ran) == (4, [])


def test_tensors_that_lie_on_other_devices(tensors):
    for device in (0, 1):
        median_filter(make(tensors, device=device), 3, output=make(tensors, device=device))
    median_filter(make(tensors), 3, output=make(tensors, device=1))
    assert (len(tensors.planned), len(tensors.ran)) == (2, 1)


@pytest.mark.parametrize(
    "shape", [(), (5,), (1, 5), (5, 1), (1, 1, 1), (0, 5), (5, 0, 1), (2, 3, 4), (1, 4, 1, 5)], ids=str
)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float32", "int64", "float64"])
def test_all_shapes_and_types_of_tensors(tensors, shape, dtype):
    work = (tensors.kind, 0, None, (), shape, np.dtype(dtype))
    _plans.keep_on_device(work, make(tensors), tensors.prepare())
    for output in (None, make(tensors, shape, dtype)):
        array = make(tensors, shape, dtype)
        result, key = _plans.calls.median(array, output, 0, None)
        assert key == work
        assert (result.shape, result.dtype) == (shape, dtype)
        assert tensors.ran.pop() == (array.data.ptr, result.data.ptr, 1)
    for other in (make(tensors, (*shape, 2), dtype), make(tensors, (*shape, 1), dtype), make(tensors, shape, "uint64")):
        assert _plans.calls.median(make(tensors, shape, dtype), other, 0, None)[0] is None


def test_functions_in_c_are_asked_where_there_are_some(monkeypatch, calls):
    if type(calls).__module__.endswith("_python_calls"):
        pytest.skip("Python asks the attributes")
    library = Library("torch with functions", monkeypatch)
    median_filter(make(library), 3)
    for name in ("data_ptr", "is_contiguous", "get_device"):
        monkeypatch.setattr(library.kind, name, None)
    output = make(library)
    assert median_filter(make(library), 3, output=output) is output
    assert len(library.ran) == 1


@pytest.mark.parametrize(
    ("change", "name"), [({}, b"another"), ({"major": 2}, None), ({"describe": Exchange.DESCRIBE()}, None)], ids=str
)
def test_functions_in_c_of_another_kind_are_left_alone(monkeypatch, change, name):
    library = Library("torch with functions", monkeypatch)
    for field, value in {
        "describe": Exchange.DESCRIBE(lambda *_: library.ran.append("described") or -1),
        **change,
    }.items():
        setattr(library.exchange, field, value)
    if name is not None:
        library.kind.__dlpack_c_exchange_api__ = make_capsule(library.exchange, name)
    for _ in range(2):
        median_filter(make(library), 3)
    assert (len(library.planned), len(library.ran)) == (1, 1)
    assert "described" not in library.ran


@pytest.mark.parametrize("number", [0, None, 1, 2, 2**47, 2**64 - 1])
def test_streams_go_to_the_engine_as_numbers(library, number):
    median_filter(make(library), 3)
    library.stream = number
    median_filter(make(library), 3)
    assert [call[2] for call in library.ran] == [number or 1]


def test_what_a_library_raises_is_told(library):
    median_filter(make(library), 3)

    class BrokenError(Exception):
        pass

    def fail(*_):
        raise BrokenError

    broken = "data" if library.kind.__module__ == "cupy" else "is_neg"
    setattr(library.kind, broken, property(fail, lambda array, value: None) if broken == "data" else fail)
    array = library.kind.__new__(library.kind)
    array.__dict__.update(
        {"shape": (4, 5), "dtype": np.dtype("uint8"), "flags": types.SimpleNamespace(c_contiguous=True)}
    )
    array.__dict__.update(
        {"is_cuda": True, "is_meta": False, "requires_grad": False, "negated": False, "watched": False}
    )
    with pytest.raises(BrokenError):
        median_filter(array, 3)
    assert library.ran == []


def test_python_runs_while_a_launch_waits(library):
    # The C library's own function, which waits for as many microseconds as its first argument says.
    sleep = ctypes.CDLL(None).usleep
    address = ctypes.cast(sleep, ctypes.c_void_p).value
    library.prepare = lambda: types.SimpleNamespace(run=lambda *_: sleep(300_000), function=address, handle=300_000)
    median_filter(make(library), 3)
    spans = []

    def work():
        start = time.perf_counter()
        median_filter(make(library), 3)
        spans.append((start, time.perf_counter()))

    thread = threading.Thread(target=work)
    thread.start()
    ticks = []
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    ((start, end),) = spans
    assert end - start > 0.25
    assert len([tick for tick in ticks if start < tick < end]) > 20


def test_ten_thousand_calls_keep_no_reference(library):
    array, output, wrong = make(library), make(library), make(library, contiguous=False)
    library.planned = library.ran = collections.deque(maxlen=1)
    median_filter(array, 3)

    def call():
        median_filter(array, 3)
        median_filter(array, 3, output=output)
        for one, other in ((wrong, None), (array, wrong)):
            assert _plans.calls.median(one, other, 0, None, *PLAIN)[0] is None

    def count():
        gc.collect()
        kept = [array, output, wrong, library.kind, array.shape, array.dtype, *_plans._plans.values()]
        return [sys.getrefcount(one) for one in kept], sys.getallocatedblocks()

    for _ in range(100):
        call()
    before, blocks_before = count()
    for _ in range(10_000):
        call()
    after, blocks_after = count()
    assert all(abs(one - other) < 20 for one, other in zip(before, after, strict=True))
    assert blocks_after - blocks_before < 500


def test_the_engine_prepares_and_releases():
    work = ("uint8", 4096, 8192, (4, 5), (_axis(), _axis()), _engine.Algorithm.AUTOMATIC, 0)
    prepared = _engine.PreparedOnDevice(*work)
    assert prepared.run(4096, 8192, 1) != 0  # no device's memory
    assert prepared.run(0, 8192, 1) == 1
    with pytest.raises(_engine.RequestError, match="overlaps"):
        _engine.PreparedOnDevice(*work[:2], 4097, *work[3:])
    before = psutil.Process().memory_info().rss
    for _ in range(20000):
        _engine.PreparedOnDevice(*work)
    assert psutil.Process().memory_info().rss - before < 4 << 20


def _axis():
    return types.SimpleNamespace(radius=1, shorter=0, shift=0, border=_engine.Border.ZERO_FLUX_NEUMANN, size=3)


@pytest.fixture(params=["cupy", "torch"])
def arrays(request, gpu):
    """Return functions that make a library's array of a NumPy array, and one of NumPy of it."""
    module = import_library(request.param)
    if request.param == "cupy":
        return types.SimpleNamespace(name="cupy", module=module, give=module.asarray, take=lambda array: array.get())
    return types.SimpleNamespace(
        name="torch",
        module=module,
        give=lambda array: module.from_numpy(array).cuda(),
        take=lambda array: array.cpu().numpy(),
    )


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float16", "float32", "int64"])
@pytest.mark.parametrize("options", [{}, {"mode": "reflect"}, {"rank": 2}, {"axes": 0}], ids=str)
def test_kept_calls_equal_numpy(random, arrays, dtype, options):
    for shape in ((64, 64), (61, 37), (5, 16, 32)):
        for _ in range(3):
            array = make_array(random, shape, dtype)
            expected = median_filter(array, 3, backend="cpu", **options)
            result = median_filter(arrays.give(array), 3, **options)
            np.testing.assert_array_equal(arrays.take(result), expected)
            output = arrays.give(np.zeros_like(array))
            assert median_filter(arrays.give(array), 3, output=output, **options) is output
            np.testing.assert_array_equal(arrays.take(output), expected)
    assert len(_plans._plans) >= 3


def test_kept_calls_of_threads_and_streams(random, arrays):
    array = make_array(random, (64, 96), "uint16").astype("int16")
    expected = median_filter(array, 3, backend="cpu")
    failures = []

    def work():
        cuda = arrays.module.cuda
        stream = cuda.Stream(non_blocking=True) if arrays.name == "cupy" else cuda.Stream()
        with stream if arrays.name == "cupy" else cuda.stream(stream):
            for _ in range(200):
                result = median_filter(arrays.give(array), 3)
                if not np.array_equal(arrays.take(result), expected):
                    failures.append(result)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_kept_calls_are_ordered_by_their_stream(random, arrays):
    image = make_array(random, (64, 64), "float32")
    expected = image
    array = arrays.give(image)
    for _ in range(50):
        array = median_filter(array, 3)
        expected = median_filter(expected, 3, backend="cpu")
    np.testing.assert_array_equal(arrays.take(array), expected)


def test_kept_calls_are_captured(random, gpu):
    torch = import_library("torch")
    images = [make_array(random, (64, 64), "uint8") for _ in range(3)]
    array = torch.from_numpy(images[0]).cuda()
    median_filter(array, 3)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        once = median_filter(array, 3)
        twice = median_filter(once, 3)
    for image in images:
        array.copy_(torch.from_numpy(image))
        graph.replay()
        expected = median_filter(image, 3, backend="cpu")
        np.testing.assert_array_equal(once.cpu().numpy(), expected)
        np.testing.assert_array_equal(twice.cpu().numpy(), median_filter(expected, 3, backend="cpu"))


def wait_for_kernels(array, windows):
    """Call with windows until their kernels are there: the compiler takes memory of its own."""
    end = time.monotonic() + 60
    for window in windows:
        reports = ["Compiled in the background"]
        while "Compiled in the background" in reports[-1]:
            assert time.monotonic() < end, f"the kernel of {window} was not compiled in 60 s"
            median_filter(array, window, report=reports.append)
            time.sleep(0.01)


def test_ten_thousand_kept_calls_take_no_more_memory(random, arrays):
    array = arrays.give(make_array(random, (64, 64), "uint8"))
    wait_for_kernels(array, [3, *((1, extent) for extent in range(1, 10))])
    for _ in range(1000):
        median_filter(array, 3)
    gc.collect()
    before = psutil.Process().memory_info().rss
    for _ in range(10000):
        median_filter(array, 3)
    for size in range(1, 400):
        median_filter(array, (1, size % 9 + 1), origin=(0, 0), cval=float(size))
    assert psutil.Process().memory_info().rss - before < 32 << 20
    assert len(_plans._plans) <= _plans._MOST_PLANS
