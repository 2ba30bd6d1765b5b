# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The package `cudamedian` by its old name, which the wheel itk-cudamedian keeps."""

from cudamedian import (
    DeviceError,
    MedianError,
    RequestError,
    Stopped,
    median_filter,
    query_device,
    release_cached_memory,
)

__all__ = [
    "DeviceError",
    "MedianError",
    "RequestError",
    "Stopped",
    "median_filter",
    "query_device",
    "release_cached_memory",
]
