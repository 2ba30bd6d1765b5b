# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The exact median filter of CudaMedian for NumPy and Dask arrays.

ITK images go to `itk.cuda_median_image_filter`, which the same wheel adds to `itk`.
"""

from ._engine import DeviceError, MedianError, RequestError, Stopped, query_device, release_cached_memory
from ._filter import median_filter

__all__ = [
    "DeviceError",
    "MedianError",
    "RequestError",
    "Stopped",
    "median_filter",
    "query_device",
    "release_cached_memory",
]
