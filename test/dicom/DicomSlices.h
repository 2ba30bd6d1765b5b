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
#ifndef DicomSlices_h
#define DicomSlices_h

#include "itkImage.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cudamediantest
{

using Volume = itk::Image<double, 3>;

/** A data element of text: group and element. */
using DicomTag = std::pair<std::uint16_t, std::uint16_t>;

/** A DICOM file of one slice, as a test makes it up. */
struct TestSlice
{
  std::string                     name;
  unsigned int                    columns{ 9 };
  unsigned int                    rows{ 7 };
  unsigned int                    samples{ 1 };
  unsigned int                    bitsAllocated{ 16 };
  unsigned int                    bitsStored{ 16 };
  bool                            isSigned{ false };
  bool                            isImplicit{ false };
  std::array<double, 3>           position{};
  std::array<double, 6>           orientation{ 1, 0, 0, 0, 1, 0 };
  double                          slope{ 1 };
  double                          intercept{ 0 };
  std::vector<long>               stored; ///< as stored, before rescaling
  std::map<DicomTag, std::string> texts;  ///< further elements; an empty text leaves an element out
};

/** Slices of random values in the order of their positions, 2.5 mm apart along the normal, each with a name of its own.
 * Slice thickness says something else, and instance numbers and names are in another order. What `pattern` says holds
 * for all of them: its position is that of the first slice, and its name begins their names. */
std::vector<TestSlice>
MakeSlices(std::size_t count, const TestSlice & pattern = TestSlice());

/** Writes the slices into a folder, which is made if it is not there. */
void
WriteSlices(const std::string & folder, const std::vector<TestSlice> & slices);

/** Compresses the pixels of a file without loss, as archives do. */
enum class Compression
{
  RunLength,
  Jpeg,
  JpegLs,
  Jpeg2000
};
void
Compress(const std::string & path, Compression compression);

/** The volume that the slices, in this order, make. */
Volume::Pointer
VolumeOf(const std::vector<TestSlice> & slices);

/** What a file says in an element of text; a sequence is shown as the texts of its items' elements. */
std::string
TextOf(const std::string & path, const DicomTag & tag);

/** The names of the files of a folder, ordered. */
std::vector<std::string>
NamesIn(const std::string & folder);

} // namespace cudamediantest

#endif
