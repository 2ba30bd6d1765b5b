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
// Takes the place of the DICOM code where ITK was built without GDCM.

#include "DicomOutput.h"
#include "DicomSeries.h"
#include "Options.h"

namespace
{

[[noreturn]] void
Refuse(const std::string & folder)
{
  throw UserError("cannot read '" + folder +
                  "': it is a folder, and this program was built with an ITK that has no DICOM (its module ITKIOGDCM)");
}

} // namespace

itk::ImageIOBase::Pointer
OpenDicomSeries(const std::string & folder, const std::string &)
{
  Refuse(folder);
}

void
ListDicomSeries(const std::string & folder, std::ostream &)
{
  Refuse(folder);
}

std::vector<DicomSlice>
SlicesOf(const itk::ImageIOBase &)
{
  return {};
}

DicomOutput::DicomOutput(const std::string & path, const itk::ImageIOBase & imageIO, DerivationNote)
  : m_ImageIO(imageIO)
{
  Refuse(path);
}

void
DicomOutput::Write(const void *, std::size_t) const
{
  Refuse(m_Destination.string());
}
