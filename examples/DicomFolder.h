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
#ifndef DicomFolder_h
#define DicomFolder_h

#include "DicomHeader.h"

#include <string>
#include <vector>

/** Slices that make one volume, in no order. */
struct DicomFiles
{
  std::string              part; ///< what tells it from others of the same series, as in "EchoTime 12"; mostly empty
  std::vector<DicomHeader> slices;
};

/** Finds the series of a folder and of the folders in it, ordered by their numbers.
 *
 * What is hidden, what is no DICOM file and what has no pixels is left aside. Files are of one series when they have
 * one SeriesInstanceUID. A series that holds several images at its positions is taken apart by what tells them apart,
 * such as the echo time, and only then: slices that differ otherwise belong together and are an error later.
 * \throws UserError when there is no series, or a damaged file of which the series is not known */
std::vector<DicomFiles>
FindDicomFiles(const std::string & folder);

/** The series that `choice` names, by its number in the list, from 1, or its UID; empty: the only one.
 * \throws UserError that lists the series in one line when none or several are meant */
const DicomFiles &
ChooseDicomFiles(const std::vector<DicomFiles> & all, const std::string & folder, const std::string & choice);

/** A series in one line, without a line break: modality, number of slices, their size, description, UID. */
std::string
Describe(const DicomFiles & files);

#endif
