# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Exact medians and other ranks of arrays in host and device memory, on NVIDIA GPUs and on the CPU.

`cudamedian.ndimage` has the functions of `scipy.ndimage`, `cudamedian.dask` those for Dask arrays. ITK images go to
`itk.cuda_median_image_filter`, which the wheel itk-cudamedian adds to `itk`; it holds this package, too.
"""

from cudamedian._engine import DeviceError, MedianError, RequestError, Stopped, query_device, release_cached_memory
from cudamedian._filter import median_filter
from cudamedian._use import use

__all__ = [
    "DeviceError",
    "MedianError",
    "RequestError",
    "Stopped",
    "median_filter",
    "query_device",
    "release_cached_memory",
    "use",
]
