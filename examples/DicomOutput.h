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
#ifndef DicomOutput_h
#define DicomOutput_h

#include "DerivationNote.h"
#include "DicomSeries.h"

#include "itkImageIOBase.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

/** \class DicomOutput
 * Puts a new DICOM series in place as a folder, as a whole or not at all.
 *
 * Every slice is a copy of the slice of the input at its place, with the pixels that the filter made, fresh UIDs of
 * series and instances, and a note of the derivation. Pixels are stored uncompressed with the input's own slope and
 * intercept: whatever rank is taken, it is a value of the input, so its stored value exists. The slices are written
 * into a hidden folder beside the destination, given to the disk, read back as a series and compared in values and
 * geometry; then the folder gets its name in one step. */
class DicomOutput
{
public:
  /** Checks everything before any work is done. `imageIO` is what OpenDicomSeries() opened and has to live on.
   * \throws UserError when the destination is a file or a folder that is not empty, when its parent cannot be written
   * to, or when the slices' slopes or intercepts differ and the window spans several slices */
  DicomOutput(const std::string & path, const itk::ImageIOBase & imageIO, DerivationNote note);

  /** Writes the result of the filter: pixels of the type, and in the order, of the image that was opened.
   * \throws UserError when something cannot be written, or is not the same when it is read back */
  void
  Write(const void * pixels, std::size_t bytes) const;

private:
  const itk::ImageIOBase & m_ImageIO;
  std::filesystem::path    m_Destination;
  std::vector<DicomSlice>  m_Slices;
  DerivationNote           m_Note;
};

#endif
