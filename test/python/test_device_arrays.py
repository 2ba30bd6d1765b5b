# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory. What needs a GPU skips without one, or fails where CUDAMEDIAN_REQUIRE_GPU=1."""

import numpy as np
import pytest

from conftest import make_array
from itk_cuda_median import DeviceError, MedianError, _device, median_filter

TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


class FakeArray:
    """What describes itself as an array in device memory, and is not."""

    def __init__(self, array, **changes):
        """Describe a NumPy array, with changes."""
        self._array = array
        self.ndim = array.ndim
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": None,
            "version": 3,
            **changes,
        }


def test_array_interface_is_read():
    array = np.zeros((4, 5), "int16")
    described = _device.describe(FakeArray(array, stream=7, strides=array.strides))
    assert described.address == array.ctypes.data
    assert (described.shape, described.dtype, described.stream) == ((4, 5), array.dtype, 7)
    with pytest.raises(ValueError, match="not C-contiguous"):
        _device.describe(FakeArray(array, strides=(2, 8)))
    assert _device.describe(FakeArray(np.zeros((1, 5), "int16"), strides=(999, 2))).shape == (1, 5)


def test_host_memory_is_not_filtered_as_device_memory():
    array = np.arange(20.0).reshape(4, 5)
    with pytest.raises(MedianError):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros_like(array)))


def test_wrong_outputs_are_named():
    array = np.zeros((4, 5))
    with pytest.raises(ValueError, match=r"output has shape \(4, 4\)"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros((4, 4))))
    with pytest.raises(ValueError, match="float32, but the input has .* float64"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros((4, 5), "float32")))
    with pytest.raises(ValueError, match="read-only"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros((4, 5)), data=(1, True)))
    with pytest.raises(TypeError, match="complex64"):
        median_filter(FakeArray(np.zeros((4, 5), "complex64")), 3, output=FakeArray(np.zeros((4, 5))))
    with pytest.raises(TypeError, match="backend='cpu'"):
        median_filter(FakeArray(array), 3, backend="cpu")
    with pytest.raises(TypeError, match="stream"):
        median_filter(array, 3, stream=1)


def test_host_tensors_give_their_own_kind(random):
    torch = pytest.importorskip("torch")
    array = make_array(random, (20, 30), "uint8")
    result = median_filter(torch.from_numpy(array), 3)
    assert isinstance(result, torch.Tensor)
    np.testing.assert_array_equal(result.numpy(), median_filter(array, 3))


@pytest.fixture
def cupy(gpu):
    """Return CuPy, on a machine with a GPU."""
    return pytest.importorskip("cupy")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(64, 96), (37, 41), (13, 17, 32), (5, 6, 7, 8)])
def test_cupy_equals_numpy(random, cupy, dtype, shape):
    array = make_array(random, shape, dtype)
    for radius in (0, 1, 2):
        result = median_filter(cupy.asarray(array), radius=radius, axes=(-2, -1))
        assert isinstance(result, cupy.ndarray)
        np.testing.assert_array_equal(result.get(), median_filter(array, radius=radius, axes=(-2, -1), backend="cpu"))


@pytest.mark.parametrize("radius", [12, 40, (2, 30), 70])
def test_cupy_large_windows(random, cupy, radius):
    array = make_array(random, (160, 150), "uint16")
    result = median_filter(cupy.asarray(array), radius=radius)
    np.testing.assert_array_equal(result.get(), median_filter(array, radius=radius, backend="cpu"))


def test_cupy_views_and_offsets(random, cupy):
    array = make_array(random, (33, 50), "uint8")
    on_device = cupy.asarray(array)
    for view in (np.s_[::2], np.s_[:, 1:], np.s_[3:, ::3], np.s_[1:]):
        result = median_filter(on_device[view], radius=1)
        np.testing.assert_array_equal(result.get(), median_filter(array[view], radius=1, backend="cpu"))


def test_cupy_uses_the_current_stream(random, cupy):
    array = make_array(random, (512, 512), "float32")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        # Without the stream's order the filter would read zeros, or its result be overwritten.
        source = cupy.zeros((512, 512), "float32")
        cupy.matmul(cupy.ones((2048, 2048)), cupy.ones((2048, 2048)))
        source.set(array)
        result = median_filter(source, 3)
        source.fill(0)
        copied = result.copy()
    stream.synchronize()
    np.testing.assert_array_equal(copied.get(), median_filter(array, 3, backend="cpu"))


def test_cupy_output(random, cupy):
    array = cupy.asarray(make_array(random, (64, 64), "int16"))
    output = cupy.empty_like(array)
    assert median_filter(array, 5, output=output) is output
    np.testing.assert_array_equal(output.get(), median_filter(array.get(), 5, backend="cpu"))
    with pytest.raises(ValueError, match="overlaps"):
        median_filter(array, 5, output=array)


def test_torch_equals_numpy(random, gpu):
    torch = pytest.importorskip("torch")
    array = make_array(random, (64, 96), "float32")
    tensor = torch.from_numpy(array).cuda()
    result = median_filter(tensor, 5)
    assert isinstance(result, torch.Tensor)
    assert result.device == tensor.device
    np.testing.assert_array_equal(result.cpu().numpy(), median_filter(array, 5, backend="cpu"))


def test_jax_equals_numpy(random, cupy):
    jax = pytest.importorskip("jax")
    array = make_array(random, (64, 96), "float32")
    result = median_filter(jax.device_put(array, jax.devices("gpu")[0]), 5)
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(np.asarray(result), median_filter(array, 5, backend="cpu"))


def test_a_build_without_cuda_says_so():
    from itk_cuda_median import query_device

    usable, description = query_device()
    if usable or "no CUDA backend" not in description:
        pytest.skip(f"this build has the CUDA backend: {description}")
    array = np.zeros((4, 5))
    with pytest.raises(DeviceError, match="no CUDA backend"):
        median_filter(FakeArray(array), 3, output=FakeArray(np.zeros_like(array)))
