# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Requests of earlier calls: a call with the same arguments on another array of the same shape and type takes one.

To read scipy's arguments takes several times as long as to filter a small image.
"""

from __future__ import annotations

from typing import Any

from . import _device_plans, _engine, _python_calls

try:
    from ._calls import Calls
except ModuleNotFoundError:  # the wheel itk-cudamedian, whose files are for Python's stable ABI of 3.11
    from ._python_calls import Calls

Key = _python_calls.Key
Plan = _python_calls.HostPlan | _device_plans.CuPyPlan | _device_plans.TorchPlan

# How many are kept. When there are more, all go.
_MOST_PLANS = 256
_plans: dict[Key, Plan] = {}

# What finds them and runs them.
calls = Calls(_plans, _device_plans.kinds, _device_plans.is_kind)


def _keep(key: Key, plan: Plan) -> None:
    if len(_plans) >= _MOST_PLANS:
        _plans.clear()
    _plans[key] = plan


def keep_on_host(key: Key, prepared: _engine.Prepared) -> None:
    """Keep a request for later calls on arrays of NumPy."""
    _keep(key, calls.HostPlan(prepared))


def keep_on_device(key: Key, array: Any, prepared: _engine.PreparedOnDevice) -> None:
    """Keep a request for later calls on arrays like one of CuPy or PyTorch."""
    is_cupys = type(array).__module__ == "cupy"
    _keep(key, calls.CuPyPlan(prepared) if is_cupys else calls.TorchPlan(prepared))
