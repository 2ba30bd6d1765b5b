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
#ifndef ImagePipeline_h
#define ImagePipeline_h

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

class vtkAlgorithmOutput;

/** \class ImagePipeline
 * An image, its median and their difference, for VTK. VTK reads the pixels where ITK has them; spacing, origin and
 * direction go along. Images of two dimensions have one slice.
 *
 * Pixels of 8 or 16 bits and float become float, all others double. Every integer keeps its value, and a difference of
 * integers is exact. */
class ImagePipeline
{
public:
  virtual ~ImagePipeline() = default;

  /** Reads a file. \throws UserError when it cannot be read, is not scalar, not of two or three dimensions, or holds
   * integers that a double cannot */
  static std::unique_ptr<ImagePipeline>
  Read(const std::string & path);

  /** Makes the median and the difference. Until it returns, both are those of the last call. `progress` is told the
   * fraction done, in the calling thread. \throws UserError when the number of radii is not that of the axes */
  virtual void
  Apply(const std::vector<std::uint64_t> & radius, const std::function<void(float)> & progress) = 0;

  /** The image of the file. */
  virtual vtkAlgorithmOutput *
  Original() = 0;

  /** The median. To be connected after the first Apply(). */
  virtual vtkAlgorithmOutput *
  Median() = 0;

  /** Original minus median, signed. To be connected after the first Apply(). */
  virtual vtkAlgorithmOutput *
  Difference() = 0;

  /** Axes of the file: 2 or 3. */
  virtual unsigned int
  Dimension() const = 0;

  /** Pixels along each axis. */
  virtual std::array<int, 3>
  Size() const = 0;

  /** Millimetres between pixels. */
  virtual std::array<double, 3>
  Spacing() const = 0;

  /** Place of the middle of the image, in millimetres. */
  virtual std::array<double, 3>
  Center() const = 0;

  /** Unit vector in which `axis` runs. */
  virtual std::array<double, 3>
  AxisDirection(unsigned int axis) const = 0;
};

#endif
