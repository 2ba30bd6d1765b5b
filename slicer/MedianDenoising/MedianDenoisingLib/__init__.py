# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the module Median Denoising does, without its window: nothing here imports Qt."""
