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
#include "VectorHost.h"

#include "PixelFormat.h"
#include "RowDealer.h"
#include "VectorRowRunner.h"

namespace cudamedian
{
namespace
{

/** Finds vector medians pixel by pixel, for windows that VectorRowRunner does not cover. */
template <typename TDistance>
class VectorPixelRunner
{
public:
  VectorPixelRunner(const MedianRequest &, const VectorArguments & arguments)
    : m_Arguments(arguments)
  {}

  static std::size_t
  CountRows(const MedianRequest &, const VectorArguments & arguments)
  {
    const auto * extent = arguments.outputExtent;
    return static_cast<std::size_t>(extent[1] * extent[2] * extent[3]);
  }

  void
  Run(std::size_t number) const
  {
    auto         left = static_cast<std::int64_t>(number);
    std::int64_t pixel[Dimension]{};
    for (int axis = 1; axis < Dimension; ++axis)
    {
      pixel[axis] = left % m_Arguments.outputExtent[axis];
      left /= m_Arguments.outputExtent[axis];
    }
    for (; pixel[0] < m_Arguments.outputExtent[0]; ++pixel[0])
    {
      RunVectorPixel<TDistance>(m_Arguments, pixel);
    }
  }

  std::size_t
  GetScratchBytes() const
  {
    return 0;
  }

private:
  const VectorArguments m_Arguments;
};

} // namespace

VectorArguments
GetVectorArguments(const VectorMedianRequest & request)
{
  VectorArguments arguments{};
  arguments.input = request.input;
  arguments.output = request.output;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputExtent[axis] = request.inputExtent[axis];
    arguments.outputOrigin[axis] = request.outputOrigin[axis];
    arguments.outputExtent[axis] = request.outputExtent[axis];
    arguments.outputStride[axis] = request.outputStride[axis];
    arguments.radius[axis] = static_cast<std::int32_t>(request.radius[axis]);
  }
  arguments.components = request.components;
  arguments.signMask = GetSignMask(request.componentType);
  return arguments;
}

void
RunVectorMedianOnHost(const VectorMedianRequest & request, ExecutionReport & report)
{
  // What deals rows asks a request for no more than this.
  MedianRequest shared;
  shared.workUnits = request.workUnits;
  shared.parallelFor = request.parallelFor;
  shared.progress = request.progress;
  const auto arguments = GetVectorArguments(request);
  DispatchKeys(GetKeyFormat(request.componentType), [&](auto key) {
    CallWithDistance(key, request.norm, [&](auto distance) {
      using Distance = decltype(distance);
      if (VectorRowRunner<Distance>::Covers(arguments))
      {
        report.algorithm = "vector median, rows of candidates";
        RunRows<VectorRowRunner<Distance>>(shared, arguments, report);
      }
      else
      {
        report.algorithm = "vector median, pixel by pixel";
        RunRows<VectorPixelRunner<Distance>>(shared, arguments, report);
      }
    });
  });
}

} // namespace cudamedian
