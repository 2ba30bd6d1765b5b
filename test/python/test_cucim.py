# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""cuCIM's own tests of its median, with ours in its place. They need cuCIM, CuPy and a GPU."""

import subprocess
import sys

import pytest

# Tests of what is not about medians, or not ours, and why they are left out.
LEFT_OUT = {
    "rank": "cuCIM reflects the border for 'rank'; scikit-image and we clip windows there",
    "test_median_algorithm_parameter": "which of cuCIM's algorithms runs, and the errors for those that it has not",
    "algorithm_kwargs1": "that cuCIM warns of arguments of its algorithms",
}

CODE = """
import functools, sys, pytest
import cucim.skimage.filters as theirs
import cudamedian.skimage as ours

LEFT_OUT = {left_out}

@functools.wraps(ours.median)
def median(*given, algorithm="auto", algorithm_kwargs=None, **options):
    return ours.median(*given, **options)

theirs.median = median

class LeaveOut:
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if not any(word in item.name for word in LEFT_OUT)]

arguments = ["-q", "-p", "no:cacheprovider", "--pyargs", "cucim.skimage.filters.tests.test_median"]
sys.exit(pytest.main(arguments, [LeaveOut()]))
"""


def test_cucims_tests_pass(gpu, tmp_path):
    pytest.importorskip("cucim")
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(left_out=sorted(LEFT_OUT))],
        capture_output=True,
        text=True,
        timeout=500,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
