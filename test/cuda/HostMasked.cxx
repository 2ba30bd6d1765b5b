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
// What prepares masked copies on devices that are threads of the host: the bodies of the kernels, as loops.
#include "FillBodies.h"
#include "HostRuntime.h"
#include "MarkBodies.h"
#include "OutlierBodies.h"
#include "RankBodies.h"
#include "RowBodies.h"

#include <functional>

namespace cudamedian
{
namespace
{

template <typename TBody>
void
RunBody(const TBody & body)
{
  for (std::int64_t row = 0; row < body.GetHeight() * body.CountSlices(); ++row)
  {
    const auto place = body.GetRow(row % body.GetHeight(), row / body.GetHeight());
    for (std::int64_t x = 0; x < body.GetWidth(); ++x)
    {
      body(place, x);
    }
  }
}

cudaError_t
LaunchWork(std::function<void()> work, cudaStream_t stream)
{
  void * pointers[] = { &work };
  static_cast<void>(cudaLaunchKernel(nullptr, dim3(), dim3(), pointers, 0, stream));
  return cudaGetLastError();
}

struct Launcher
{
  template <typename TBody>
  cudaError_t
  operator()(const TBody & body) const
  {
    return LaunchWork([body] { RunBody(body); }, stream);
  }

  cudaStream_t stream;
};

} // namespace

cudaError_t
LaunchMarks(const MarkArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<MarkBody>(arguments, Launcher{ stream });
}

cudaError_t
LaunchParities(const TurnArguments & arguments, cudaStream_t stream)
{
  return Launcher{ stream }(ParityBody(arguments));
}

cudaError_t
LaunchTurns(const TurnArguments & arguments, cudaStream_t stream)
{
  return Launcher{ stream }(TurnBody(arguments));
}

cudaError_t
LaunchFilling(const FillArguments & arguments, cudaStream_t stream)
{
  const auto pixels = static_cast<std::size_t>(arguments.stride[3] * arguments.extent[3]);
  return DispatchWidth<FillBody>(arguments, [&](const auto & body) {
    return LaunchWork(
      [=] {
        RunBody(body);
        hostruntime::MarkInitialized(arguments.copy, pixels * PixelBytes(arguments.pixelType));
      },
      stream);
  });
}

cudaError_t
LaunchRows(const RowsArguments & arguments, cudaStream_t stream)
{
  const auto & filling = arguments.filling;
  const auto   pixels = static_cast<std::size_t>(filling.stride[3] * filling.extent[3]);
  return DispatchRows(arguments, [&](const auto & body) {
    return LaunchWork(
      [=] {
        for (std::int64_t row = 0; row < body.GetHeight() * body.CountSlices(); ++row)
        {
          body(SingleLane{}, row % body.GetHeight(), row / body.GetHeight());
        }
        hostruntime::MarkInitialized(arguments.filling.copy, pixels * PixelBytes(arguments.marks.pixelType));
      },
      stream);
  });
}

cudaError_t
LaunchRanks(const RankArguments & arguments, cudaStream_t stream)
{
  return DispatchRanks(arguments, Launcher{ stream });
}

cudaError_t
LaunchMeans(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchMeans(arguments, Launcher{ stream });
}

cudaError_t
LaunchBounds(const BoundArguments & arguments, cudaStream_t stream)
{
  return DispatchBounds(arguments, Launcher{ stream });
}

cudaError_t
LaunchOutlierKernel(const OutlierArguments & arguments, cudaStream_t stream)
{
  return DispatchOutliers(arguments, Launcher{ stream });
}

cudaError_t
LaunchFinish(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchFinish(arguments, Launcher{ stream });
}

cudaError_t
LaunchExceptions(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<ExceptionBody>(arguments, Launcher{ stream });
}

} // namespace cudamedian
