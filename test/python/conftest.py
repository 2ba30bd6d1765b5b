# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the wheel share."""

import os

import numpy as np
import pytest

SEED = int(os.environ.get("CUDAMEDIAN_TEST_SEED", "20240611"))


@pytest.fixture
def random():
    """Return random numbers; CUDAMEDIAN_TEST_SEED replays or varies them."""
    return np.random.default_rng(SEED)


def make_array(random, shape, dtype):
    """Return random pixels over the whole range of a type, with many equal ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return random.normal(0, 1000, shape).round(1).astype(dtype)
    limits = np.iinfo(dtype)
    array = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return np.where(random.random(shape) < 0.3, array.dtype.type(7), array)


@pytest.fixture
def gpu():
    """Skip without a usable GPU, or fail where CUDAMEDIAN_REQUIRE_GPU=1 says that there must be one."""
    import itk_cuda_median

    usable, description = itk_cuda_median.query_device()
    if not usable:
        if os.environ.get("CUDAMEDIAN_REQUIRE_GPU") == "1":
            pytest.fail(f"CUDAMEDIAN_REQUIRE_GPU=1, but: {description}")
        pytest.skip(f"no GPU: {description}")
    return description
