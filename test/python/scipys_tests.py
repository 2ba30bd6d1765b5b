# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest that lets scipy's own tests of rank filters test `cudamedian.ndimage`.

pytest -p scipys_tests --pyargs scipy.ndimage.tests.test_filters

Tests that call none of these filters are deselected.
"""

import inspect

import pytest
import scipy.ndimage
from scipy._lib._array_api import xp_capabilities_table

from cudamedian import ndimage

# Tests that pass with scipy and are not about what the filters do, and why they are left out.
LEFT_OUT: dict[str, str] = {}

for name in ndimage.__all__:
    # What scipy's tests look up of a function: which array libraries it takes.
    xp_capabilities_table[getattr(ndimage, name)] = xp_capabilities_table[getattr(scipy.ndimage, name)]
    setattr(scipy.ndimage, name, getattr(ndimage, name))


def _is_about_ranks(item: pytest.Item) -> bool:
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    functions = [getattr(ndimage, name) for name in ndimage.__all__]
    if any(value is function for value in parameters for function in functions):
        return True
    called = set(inspect.unwrap(item.function).__code__.co_names)
    for constant in inspect.unwrap(item.function).__code__.co_consts:
        if inspect.iscode(constant):
            called |= set(constant.co_names)
    return bool(called & set(ndimage.__all__))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is about other filters, and skip what `LEFT_OUT` lists."""
    kept = [item for item in items if _is_about_ranks(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
    for item in items:
        if item.originalname in LEFT_OUT:
            item.add_marker(pytest.mark.skip(reason=LEFT_OUT[item.originalname]))
