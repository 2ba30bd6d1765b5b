# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The compiled module (wrapping/CudaMedianPythonCalls.cxx) has what `_python_calls` has."""

from ._python_calls import Calls as Calls
from ._python_calls import CuPyPlan as CuPyPlan
from ._python_calls import HostPlan as HostPlan
from ._python_calls import TorchPlan as TorchPlan
