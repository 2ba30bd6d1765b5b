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
#include "BodyLauncher.cuh"
#include "FillBodies.h"
#include "MarkBodies.h"
#include "MaskedBodies.h"
#include "RankBodies.h"

namespace cudamedian
{

cudaError_t
LaunchMarks(const MarkArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<MarkBody>(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchParities(const TurnArguments & arguments, cudaStream_t stream)
{
  return BodyLauncher{ stream }(ParityBody(arguments));
}

cudaError_t
LaunchTurns(const TurnArguments & arguments, cudaStream_t stream)
{
  return BodyLauncher{ stream }(TurnBody(arguments));
}

cudaError_t
LaunchFilling(const FillArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<FillBody>(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchRanks(const RankArguments & arguments, cudaStream_t stream)
{
  return DispatchRanks(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchMeans(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchMeans(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchFinish(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchFinish(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchExceptions(const FinishArguments & arguments, cudaStream_t stream)
{
  return DispatchWidth<ExceptionBody>(arguments, BodyLauncher{ stream });
}

} // namespace cudamedian
