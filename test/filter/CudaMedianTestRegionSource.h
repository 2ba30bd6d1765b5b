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
#ifndef CudaMedianTestRegionSource_h
#define CudaMedianTestRegionSource_h

#include "itkImageRegionIteratorWithIndex.h"
#include "itkImageSource.h"

#include <cstdint>

namespace cudamediantest
{

/** A reader of a kind: it knows a large image and buffers only what is asked for, and never more than is available.
 * Each pixel is a function of its index, so that every part it delivers agrees with the whole. */
template <typename TImage>
class RegionSource : public itk::ImageSource<TImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(RegionSource);

  using Self = RegionSource;
  using Superclass = itk::ImageSource<TImage>;
  using Pointer = itk::SmartPointer<Self>;
  using ConstPointer = itk::SmartPointer<const Self>;
  using RegionType = typename TImage::RegionType;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(RegionSource);
#else
  itkTypeMacro(RegionSource, ImageSource);
#endif

  /** The whole image. */
  void
  SetRegion(const RegionType & region)
  {
    m_Region = region;
    m_Available = region;
    this->Modified();
  }

  /** The part that can be buffered; the whole image unless set. */
  void
  SetAvailable(const RegionType & region)
  {
    m_Available = region;
    this->Modified();
  }

  /** Buffers more than is asked for, by so many pixels on each side. */
  void
  SetExcess(itk::SizeValueType excess)
  {
    m_Excess = excess;
    this->Modified();
  }

protected:
  RegionSource() = default;
  ~RegionSource() override = default;

  void
  GenerateOutputInformation() override
  {
    this->GetOutput()->SetLargestPossibleRegion(m_Region);
  }

  void
  GenerateData() override
  {
    TImage * const output = this->GetOutput();
    RegionType     region = output->GetRequestedRegion();
    region.PadByRadius(m_Excess);
    region.Crop(m_Available);
    output->SetBufferedRegion(region);
    output->Allocate();
    for (itk::ImageRegionIteratorWithIndex<TImage> it(output, region); !it.IsAtEnd(); ++it)
    {
      std::uint64_t hash = 0x9e3779b97f4a7c15u;
      for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
      {
        hash = (hash ^ static_cast<std::uint64_t>(it.GetIndex()[axis])) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 29;
      }
      it.Set(static_cast<typename TImage::PixelType>(hash >> 13));
    }
  }

private:
  RegionType         m_Region;
  RegionType         m_Available;
  itk::SizeValueType m_Excess{ 0 };
};

} // namespace cudamediantest

#endif
