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
#ifndef DicomSeries_h
#define DicomSeries_h

#include "DicomHeader.h"

#include "itkImageIOBase.h"

#include <ostream>
#include <string>
#include <vector>

/** A slice of a series that is open. */
struct DicomSlice
{
  DicomHeader header;
  double      slope{ 1 }; ///< a value is slope * stored value + intercept
  double      intercept{ 0 };
};

/** Opens a series of DICOM slices in a folder as a volume of three dimensions.
 *
 * `choice` names the series by its UID or by its number in the list; it may be empty when there is only one. The
 * pixels have the type that itk::GDCMImageIO gives to the values after rescaling; double where that differs between
 * slices. Spacing along the third axis is the distance of the slices' positions. The dictionary stays empty, so nothing
 * about the patient goes into other formats.
 * \returns an open image, to be read with ReadPixels()
 * \throws UserError when the series cannot be found, or is not one evenly spaced volume of scalar pixels */
itk::ImageIOBase::Pointer
OpenDicomSeries(const std::string & folder, const std::string & choice);

/** Prints the series of a folder, one a line, with the numbers that choose them. \throws UserError */
void
ListDicomSeries(const std::string & folder, std::ostream & stream);

/** The slices of what OpenDicomSeries() opened, in the order of the third axis; none for other images. */
std::vector<DicomSlice>
SlicesOf(const itk::ImageIOBase & imageIO);

/** Converts `count` pixels of one of the types that a series has; a double holds all of their values. */
void
ConvertToDouble(itk::IOComponentEnum type, const void * from, double * to, std::size_t count);

#endif
