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
#include "ExtremumHostKernels.h"
#include "ExtremumKernels.h"

#include <algorithm>
#include <cstring>

namespace cudamediantest
{
namespace
{

/** The lanes of a warp as a loop: between exchanges none depends on another's turn. */
template <typename TBody>
class LoopedWarp
{
public:
  using Lane = typename TBody::Lane;
  using Word = typename TBody::Word;

  template <typename TFunction>
  void
  ForEach(const TFunction & function)
  {
    for (int index = extremumLanes - 1; index >= 0; --index)
    {
      function(index, m_Lanes[index]);
    }
  }
  void
  Synchronize() const
  {}
  /** What comes from beyond the warp is the least there is where it is of no use. */
  template <int VWords, bool VHasEnds = true, typename TGive, typename TTake>
  void
  Fetch(int distance, const TGive & give, const TTake & take)
  {
    constexpr auto beyond = static_cast<Word>(VHasEnds ? ~Word{ 0 } : Word{ 0 });
    Word           fetched[extremumLanes][VWords];
    for (int index = 0; index < extremumLanes; ++index)
    {
      const int source = index + distance;
      for (int i = 0; i < VWords; ++i)
      {
        fetched[index][i] = source < 0 || source >= extremumLanes ? beyond : give(m_Lanes[source])[i];
      }
    }
    for (int index = 0; index < extremumLanes; ++index)
    {
      std::copy_n(fetched[index], VWords, take(m_Lanes[index]));
    }
  }

  template <typename TGive, typename TTake>
  void
  FetchRotated(int distance, int rotated, const TGive & give, const TTake & take)
  {
    constexpr int count = sizeof(give(m_Lanes[0])) / sizeof(Word);
    Word          fetched[extremumLanes][count + 1];
    for (int index = 0; index < extremumLanes; ++index)
    {
      for (int i = 0; i <= count; ++i)
      {
        // What comes from beyond the warp is not used.
        const int source = index + distance + (i + rotated >= count ? 1 : 0);
        fetched[index][i] = source < 0 || source >= extremumLanes ? Word{ 0 } : give(m_Lanes[source])[i % count];
      }
    }
    for (int index = 0; index < extremumLanes; ++index)
    {
      std::copy_n(fetched[index], count + 1, take(m_Lanes[index]));
    }
  }

private:
  std::vector<Lane> m_Lanes = std::vector<Lane>(extremumLanes);
};

/** The lanes of a team's warps as loops. */
template <typename TBody>
class LoopedTeam
{
public:
  explicit LoopedTeam(int warps)
    : m_Warps(static_cast<std::size_t>(warps))
  {}

  template <typename TFunction>
  void
  ForEach(const TFunction & function)
  {
    for (int number = static_cast<int>(m_Warps.size()) - 1; number >= 0; --number)
    {
      m_Warps[static_cast<std::size_t>(number)].ForEach([&](int index, auto & lane) { function(number, index, lane); });
    }
  }
  void
  Synchronize() const
  {}
  template <int VWords, typename TGive, typename TTake>
  void
  Fetch(int distance, const TGive & give, const TTake & take)
  {
    for (auto & warp : m_Warps)
    {
      warp.template Fetch<VWords>(distance, give, take);
    }
  }

private:
  std::vector<LoopedWarp<TBody>> m_Warps;
};

/** Runs what a warp or a team does. */
template <typename TBody>
void
RunBody(const ExtremumArguments & arguments, std::int64_t item, typename TBody::Pack * shared)
{
  if constexpr (TBody::IsTeam)
  {
    LoopedTeam<TBody> team(arguments.shape.warps);
    TBody(arguments, item, shared).Run(team);
  }
  else
  {
    LoopedWarp<TBody> warp;
    TBody(arguments, item, shared).Run(warp);
  }
}

} // namespace

template <typename TBits, KeyMapping VMapping>
bool
RunKernel(const ExtremumArguments & arguments)
{
  return ExtremumKernels<TBits, VMapping>::Dispatch(arguments.shape, [&](auto type) {
    using Body = typename decltype(type)::Body;
    using Pack = typename Body::Pack;
    constexpr std::size_t guard = 64;
    const auto bytes = static_cast<std::size_t>(arguments.shape.warpBytes * (Body::IsTeam ? arguments.shape.warps : 1));
    for (std::int64_t item = 0; item < arguments.items; ++item)
    {
      std::vector<Pack> shared(bytes / sizeof(Pack) + 2 * guard);
      std::memset(static_cast<void *>(shared.data()), 0x5A, shared.size() * sizeof(Pack));
      const auto unwritten = shared[0];
      RunBody<Body>(arguments, item, shared.data() + guard);
      const auto isKept = [&](const Pack & pack) { return std::memcmp(&pack, &unwritten, sizeof(Pack)) == 0; };
      if (!std::all_of(shared.begin(), shared.begin() + guard, isKept) ||
          !std::all_of(shared.end() - guard, shared.end(), isKept))
      {
        return true;
      }
    }
    return false;
  });
}

template bool
RunKernel<std::uint8_t, KeyMapping::Integer>(const ExtremumArguments &);
template bool
RunKernel<std::uint16_t, KeyMapping::Integer>(const ExtremumArguments &);
template bool
RunKernel<std::uint32_t, KeyMapping::Integer>(const ExtremumArguments &);
template bool
RunKernel<std::uint32_t, KeyMapping::Float>(const ExtremumArguments &);
template bool
RunKernel<std::uint64_t, KeyMapping::Integer>(const ExtremumArguments &);
template bool
RunKernel<std::uint64_t, KeyMapping::Float>(const ExtremumArguments &);

} // namespace cudamediantest
