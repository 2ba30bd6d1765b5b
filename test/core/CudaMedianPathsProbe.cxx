// SPDX-FileCopyrightText: Copyright NumFOCUS
// SPDX-License-Identifier: Apache-2.0

// A library that names its source; see PathsInLibrary.cmake.
const char *
GetNameOfProbe()
{
  return __FILE__;
}
