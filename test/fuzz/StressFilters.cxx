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
#include "StressFilters.h"

#include "itkCommand.h"
#include "itkCudaMedianImageFilter.h"
#include "itkImage.h"

#include <array>
#include <cstring>
#include <mutex>
#include <type_traits>

namespace cudamedianfuzz
{
namespace
{

/** A few filters of one type. */
template <typename TPixel, unsigned int VDimension>
class Pool
{
public:
  using Image = itk::Image<TPixel, VDimension>;
  using Filter = itk::CudaMedianImageFilter<Image>;

  std::vector<StressResult>
  Run(const Case & c, const std::vector<char> & pixels, float abortAt, std::mt19937_64 & random)
  {
    auto &                            shared = m_Shared[random() % m_Shared.size()];
    const std::lock_guard<std::mutex> lock(shared.mutex);
    if (!shared.filter || random() % 50 == 0)
    {
      shared.filter = Filter::New();
    }
    auto & filter = *shared.filter;

    const auto                 input = Image::New();
    typename Image::RegionType region;
    typename Image::RegionType requested;
    typename Image::SizeType   radius;
    for (unsigned int axis = 0; axis < VDimension; ++axis)
    {
      region.SetIndex(axis, c.index[axis]);
      region.SetSize(axis, static_cast<itk::SizeValueType>(c.size[axis]));
      requested.SetIndex(axis, c.index[axis] + c.offset[axis]);
      requested.SetSize(axis, static_cast<itk::SizeValueType>(c.region[axis]));
      radius[axis] = static_cast<itk::SizeValueType>(c.radius[axis]);
    }
    input->SetRegions(region);
    input->Allocate();
    std::memcpy(input->GetBufferPointer(), pixels.data(), pixels.size());
    filter.SetInput(input);
    filter.SetRadius(radius);
    filter.SetSliceWise(c.sliceWise);
    filter.SetBackend(static_cast<typename Filter::BackendEnum>(c.backend));
    filter.SetAlgorithm(static_cast<typename Filter::AlgorithmEnum>(c.algorithm));
    filter.SetDeviceMemoryBudget(c.budget);
    filter.SetDevices(c.devices);
    filter.SetNumberOfWorkUnits(c.units);

    const auto command = itk::SimpleMemberCommand<Aborter>::New();
    Aborter    aborter{ &filter, abortAt };
    command->SetCallbackFunction(&aborter, &Aborter::Execute);
    const auto observer = filter.AddObserver(itk::ProgressEvent(), command);

    std::vector<StressResult> results;
    do
    {
      results.push_back(Update(filter, requested));
      aborter.at = 2; // never again
    } while (results.back().aborted && results.size() < 2);
    filter.RemoveObserver(observer);
    return results;
  }

private:
  /** Asks a filter to stop. */
  struct Aborter
  {
    Filter * filter;
    float    at;

    void
    Execute()
    {
      if (filter->GetProgress() >= at)
      {
        filter->AbortGenerateDataOn();
      }
    }
  };

  struct Shared
  {
    std::mutex               mutex;
    typename Filter::Pointer filter;
  };

  static StressResult
  Update(Filter & filter, const typename Image::RegionType & requested)
  {
    StressResult result;
    try
    {
      filter.UpdateOutputInformation();
      filter.GetOutput()->SetRequestedRegion(requested);
      filter.Modified();
      filter.Update();
      const auto * output = filter.GetOutput();
      if (output->GetBufferedRegion() != requested)
      {
        result.error = "the buffered region is not the requested one";
        return result;
      }
      const auto * first = reinterpret_cast<const char *>(output->GetBufferPointer());
      result.pixels.assign(first, first + requested.GetNumberOfPixels() * sizeof(TPixel));
    }
    catch (const itk::ProcessAborted &)
    {
      result.aborted = true;
    }
    catch (const std::exception & error)
    {
      result.error = error.what();
    }
    return result;
  }

  std::array<Shared, 3> m_Shared;
};

} // namespace

struct StressFilters::Pools
{
  Pool<std::uint8_t, 2> bytes;
  Pool<std::int16_t, 2> words;
  Pool<std::int16_t, 3> volumes;
  Pool<float, 3>        floats;
};

StressFilters::StressFilters()
  : m_Pools(std::make_unique<Pools>())
{}

StressFilters::~StressFilters() = default;

bool
StressFilters::Covers(const Case & c)
{
  return !c.otherOutput && ((c.dimension == 2 && (c.type == PixelType::UInt8 || c.type == PixelType::Int16)) ||
                            (c.dimension == 3 && (c.type == PixelType::Int16 || c.type == PixelType::Float32)));
}

std::vector<StressResult>
StressFilters::Run(const Case & c, const std::vector<char> & pixels, float abortAt, std::mt19937_64 & random)
{
  return c.type == PixelType::UInt8     ? m_Pools->bytes.Run(c, pixels, abortAt, random)
         : c.type == PixelType::Float32 ? m_Pools->floats.Run(c, pixels, abortAt, random)
         : c.dimension == 2             ? m_Pools->words.Run(c, pixels, abortAt, random)
                                        : m_Pools->volumes.Run(c, pixels, abortAt, random);
}

} // namespace cudamedianfuzz
