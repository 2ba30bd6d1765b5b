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
#ifndef MaskedLaunch_h
#define MaskedLaunch_h

#include "MaskedMemory.h"
#include "MaskedRequest.h"
#include "SlabKernel.h"

#include <optional>
#include <vector>

namespace cudamedian
{

/** What filters an image in device memory by a masked request (see IsMasked()), on one device: on the device it does
 * what MaskedCopy does on the host. A copy with its border has extreme keys where pixels are not valid, a map says
 * which rank of that each output has, and the output is written pixel by pixel. A large image passes in pieces.
 *
 * Where there is a kernel that reads the image and its mask where they lie (MaskedTiles.h), it does all of that. */
class MaskedLaunch
{
public:
  /** \param plan of MakeCopiedRequest(request). \throws RequestError where a piece is too large */
  MaskedLaunch(const MedianRequest & request, const Plan & plan);

  std::size_t
  CountSlabs() const
  {
    return m_IsDirect ? 1 : m_Pieces.size();
  }

  /** Bytes of device memory that a piece takes, for copies and kernels. */
  std::size_t
  GetLaunchBytes() const
  {
    return m_IsDirect ? 0 : m_Memory.bytes;
  }

  /** Sets the kernels, without which nothing is launched. */
  void
  SetKernel(const MedianRequest & request, SlabKernel && kernel);

  const SlabKernel &
  GetKernel() const
  {
    return *m_Kernel;
  }

  std::string
  DescribeCopies(const MedianRequest & request) const;

  /** Launches all, on the current device. A footprint, whose pixels are sent there, is waited for. \throws CudaError */
  void
  Launch(const MedianRequest & request, cudaStream_t stream) const;

private:
  struct Piece
  {
    Slab                    slab;
    std::vector<SlabLaunch> launches;
  };

  Slab
  MakeSlab(const MedianRequest & request, const PixelBox & outputs) const;
  MaskedMemory
  LayOut(const Slab & slab, bool hasResults) const;
  void
  LaunchPiece(const MedianRequest & request, const Piece & piece, char * memory, cudaStream_t stream) const;
  void
  LaunchCopy(const MedianRequest & request, const Slab & slab, char * memory, cudaStream_t stream) const;
  Flags
  GetFlags(const Slab & slab, char * flags) const;
  std::int64_t
  GetFirstFlag(const Slab & slab, const Extent & place) const;
  Extent
  GetFirstPlace(const Slab & slab) const;
  MarkArguments
  GetMarkArguments(const MedianRequest & request, const Slab & slab, char * memory) const;
  TurnArguments
  GetTurnArguments(const Slab & slab, char * memory) const;
  FillArguments
  GetFillArguments(const MedianRequest & request, const Slab & slab, char * memory) const;
  FinishArguments
  GetFinishArguments(const MedianRequest & request, const Slab & slab, char * memory) const;
  void
  LaunchRank(const Piece & piece, bool isLower, void * results, char * memory, cudaStream_t stream) const;
  void
  LaunchResults(const MedianRequest & request, const Slab & slab, char * memory, cudaStream_t stream) const;
  void
  LaunchInliers(const MedianRequest &   request,
                const Slab &            slab,
                const FinishArguments & finish,
                char *                  memory,
                cudaStream_t            stream) const;

  Window                       m_Window; ///< the request's
  PixelType                    m_PixelType;
  std::size_t                  m_PixelBytes;
  std::size_t                  m_ScratchBytes;
  MaskedRanks                  m_Ranks;
  std::size_t                  m_RankBytes;     ///< of a rank in the map; 0: there is none
  int                          m_Axis;          ///< along which keys come in turn
  bool                         m_HasDeviations; ///< whether outliers are told by deviations
  std::vector<FootprintMember> m_Members;
  std::vector<FlagRun>         m_Runs;
  std::int64_t                 m_RunCount; ///< of a window
  std::vector<Piece>           m_Pieces;
  MaskedMemory                 m_Memory; ///< of the largest piece, which is the first
  std::optional<SlabKernel>    m_Kernel;
  bool                         m_IsDirect{ false }; ///< whether kernels read the image where it lies …
  std::vector<SlabLaunch>      m_Direct;            ///< … their launches …
  std::string                  m_WhyCopied;         ///< … or what is in the way, where no more than a kernel is
};

} // namespace cudamedian

#endif
