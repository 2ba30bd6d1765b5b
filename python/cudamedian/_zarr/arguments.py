# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The command line of `cudamedian-zarr`."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any, cast, get_args

from dask.utils import parse_bytes

from .. import _numbers, _types, _window

DESCRIPTION = """Filter a Zarr array that outgrows a machine: exact medians and other ranks, from array to array.

INPUT and OUTPUT are folders, or URLs that fsspec knows (s3://bucket/volume.zarr). The output has the input's shape,
type, chunks, codecs and attributes. Tasks of some chunks each run in worker processes of this machine, or of a
scheduler of Dask that is there already. A chunk is written whole or not at all. A run that was stopped goes on with
--resume.
"""

ENDING = """exit status: 0 the output is complete; 1 a task failed, --resume goes on; 2 nothing was done, as is told;
130 and 143 stopped by Ctrl-C or SIGTERM, --resume goes on.
"""


def _at_least(least: int, what: str) -> Any:
    def read(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{what} is {value}; it is at least {least}")
        return value

    read.__name__ = what
    return read


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _number_or_word(text: str) -> Any:
    try:
        return _number(text)
    except ValueError:
        return text


def _ball(text: str) -> list[float]:
    name, _, radii = text.partition(":")
    try:
        values = [float(radius) for radius in radii.split(",")]
    except ValueError:
        values = []
    if name != "ball" or not values or not all(0 <= value <= 1024 for value in values):
        raise argparse.ArgumentTypeError(
            f"{text} is no footprint; it is ball:R or ball:Z,Y,X with radii from 0 to 1024"
        )
    return values


def _options(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"{text} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text} is no JSON object")
    return cast("dict[str, Any]", value)


def _size(text: str) -> int:
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no size such as 512MiB") from error


def _add_filter(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the filter", "as the arguments of cudamedian.median_filter")
    window = group.add_mutually_exclusive_group()
    count = _at_least(0, "radius")
    window.add_argument("--radius", type=count, nargs="+", help="one for all axes, or one for each (1 by default)")
    window.add_argument("--size", type=_at_least(1, "size"), nargs="+", help="of the window, 2 * radius + 1")
    window.add_argument("--footprint", type=_ball, help="ball:R or ball:Z,Y,X, radii in pixels")
    group.add_argument("--axes", type=int, nargs="+", help="those that the window spans")
    group.add_argument("--mode", nargs="+", choices=list(_window.BORDERS), help="what lies beyond the border (nearest)")
    group.add_argument("--cval", type=_number)
    group.add_argument("--origin", type=int, nargs="+")
    value = group.add_mutually_exclusive_group()
    value.add_argument("--rank", type=int)
    value.add_argument("--percentile", type=_number)
    value.add_argument("--even-median", choices=["upper", "mean", "lower"])
    group.add_argument("--ignore", type=_number, help="a value whose pixels are not valid")
    group.add_argument("--nan", choices=["order", "omit"])
    group.add_argument("--empty", type=_number_or_word, help="input, or a value")
    group.add_argument("--invalid", type=_number_or_word, help="computed, copied, or a value")
    group.add_argument("--outliers", type=_number_or_word, help="a distance, or as 3mad")
    group.add_argument("--backend", choices=get_args(_types.Backend), help="auto, or cuda with --gpus")
    group.add_argument("--algorithm", choices=get_args(_types.Algorithm))
    group.add_argument("--memory", type=_size, help="of the GPU, for a task")


def _add_run(parser: argparse.ArgumentParser) -> None:
    count = _at_least(1, "count")
    group = parser.add_argument_group("tasks and workers")
    group.add_argument(
        "--batch", type=count, nargs="+", metavar="N", help="chunks of a task, one number or along each axis"
    )
    group.add_argument(
        "--task-memory", type=_size, default=640 << 20, help="of arrays in a task without --batch (640MiB)"
    )
    group.add_argument("--in-flight", type=count, help="tasks at the scheduler at a time (3 for each thread)")
    group.add_argument("--retries", type=_at_least(0, "retries"), default=2, help="of a task that fails (2)")
    group.add_argument(
        "--scheduler", metavar="ADDRESS", help="of Dask, or its scheduler file; else processes are started"
    )
    group.add_argument(
        "--patience", type=_number, default=300, help="seconds without any worker before it is an error (300)"
    )
    group.add_argument("--workers", type=count, help="processes to start (one for each GPU, or for each core)")
    group.add_argument("--threads", type=count, default=1, help="tasks at a time in each of them (1)")
    group.add_argument("--memory-limit", default="auto", help="of each of them")
    group.add_argument("--gpus", nargs="*", help="one process for each of these, as 0 1 2 3; none of them: the CPU")


def make_parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("cudamedian-zarr", description=DESCRIPTION, epilog=ENDING, formatter_class=form)
    parser.add_argument("input", metavar="INPUT")
    parser.add_argument("output", metavar="OUTPUT")
    _add_filter(parser)
    group = parser.add_argument_group("arrays")
    group.add_argument(
        "--chunks", type=_at_least(1, "chunk"), nargs="+", help="of the output, not in shards (the input's)"
    )
    group.add_argument(
        "--missing", choices=["fill", "error"], default="fill", help="chunks of the input that are not there"
    )
    group.add_argument("--input-options", type=_options, metavar="JSON", help="of the file system, as fsspec has them")
    group.add_argument("--output-options", type=_options, metavar="JSON")
    group.add_argument("--resume", action="store_true", help="go on where an earlier run with the same request stopped")
    group.add_argument("--overwrite", action="store_true", help="replace an array that this program wrote")
    group.add_argument(
        "--verify", type=count_blocks, metavar="N", help="compare so many random blocks, before it is complete"
    )
    _add_run(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the plan and end")
    return parser


def count_blocks(text: str) -> int:
    """Return a number of blocks."""
    return int(_at_least(1, "blocks")(text))


def filter_arguments(options: argparse.Namespace, ndim: int) -> dict[str, Any]:
    """Return the arguments of `median_filter` that were given; one value alone is for all axes."""
    names = ("radius", "size", "footprint", "axes", "mode", "cval", "origin", "rank", "percentile", "even_median")
    names += ("ignore", "nan", "empty", "invalid", "outliers", "backend", "algorithm", "memory")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    for name in ("radius", "size", "mode", "origin"):
        if name in given and len(given[name]) == 1:
            given[name] = given[name][0]
    if "footprint" in given and len(given["footprint"]) == 1:
        given["footprint"] *= len(given["axes"]) if "axes" in given else ndim
    if not {"radius", "size", "footprint"} & given.keys():
        given["radius"] = 1
    return {**given, "threads": 1}


def find_gpus(options: argparse.Namespace) -> list[str]:
    """Return the GPUs that processes are started for: those named, or those that this process may use."""
    if options.gpus is not None:
        return options.gpus
    if options.backend == "cpu":
        return []
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name.strip() not in ("", "-1")]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(number) for number, _ in enumerate(folder.iterdir())] if folder.is_dir() else []


def count_workers(options: argparse.Namespace, gpus: list[str]) -> int:
    """Return how many processes are started."""
    return len(gpus) or options.workers or _numbers.count_cores()
