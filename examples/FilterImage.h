/*=========================================================================
 *
 *  Copyright NumFOCUS
 *
 *  Licensed under the Apache License, Version 2.0 (the "License");
 *  you may not use this file except in compliance with the License.
 *  You may obtain a copy of the License at
 *
 *         https://www.apache.org/licenses/LICENSE-2.0.txt
 *
 *  Unless required by applicable law or agreed to in writing, software
 *  distributed under the License is distributed on an "AS IS" BASIS,
 *  WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 *  See the License for the specific language governing permissions and
 *  limitations under the License.
 *
 *=========================================================================*/
#ifndef FilterImage_h
#define FilterImage_h

#include "DicomOutput.h"
#include "Options.h"
#include "OutputFile.h"

#include "itkImageIOBase.h"

/** Where the result goes: to one of the two. */
struct Destination
{
  const OutputFile *  file{ nullptr };
  const DicomOutput * series{ nullptr };
};

/** Reads the image that `imageIO` has opened, filters it as the options say, and writes it.
 *
 * Returns the exit code of the program: 0, or 2 when --verify found a difference. There is one instance per image
 * dimension, each in its own object file, to bound the memory and time of a single compilation.
 * \throws UserError, itk::ExceptionObject or an exception of the engine */
template <unsigned int VDimension>
int
FilterImage(const Options & options, itk::ImageIOBase * imageIO, const Destination & destination);

/** The same for an image whose pixels have several components, each of which is filtered by itself. */
template <unsigned int VDimension>
int
FilterComponents(const Options & options, itk::ImageIOBase * imageIO, const Destination & destination);

#endif
