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
#ifndef DicomHeader_h
#define DicomHeader_h

#include <array>
#include <string>
#include <vector>

/** The names of what may tell apart several volumes in one series, such as the echoes of a magnetic resonance scan. */
constexpr const char * DicomDetailNames[] = { "EchoNumbers",     "EchoTime",    "TemporalPositionIdentifier",
                                              "DiffusionBValue", "ImageType",   "AcquisitionNumber",
                                              "TriggerTime",     "SequenceName" };
constexpr std::size_t  DicomDetailCount = sizeof(DicomDetailNames) / sizeof(*DicomDetailNames);

/** What is known of a DICOM file without its pixels. */
struct DicomHeader
{
  std::string path;
  std::string damage;          ///< why the file cannot be whole; empty if nothing speaks against it
  bool        isImage{ true }; ///< false for reports, directories of a disk, and other things without pixels
  std::string classUid;
  std::string instanceUid;
  std::string studyUid;
  std::string seriesUid;
  std::string description;
  std::string modality;
  long        seriesNumber{ 0 };

  unsigned int columns{ 0 };
  unsigned int rows{ 0 };
  unsigned int samples{ 1 }; ///< components of a pixel
  unsigned int frames{ 1 };
  unsigned int bitsAllocated{ 0 };
  unsigned int bitsStored{ 0 };
  bool         isSigned{ false };

  std::vector<double> position;    ///< of the first pixel's centre, in mm; empty where the file does not say it
  std::vector<double> orientation; ///< directions of a row and of a column; empty where the file does not say it

  std::array<std::string, DicomDetailCount> details; ///< the values of DicomDetailNames
};

/** Reads the header of a DICOM file. Nothing is thrown for a damaged file: its header says so. */
DicomHeader
ReadDicomHeader(const std::string & path);

/** Text of a file in a form that a terminal and a line of text take: without control characters. */
std::string
Printable(std::string text);

#endif
