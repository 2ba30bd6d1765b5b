# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The example of the documentation, run as its readers would."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from conftest import make_array, needs_itk

CODE = Path(__file__).resolve().parents[2] / "documentation" / "examples" / "ExactMedianOfAnImage" / "Code.py"


@needs_itk
def test_example_equals_itk(random, tmp_path):
    import itk

    image = itk.image_from_array(make_array(random, (41, 57), "uint8"))
    itk.imwrite(image, str(tmp_path / "input.png"))
    run = subprocess.run(
        [sys.executable, CODE, tmp_path / "input.png", tmp_path / "output.png", "2"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Backend: " in run.stdout
    expected = itk.median_image_filter(image, radius=2)
    np.testing.assert_array_equal(itk.imread(str(tmp_path / "output.png")), expected)
