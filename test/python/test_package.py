# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the package holds besides its functions."""

import inspect
import sys
import typing
from pathlib import Path

import cudamedian


def test_package_says_that_it_has_types():
    assert Path(cudamedian.__file__).with_name("py.typed").exists()


def test_overloads_have_the_arguments_of_median_filter():
    """Type checkers see the overloads, whose arguments are in a dictionary's type."""
    from cudamedian import _types

    parameters = list(inspect.signature(cudamedian.median_filter).parameters)
    assert set(parameters) == {"input", "size", "output", *_types.Options.__annotations__}
    assert set(_types.Window.__annotations__) < set(parameters)
    function = sys.modules[cudamedian.median_filter.__module__].median_filter
    for overload in typing.get_overloads(function):
        assert list(inspect.signature(overload).parameters) == ["input", "size", "output", "options"]


def test_choices_are_those_that_types_name():
    from cudamedian import _filter, _types, _window

    assert set(typing.get_args(_types.Mode)) == set(_window.BORDERS)
    assert set(typing.get_args(_types.EvenMedian)) == set(_window._EVEN_MEDIANS)
    assert set(typing.get_args(_types.Backend)) == set(_filter._BACKENDS)
    assert set(typing.get_args(_types.Algorithm)) == set(_filter._ALGORITHMS)
