# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""scipy's own tests of rank filters, with the functions of cudamedian.ndimage in scipy's place."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


def test_scipys_tests_pass(tmp_path):
    pytest.importorskip("hypothesis")
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "scipys_tests", "-p", "no:cacheprovider", "--pyargs"]
    done = subprocess.run(
        [*command, "scipy.ndimage.tests.test_filters"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    summary = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    passed = re.search(r"(\d+) passed", summary)
    assert passed and int(passed.group(1)) > 300, summary
