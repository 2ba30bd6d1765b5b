# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operator: torch.compile, torch.export, vmap, and what needs a gradient. It needs PyTorch."""

import functools
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import import_library, make_array, run_process

torch = import_library("torch")

from torch.autograd import forward_ad  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

from cudamedian import median_filter, ndimage, skimage  # noqa: E402
from cudamedian import torch as operators  # noqa: E402

TYPES = ("bool", "uint8", "int8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64")
NO_GRADIENT = r"no gradient: give them tensor.detach\(\)"


@pytest.fixture(autouse=True)
def _forget():
    torch.compiler.reset()


@pytest.fixture
def tensor(random):
    """Return a tensor whose axes differ in length."""
    return torch.from_numpy(make_array(random, (6, 9, 11), "float32"))


def assert_same(result, expected):
    """Compare a tensor with an array of NumPy, or with another tensor: the type, the order in memory and the values."""
    assert type(result) is torch.Tensor
    assert result.is_contiguous()
    np.testing.assert_array_equal(result.numpy(), np.asarray(expected))
    assert result.numpy().dtype == np.asarray(expected).dtype


def compiled(function, backend="aot_eager", **options):
    """Compile a function without a break in its graph."""
    return torch.compile(function, fullgraph=True, backend=backend, **options)


# What is done with an array of three axes, of NumPy or PyTorch.
FUNCTIONS = {
    "median": lambda array: median_filter(array, 3),
    "radius": lambda array: median_filter(array, radius=(1, 2), axes=(0, -1), mode=("wrap", "mirror")),
    "percentile": lambda array: median_filter(array, size=(3, 4, 1), percentile=20.5, origin=(0, 1, 0)),
    "mean": lambda array: median_filter(array, size=2, even_median="mean", mode="constant", cval=1),
    "weights": lambda array: median_filter(array, weights=[1, 3, 1], axes=1),
    "outliers": lambda array: median_filter(array, size=3, outliers="3mad", backend="cpu", threads=1),
    "scipy's median": lambda array: ndimage.median_filter(array, (3, 1, 5)),
    "scipy's rank": lambda array: ndimage.rank_filter(array, -2, 3, mode="wrap"),
    "scipy's percentile": lambda array: ndimage.percentile_filter(array, 30, 3, axes=(0, 2)),
    "scipy's minimum": lambda array: ndimage.minimum_filter(array, 3, mode=("wrap", "nearest", "mirror")),
    "scipy's maximum": lambda array: ndimage.maximum_filter(array, 3, origin=-1),
    "scikit-image's": lambda array: skimage.median(array, mode="reflect"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_compiled_exported_and_batched(random, name):
    function = FUNCTIONS[name]
    array = make_array(random, (6, 9, 11), "int16")
    expected = function(array)
    tensor = torch.from_numpy(array)
    assert_same(function(tensor), expected)
    assert_same(compiled(lambda given: function(given * 1) + 0)(tensor), expected)
    assert_same(make_fx(function)(tensor)(tensor), expected)
    program = torch.export.export(Module(function), (tensor,))
    assert_same(program.module()(tensor), expected)
    batch = make_array(random, (3, 6, 9, 11), "int16")
    assert_same(torch.vmap(function)(torch.from_numpy(batch)), np.stack([function(image) for image in batch]))


class Module(torch.nn.Module):
    """A module that calls a function."""

    def __init__(self, function):
        """Keep the function."""
        super().__init__()
        self.function = function

    def forward(self, *given):
        """Call it."""
        return self.function(*given)


@pytest.mark.parametrize("dtype", TYPES)
def test_types(random, dtype):
    array = make_array(random, (7, 8), dtype)
    assert_same(compiled(lambda given: median_filter(given, 3))(torch.from_numpy(array)), median_filter(array, 3))
    made = median_filter(torch.from_numpy(array).to("meta"), 3)
    assert (made.device.type, made.shape, made.dtype) == ("meta", (7, 8), torch.from_numpy(array).dtype)


def test_types_that_have_no_median():
    for dtype in (torch.bfloat16, torch.complex64):
        given = torch.zeros((4, 5), dtype=dtype)
        with pytest.raises(TypeError, match=f"pixels of type {dtype} have no median here; the types are int8, uint8"):
            median_filter(given.to("meta"), 3)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_backends_of_the_compiler(tensor, backend):
    function = compiled(lambda given: torch.relu(median_filter(given.transpose(0, 1) * 2, 3)), backend)
    expected = median_filter(np.ascontiguousarray(tensor.numpy().transpose(1, 0, 2)) * 2, 3)
    result = function(tensor)
    np.testing.assert_array_equal(result.numpy(), np.maximum(expected, 0))


def test_shapes_and_sizes_that_change(random):
    function = compiled(lambda given, size: median_filter(given, size), dynamic=True)
    for rows, size in ((5, 3), (8, 3), (9, 5), (4, 2)):
        array = make_array(random, (rows, 6), "uint8")
        assert_same(function(torch.from_numpy(array), size), median_filter(array, size))
    rows = torch.export.Dim("rows", min=2)
    program = torch.export.export(
        Module(FUNCTIONS["scipy's median"]), (torch.zeros(4, 5, 6),), dynamic_shapes={"given": ({0: rows},)}
    )
    array = make_array(random, (9, 5, 6), "float32")
    assert_same(program.module()(torch.from_numpy(array)), FUNCTIONS["scipy's median"](array))


def test_footprints_and_masks_are_tensors_of_the_graph(random, tensor):
    array, cross = tensor.numpy(), np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    mask = random.random(array.shape) < 0.8
    expected = median_filter(array, footprint=cross, axes=(1, 2), mask=mask, invalid=0)

    def function(given, where, pixels):
        return median_filter(given, footprint=pixels, axes=(1, 2), mask=where, invalid=0)

    masks, pixels = torch.from_numpy(mask), torch.from_numpy(cross)
    assert_same(compiled(function)(tensor, masks, pixels), expected)
    assert_same(compiled(lambda given: function(given, mask, cross))(tensor), expected)
    scipys = compiled(lambda given: ndimage.median_filter(given, footprint=cross, axes=(0, 1)))
    assert_same(scipys(tensor), ndimage.median_filter(array, footprint=cross, axes=(0, 1)))
    batched = torch.vmap(function, in_dims=(None, 0, None))(tensor, torch.stack([masks, ~masks]), pixels)
    assert_same(batched, np.stack([expected, function(array, ~mask, cross)]))


@pytest.mark.parametrize(("in_dim", "out_dim"), [(0, 0), (1, 0), (2, 1), (-1, -1)])
def test_vmap_along_any_axis(tensor, in_dim, out_dim):
    result = torch.vmap(lambda given: median_filter(given, 3), in_dims=in_dim, out_dims=out_dim)(tensor)
    images = np.moveaxis(tensor.numpy(), in_dim, 0)
    expected = np.moveaxis(np.stack([median_filter(image, 3) for image in images]), 0, out_dim)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_vmap_of_vmap_and_with_the_compiler(tensor):
    expected = median_filter(tensor, 3, axes=2)
    inner = torch.vmap(lambda given: median_filter(given, 3))
    for function in (torch.vmap(inner), compiled(torch.vmap(inner))):
        assert_same(function(tensor), expected)
    assert_same(torch.vmap(torch.compile(inner, backend="aot_eager"))(tensor), expected)


def test_vmap_is_one_call(tensor, monkeypatch):
    calls = []
    functions = operators._FUNCTIONS

    @functools.wraps(median_filter)
    def count(*given, **more):
        calls.append(more)
        return median_filter(*given, **more)

    monkeypatch.setitem(functions, "median_filter", count)
    torch.vmap(lambda given: median_filter(given, 3))(tensor)
    assert calls == [{"size": 3, "axes": (1, 2)}]


@pytest.mark.parametrize("compiler", [None, "aot_eager"])
def test_no_gradient_flows_and_nobody_misses_it_in_silence(tensor, compiler):
    tensor.requires_grad_()

    def function(given):
        return median_filter(given, 3) + given

    run = function if compiler is None else compiled(function, compiler)
    result = run(tensor)
    assert result.requires_grad
    np.testing.assert_array_equal(result.detach().numpy(), function(tensor.detach().numpy()))
    with pytest.raises(RuntimeError, match=NO_GRADIENT):
        result.sum().backward()
    assert tensor.grad is None
    with torch.no_grad():
        assert not run(tensor).requires_grad
    (median_filter(tensor.detach(), 3) * tensor).sum().backward()
    assert_same(tensor.grad, median_filter(tensor.detach().numpy(), 3))


def test_functional_gradients(tensor):
    def weigh(weight, image):
        return (weight * median_filter(image, 3)).sum()

    assert_same(torch.func.grad(weigh)(tensor, tensor), median_filter(tensor, 3))
    many = torch.vmap(torch.func.grad(weigh))(tensor, tensor)
    assert_same(many, median_filter(tensor, 3, axes=(1, 2)))
    with pytest.raises(RuntimeError, match=NO_GRADIENT):
        torch.func.grad(weigh, argnums=1)(tensor, tensor)
    with pytest.raises(RuntimeError, match=NO_GRADIENT):
        torch.func.jvp(lambda image: median_filter(image, 3), (tensor,), (tensor,))
    with forward_ad.dual_level():
        assert_same(median_filter(tensor, 3), median_filter(tensor.numpy(), 3))
        with pytest.raises(RuntimeError, match=NO_GRADIENT):
            median_filter(forward_ad.make_dual(tensor, tensor), 3)


def test_classes_of_tensors_are_kept(tensor):
    class Own(torch.Tensor):
        pass

    result = median_filter(tensor.as_subclass(Own), 3)
    assert type(result) is Own
    assert_same(result.as_subclass(torch.Tensor), median_filter(tensor.numpy(), 3))
    parameter = torch.nn.Parameter(tensor)
    assert median_filter(parameter, 3).requires_grad
    with torch.no_grad():
        assert_same(ndimage.maximum_filter(parameter, 3), ndimage.maximum_filter(tensor.numpy(), 3))


@pytest.mark.parametrize("run", [lambda function: function, compiled], ids=["eager", "compiled"])
def test_outputs(tensor, run):
    for function in (median_filter, ndimage.median_filter):
        output = torch.zeros_like(tensor)
        assert run(lambda given, result, function=function: function(given, 3, output=result))(tensor, output) is output
        assert_same(output, function(tensor.numpy(), 3))


def test_wrong_outputs(tensor):
    watched = tensor.clone().requires_grad_()
    with torch.no_grad():
        with pytest.raises(TypeError, match="output is of type ndarray; in PyTorch's operator it is a tensor or None"):
            median_filter(watched, 3, output=np.zeros(tensor.shape, "float32"))
        with pytest.raises(ValueError, match=r"output has shape \(6, 9, 10\) and type torch.float32 on cpu, but"):
            median_filter(watched, 3, output=torch.zeros(6, 9, 10))
        with pytest.raises(ValueError, match="torch.float64 on cpu"):
            ndimage.median_filter(watched, 3, output=tensor.double())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"size": -1}, "size -1 is below 1"),
        ({"size": "large"}, "size is 'large'"),
        ({"size": 3, "mode": "nearst"}, "mode is 'nearst'"),
        ({"size": 3, "axes": 3}, "axes holds 3"),
        ({"size": 3, "rank": 99}, "rank"),
        ({"size": 3, "backend": "gpu"}, "backend is 'gpu'"),
        ({"size": object()}, "an argument is of type object"),
    ],
    ids=["size", "name of a size", "border", "axis", "rank", "backend", "object"],
)
def test_mistakes_are_found_before_anything_runs(tensor, options, text):
    with pytest.raises((ValueError, TypeError), match=text):
        median_filter(tensor.to("meta"), **options)
    if type(options["size"]) is not object:
        with pytest.raises(torch._dynamo.exc.TorchRuntimeError, match=text):
            compiled(lambda given: median_filter(given, **options))(tensor)
        with pytest.raises((ValueError, TypeError), match=text):
            torch.export.export(Module(lambda given: median_filter(given, **options)), (tensor,), strict=False)


def test_what_the_operator_does_not_take(tensor):
    told = []
    for options in ({"progress": told.append}, {"report": told.append}, {"stream": 7}):
        with pytest.raises(TypeError, match="takes none of stream, progress, report"):
            median_filter(tensor.to("meta"), 3, **options)
    # The compiler leaves such a call to Python.
    run = torch.compile(lambda given: median_filter(given, 3, report=told.append), backend="aot_eager")
    assert_same(run(tensor), median_filter(tensor.numpy(), 3))
    assert "Backend" in told[0]


@pytest.mark.parametrize("arguments", ['{"size": 3}', '{"radius": [1, 0], "axes": [0, 2], "percentile": 40.0}'])
@pytest.mark.parametrize("grad", [False, True])
def test_the_operator_is_what_pytorch_asks_of_one(tensor, arguments, grad):
    given = (tensor.requires_grad_(grad), None, None, None, "median_filter", arguments)
    # Where a gradient is needed, PyTorch's check would compute one.
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    found = torch.library.opcheck(torch.ops.cudamedian.filter.default, given, test_utils=tests[: 3 if grad else 4])
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_traces_of_torchscript(random, tensor):
    traced = torch.jit.trace(lambda given: ndimage.median_filter(given * 1, 3), tensor)
    other = make_array(random, (6, 9, 11), "float32")[::-1].copy()
    assert_same(traced(torch.from_numpy(other)), ndimage.median_filter(other, 3))


def test_exported_programs_are_loaded_elsewhere(tensor, tmp_path):
    torch.export.save(torch.export.export(Module(FUNCTIONS["median"]), (tensor,)), tmp_path / "median.pt2")
    np.save(tmp_path / "input.npy", tensor.numpy())
    np.save(tmp_path / "expected.npy", median_filter(tensor.numpy(), 3))
    folder = str(tmp_path)
    run_process(
        sys.executable,
        f"""
import numpy as np, torch, cudamedian.torch
program = torch.export.load({folder!r} + "/median.pt2")
result = program.module()(torch.from_numpy(np.load({folder!r} + "/input.npy")))
assert np.array_equal(result.numpy(), np.load({folder!r} + "/expected.npy"))
""",
    )


def test_pytorch_is_imported_by_nobody_but_the_caller():
    folder = str(Path(sys.modules["cudamedian"].__file__).parents[1])
    run_process(
        sys.executable,
        f"""
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from cudamedian import median_filter, ndimage, skimage, use
for function in (median_filter, ndimage.median_filter, ndimage.maximum_filter):
    function(np.zeros((4, 5)), 3)
assert "torch" not in sys.modules
""",
    )


ON_DEVICE = ["median", "radius", "percentile", "scipy's median", "scipy's rank", "scipy's maximum", "scikit-image's"]


def test_masks_of_tensors_on_a_gpu(random, gpu):
    array = make_array(random, (9, 11), "int16")
    mask = random.random(array.shape) < 0.7
    run = compiled(lambda given, where: median_filter(given, 3, mask=where))
    result = run(torch.from_numpy(array).cuda(), torch.from_numpy(mask).cuda())
    assert_same(result.cpu(), median_filter(array, 3, mask=mask))


@pytest.mark.parametrize("name", ON_DEVICE)
def test_tensors_on_a_gpu(random, gpu, name):
    function = FUNCTIONS[name]
    array, batch = make_array(random, (6, 9, 11), "int16"), make_array(random, (3, 6, 9, 11), "int16")
    expected, many = function(array), np.stack([function(image) for image in batch])
    tensor = torch.from_numpy(array).cuda()
    program = torch.export.export(Module(function), (tensor,))
    run = compiled(lambda given: function(given * 1) + 0, "inductor")
    # Calls that are kept are between those that go through the operator.
    for _ in range(3):
        for result in (function(tensor), run(tensor), program.module()(tensor), make_fx(function)(tensor)(tensor)):
            assert result.is_cuda
            assert_same(result.cpu(), expected)
        assert_same(torch.vmap(function)(torch.from_numpy(batch).cuda()).cpu(), many)
    with pytest.raises(RuntimeError, match=NO_GRADIENT):
        function(tensor.float().requires_grad_()).sum().backward()


def test_graphs_that_a_gpu_captures(random, gpu):
    run = torch.compile(lambda given: median_filter(given * 1, 3) + 0, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        array = make_array(random, (64, 64), "float32")
        assert_same(run(torch.from_numpy(array).cuda()).cpu(), median_filter(array, 3))
