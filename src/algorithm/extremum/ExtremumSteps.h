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
#ifndef ExtremumSteps_h
#define ExtremumSteps_h

#include "ExtremumArguments.h"

namespace cudamedian
{

/** The most pixels that a buffer of extremes between passes has, for a region of so many outputs.
 *
 * \param inputExtent beyond which there is nothing to keep \param vector pixels of 16 bytes */
std::int64_t
CountExtremumBuffer(const std::vector<ExtremumShape> & shapes,
                    const Extent &                     region,
                    const Extent &                     inputExtent,
                    std::int64_t                       vector);

/** The largest region whose two buffers fit in scratch memory: halves of the outputs, as often as it takes. Empty where
 * not even a pixel's fit. */
Extent
ChooseExtremumRegion(const std::vector<ExtremumShape> & shapes,
                     const Extent &                     outputExtent,
                     const Extent &                     inputExtent,
                     std::size_t                        pixelBytes,
                     std::size_t                        scratchBytes);

/** How much a shape's warps have to do for a slab. */
void
CountExtremumItems(ExtremumArguments & arguments, int pixelBytes);

/** A slab region by region: what the kernel of each pass is told. */
class ExtremumSteps
{
public:
  ExtremumSteps(const KernelArguments & slab, const std::vector<ExtremumShape> & shapes, std::size_t pixelBytes)
    : m_Slab(slab)
    , m_Shapes(shapes)
    , m_PixelBytes(pixelBytes)
    , m_Vector(GetDevicePitch(1, pixelBytes))
  {}

  /** Calls launch(arguments), whose result converts to true where it failed, for each kernel until one fails.
   *
   * \param tooSmall what is returned where there is too little scratch memory \returns what the last returned */
  template <typename TResult, typename TLaunch>
  TResult
  Run(void * scratch, std::size_t scratchBytes, TResult tooSmall, const TLaunch & launch) const
  {
    const Extent outputs{
      { m_Slab.outputExtent[0], m_Slab.outputExtent[1], m_Slab.outputExtent[2], m_Slab.outputExtent[3] }
    };
    const Extent inputs{
      { m_Slab.inputExtent[0], m_Slab.inputExtent[1], m_Slab.inputExtent[2], m_Slab.inputExtent[3] }
    };
    const auto region =
      m_Shapes.size() == 1 ? outputs : ChooseExtremumRegion(m_Shapes, outputs, inputs, m_PixelBytes, scratchBytes);
    if (Volume(region) == 0)
    {
      return tooSmall;
    }
    TResult result{};
    ForEachBox(outputs, region, [&](PixelBox box) {
      for (int axis = 0; axis < Dimension; ++axis)
      {
        box.origin[axis] += m_Slab.outputOrigin[axis];
      }
      auto before = GetSlab();
      for (std::size_t number = 0; number < m_Shapes.size() && !static_cast<bool>(result); ++number)
      {
        const bool isLast = number + 1 == m_Shapes.size();
        const auto half = scratchBytes / 2 / deviceAlignment * deviceAlignment;
        const auto after = isLast ? GetOutputs(box)
                                  : GetBuffer(box, number, static_cast<char *>(scratch) + (number % 2 == 0 ? 0 : half));
        result = launch(MakeArguments(before, after, number));
        before = after;
      }
    });
    return result;
  }

private:
  /** Pixels in device memory; the box is relative to the slab's input. */
  struct Pixels
  {
    PixelBox     box;
    char *       data; ///< of the pixel at column `grid` of the box's first row
    std::int64_t grid;
    std::int64_t pitch[Dimension];
  };

  Pixels
  GetSlab() const;

  /** Where a region's outputs belong. */
  Pixels
  GetOutputs(const PixelBox & region) const;

  /** What the passes behind one need for a region. */
  Pixels
  GetBuffer(const PixelBox & region, std::size_t number, char * data) const;

  /** What the kernel of a pass is told. */
  ExtremumArguments
  MakeArguments(const Pixels & from, const Pixels & to, std::size_t number) const;

  const KernelArguments &            m_Slab;
  const std::vector<ExtremumShape> & m_Shapes;
  std::size_t                        m_PixelBytes;
  std::int64_t                       m_Vector; ///< pixels of 16 bytes
};

} // namespace cudamedian

#endif
