#!/usr/bin/env python

# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Filter an image with the exact median, on an NVIDIA GPU or on the CPU."""

import argparse

import itk

parser = argparse.ArgumentParser(description="The exact median of an image.")
parser.add_argument("input_image")
parser.add_argument("output_image")
parser.add_argument("radius", type=int)
args = parser.parse_args()

median = itk.CudaMedianImageFilter.New(itk.imread(args.input_image, itk.UC), radius=args.radius)
median.Update()
itk.imwrite(median.GetOutput(), args.output_image)

# Where the filter ran, with which algorithm, for how long, and why.
print(median.GetExecutionReportAsString())
