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
#ifndef FileLength_h
#define FileLength_h

#include <string>

/** Why an image file cannot be whole, such as "the file ends after 12 of 20 bytes"; empty if nothing speaks against it.
 *
 * Some of ITK's readers fill up what a short file lacks without a word, and some crash on it. So formats of which that
 * is known are looked at first: every gzip stream has to end as it should and to have its checksum, NIfTI and Analyze
 * images and BMP need the bytes that their header promises, TIFF all directories and strips, JPEG its end, and DICOM
 * all data elements up to its pixels and as many bytes of them as its header promises. What is not known here is left
 * to the reader. */
std::string
WhyIncomplete(const std::string & path);

/** Whether a file begins as DICOM files do. */
bool
IsDicom(const std::string & path);

/** As WhyIncomplete(), for a DICOM file without its pixels: GDCM ends the program when it meets a header that is cut.
 */
std::string
WhyDicomHeaderIncomplete(const std::string & path);

#endif
