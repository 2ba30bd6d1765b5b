# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The command `cudamedian-zarr`: Zarr arrays that outgrow a machine.

`grid` says which part of the array a task reads and writes, `stores` opens and creates arrays, `places` says what may
be replaced, `tasks` is what a worker runs, `window` keeps a bounded number of tasks at a scheduler, `arguments` reads
the command line, and `command` is the program.
"""
