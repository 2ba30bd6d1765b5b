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
#include "TileHost.h"

#include "DirectRowRunner.h"
#include "PixelFormat.h"
#include "RowDealer.h"
#include "TileRowCut.h"
#include "TileRowRunner.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace cudamedian
{
namespace
{

class TileMethod : public HostMethod
{
public:
  explicit TileMethod(const TileWork & work)
    : m_Work(work)
  {}

  void
  Run(const MedianRequest & request, const PixelBox & output, ExecutionReport & report) const override
  {
    auto work = m_Work;
    work.output = output;
    RunWork(request, work, report);
  }

  bool
  TakesRuledRows(const MedianRequest &) const override
  {
    // What tiles share would be asked for beside a box's own.
    return m_Work.rowProgram != nullptr && m_Work.rowProgram->phases.size() == 1;
  }

  void
  RunRuled(const MedianRequest &  request,
           const PixelBox &       output,
           const RuledRowsMaker & rules,
           ExecutionReport &      report) const override
  {
    auto work = m_Work;
    work.output = output;
    work.rules = &rules;
    RunWork(request, work, report);
  }

  double
  EstimateWork(const MedianRequest & request, const HostTraits & host, double threads) const override
  {
    return EstimateTileWork(m_Work, request, host, threads);
  }

  std::string
  Describe() const override
  {
    return m_Work.rowProgram == nullptr ? ", interpreted"
                                        : std::string(", compiled ahead for ") + m_Work.rowProgram->getInstructionSet();
  }

private:
  static void
  RunWork(const MedianRequest & request, const TileWork & work, ExecutionReport & report)
  {
    DispatchKeys(GetKeyFormat(request.pixelType), [&](auto key) {
      using Bits = typename decltype(key)::Bits;
      // Programs of one column are compiled for integers of 8 and 16 bits only.
      if constexpr (sizeof(Bits) <= 2)
      {
        if (work.rowProgram != nullptr && work.rowProgram->HasOneColumn())
        {
          RunRows<DirectRowRunner<Bits>>(request, work, report);
          return;
        }
      }
      RunRows<TileRowRunner<Bits, decltype(key)::mapping>>(request, work, report);
    });
  }

  TileWork m_Work;
};

} // namespace

double
EstimateTileWork(const TileWork & work, const MedianRequest & request, const HostTraits & host, double threads)
{
  // Making keys of rows and splitting them takes as long as 20 operations for a pixel, and reading them where they are
  // as long as 5. The rate is the interpreter's in the first cache; most of its values leave that. Compiled programs
  // have theirs in registers, and compare and form maxima on two ports.
  const auto   keyBytes = static_cast<double>(PixelBytes(request.pixelType));
  const auto & tile = work.GetTile();
  const double operations = static_cast<double>(work.CountOperations()) / static_cast<double>(Volume(tile));
  const bool   isCompiled = work.rowProgram != nullptr;
  const double rows = isCompiled && work.rowProgram->HasOneColumn() ? 5 : 20;
  const double seconds = static_cast<double>(Volume(request.outputExtent)) *
                         (rows + (isCompiled ? 0.5 : 1.8) * operations) * keyBytes / host.laneBytes;
  // The narrower an image, the shorter the rows of tiles, and the more threads share it, the smaller the parts and the
  // longer they wait for each other. Fitted to measured times from 64x64x64 to 4096x4096.
  const double tiles = std::ceil(static_cast<double>(request.outputExtent[0]) / static_cast<double>(tile[0]));
  return seconds * (1 + 16 * threads / std::min(1024.0, tiles * keyBytes));
}

std::shared_ptr<const HostMethod>
MakeTileMethod(const TileWork & work)
{
  const auto columns = work.GetTile()[0];
  if (columns > mostTileColumns)
  {
    throw std::logic_error("MakeTileMethod: a tile has " + std::to_string(columns) + " columns; at most " +
                           std::to_string(mostTileColumns) + " are brought together");
  }
  return std::make_shared<TileMethod>(work);
}

} // namespace cudamedian
