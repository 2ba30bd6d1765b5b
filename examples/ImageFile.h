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
#ifndef ImageFile_h
#define ImageFile_h

#include "itkImageIOBase.h"

#include <cstddef>
#include <string>
#include <vector>

/** Opens an image file and reads its header. \throws UserError, also when the file cannot be whole */
itk::ImageIOBase::Pointer
OpenImage(const std::string & path);

/** Reads all pixels of an image that OpenImage() opened.
 *
 * Not every format reports that a file ends too early. So the buffer holds known bytes before; where they are still
 * found, the file is read once more over other bytes: a byte that the reader set is the same both times. NIfTI, whose
 * reader fills up what it could not read, is always read twice.
 * \returns what the image library printed that does not speak of damage, in one line
 * \throws UserError when the file cannot be read, or does not set every byte of every pixel */
std::string
ReadPixels(itk::ImageIOBase & imageIO, void * buffer, std::size_t bytes);

/** Whether two headers tell of pixels in the same form: one component of the same kind and size. */
bool
HaveSamePixels(const itk::ImageIOBase & one, const itk::ImageIOBase & other);

/** A copy of a header alone, without what its object keeps open: some formats close their file only with the object. */
itk::ImageIOBase::Pointer
CopyHeader(const itk::ImageIOBase & imageIO);

/** Compares all pixels of an image file, byte for byte, with `expected`, which has the file's type and size. Of a
 * format that stores something near the pixels, as JPEG does, they only have to be there. \throws UserError when they
 * cannot be read or when one differs */
void
ComparePixels(itk::ImageIOBase & imageIO, const void * expected, std::size_t bytes);

/** The axis property that a written header should have kept but has not, such as "spacing"; empty if there is none.
 * Formats that hold no such property, such as PNG, are not asked for it. */
std::string
LostGeometry(const itk::ImageIOBase & given, const itk::ImageIOBase & written);

/** Millimetres from a pixel to the next along each axis, as a header has them. */
std::vector<double>
GetSpacing(const itk::ImageIOBase & imageIO);

/** The number of pixels that a header promises. */
itk::ImageIOBase::SizeType
NumberOfPixels(const itk::ImageIOBase & imageIO);

#endif
