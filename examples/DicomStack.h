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
#ifndef DicomStack_h
#define DicomStack_h

#include "DicomHeader.h"

#include <string>
#include <vector>

/** Whether no two slices are at the same place. Slices that do not say where they are, or that do not lie parallel, are
 * no reason to say no. */
bool
HasDistinctPositions(const std::vector<DicomHeader> & slices);

/** Puts the slices of a volume into their order: by their position along the normal, the cross product of the
 * directions of a row and of a column.
 *
 * \returns the distance of two slices in mm; 0 when there is only one
 * \throws UserError that names the file, or the two files and the distance, when slices are damaged, have several
 * frames or components, differ in size, pixel type or orientation, have no position or the same, are missing or
 * unevenly spaced, or are not above each other, as with a tilted gantry. Nothing is guessed. */
double
OrderSlices(std::vector<DicomHeader> & slices);

#endif
