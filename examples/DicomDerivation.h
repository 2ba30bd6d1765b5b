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
#ifndef DicomDerivation_h
#define DicomDerivation_h

#include "DerivationNote.h"
#include "DicomSeries.h"

#include <string>
#include <vector>

namespace gdcm
{
class DataSet;
}

/** \class DicomDerivation
 * What a new series says of itself: what filter made it of another one, and of which of its slices.
 *
 * All that the input's slices say of patient, study, frame of reference and acquisition stays. New are the UIDs of
 * series and instances, random ones that name no machine, the numbers, the image type, the descriptions, and the date
 * and time of the content. What was true of the old pixels only, such as their extremes, an icon or a signature, is
 * left out. */
class DicomDerivation
{
public:
  /** Both have to live on. */
  DicomDerivation(const std::vector<DicomSlice> & slices, const DerivationNote & note);

  /** Writes the slice of a number, from 0, with pixels that are stored as its header says, little endian.
   * \throws UserError when it cannot be written */
  void
  WriteSlice(std::size_t number, const std::string & pixels, const std::string & path) const;

private:
  /** Sets what tells the new image from the old one, and what was done to it. */
  void
  SetIdentity(std::size_t number, gdcm::DataSet & dataSet) const;

  /** Names the slices that the window reaches. */
  void
  AddSourceImages(std::size_t number, gdcm::DataSet & dataSet) const;

  const std::vector<DicomSlice> & m_Slices;
  const DerivationNote &          m_Note;
  std::string                     m_SeriesUid;
  std::vector<std::string>        m_InstanceUids;
};

#endif
