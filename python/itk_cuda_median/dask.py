# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The module `cudamedian.dask` by its old name."""

from cudamedian.dask import median_filter

__all__ = ["median_filter"]
