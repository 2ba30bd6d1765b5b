# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""`python -m cudamedian._zarr`, where the command is not installed."""

from .command import main

# Worker processes that are spawned import this file, too.
if __name__ == "__main__":
    raise SystemExit(main())
