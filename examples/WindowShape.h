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
#ifndef WindowShape_h
#define WindowShape_h

#include "itkCudaMedianFootprint.h"

#include <cstdint>
#include <string>
#include <vector>

/** A footprint as the command line tells it. */
struct WindowShape
{
  /** What the footprint looks like. */
  enum class Kind
  {
    Disk,      ///< along the first two axes
    Ball,      ///< along all axes
    Ellipsoid, ///< with a radius for each
    Cross,
    File
  };

  Kind                kind{ Kind::Ball };
  std::vector<double> radius;              ///< one number, or one per axis
  bool                isPhysical{ false }; ///< whether radii are in millimetres, as the image's spacing
  std::string         text;                ///< as it was written; of Kind::File the file
};

/** Reads "disk:2", "ball:1.5", "ball:3mm", "ellipsoid:3,3,1", "cross", "cross:2" or the name of an image whose values
 * are weights. \throws UserError */
WindowShape
ParseFootprint(const std::string & text);

/** The footprint for an image with a spacing along each of its axes. \throws UserError */
const cudamedian::Footprint *
MakeFootprint(const WindowShape & shape, const std::vector<double> & spacing, bool sliceWise);

/** A box whose center counts several times. \throws UserError */
const cudamedian::Footprint *
MakeCenterWeighted(const std::vector<std::uint64_t> & radius, std::uint64_t weight);

#endif
