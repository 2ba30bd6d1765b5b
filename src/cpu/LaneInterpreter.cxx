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
#include "LaneInterpreter.h"

#include "PixelFormat.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "LaneInterpreter.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "KeyVectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

/** Runs one instruction over all lanes, four vectors at a time. A slot may be both operand and result: each lane is
 * read before it is written. */
template <bool VMin, bool VMax, typename TKey>
HWY_INLINE void
RunInstruction(const TKey * a, const TKey * b, TKey * low, TKey * high, std::size_t lanes)
{
  const KeyTag<TKey> d;
  const std::size_t  n = hn::Lanes(d);
  std::size_t        i = 0;
  for (; i + 4 * n <= lanes; i += 4 * n)
  {
    const auto a0 = hn::LoadU(d, a + i);
    const auto a1 = hn::LoadU(d, a + i + n);
    const auto a2 = hn::LoadU(d, a + i + 2 * n);
    const auto a3 = hn::LoadU(d, a + i + 3 * n);
    const auto b0 = hn::LoadU(d, b + i);
    const auto b1 = hn::LoadU(d, b + i + n);
    const auto b2 = hn::LoadU(d, b + i + 2 * n);
    const auto b3 = hn::LoadU(d, b + i + 3 * n);
    if (VMin)
    {
      hn::StoreU(hn::Min(a0, b0), d, low + i);
      hn::StoreU(hn::Min(a1, b1), d, low + i + n);
      hn::StoreU(hn::Min(a2, b2), d, low + i + 2 * n);
      hn::StoreU(hn::Min(a3, b3), d, low + i + 3 * n);
    }
    if (VMax)
    {
      hn::StoreU(hn::Max(a0, b0), d, high + i);
      hn::StoreU(hn::Max(a1, b1), d, high + i + n);
      hn::StoreU(hn::Max(a2, b2), d, high + i + 2 * n);
      hn::StoreU(hn::Max(a3, b3), d, high + i + 3 * n);
    }
  }
  for (; i < lanes; i += n)
  {
    const auto a0 = hn::LoadU(d, a + i);
    const auto b0 = hn::LoadU(d, b + i);
    if (VMin)
    {
      hn::StoreU(hn::Min(a0, b0), d, low + i);
    }
    if (VMax)
    {
      hn::StoreU(hn::Max(a0, b0), d, high + i);
    }
  }
}

/** The same for two instructions of which the second alone uses one result of the first, its greater one or its lesser
 * one, and `c`. Whether the first has another result, and which the second has, are the other parameters. */
template <bool VFirstHigh, bool VOther, bool VMin, bool VMax, typename TKey>
HWY_INLINE void
RunJoined(const TKey * a, const TKey * b, const TKey * c, TKey * other, TKey * low, TKey * high, std::size_t lanes)
{
  const KeyTag<TKey> d;
  const std::size_t  n = hn::Lanes(d);
  const auto         run = [&](std::size_t i, auto va, auto vb, auto vc) HWY_ATTR {
    const auto joined = VFirstHigh ? hn::Max(va, vb) : hn::Min(va, vb);
    if (VOther)
    {
      hn::StoreU(VFirstHigh ? hn::Min(va, vb) : hn::Max(va, vb), d, other + i);
    }
    if (VMin)
    {
      hn::StoreU(hn::Min(joined, vc), d, low + i);
    }
    if (VMax)
    {
      hn::StoreU(hn::Max(joined, vc), d, high + i);
    }
  };
  std::size_t i = 0;
  for (; i + 4 * n <= lanes; i += 4 * n)
  {
    const auto a0 = hn::LoadU(d, a + i);
    const auto a1 = hn::LoadU(d, a + i + n);
    const auto a2 = hn::LoadU(d, a + i + 2 * n);
    const auto a3 = hn::LoadU(d, a + i + 3 * n);
    const auto b0 = hn::LoadU(d, b + i);
    const auto b1 = hn::LoadU(d, b + i + n);
    const auto b2 = hn::LoadU(d, b + i + 2 * n);
    const auto b3 = hn::LoadU(d, b + i + 3 * n);
    const auto c0 = hn::LoadU(d, c + i);
    const auto c1 = hn::LoadU(d, c + i + n);
    const auto c2 = hn::LoadU(d, c + i + 2 * n);
    const auto c3 = hn::LoadU(d, c + i + 3 * n);
    run(i, a0, b0, c0);
    run(i + n, a1, b1, c1);
    run(i + 2 * n, a2, b2, c2);
    run(i + 3 * n, a3, b3, c3);
  }
  for (; i < lanes; i += n)
  {
    run(i, hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, c + i));
  }
}

template <bool VFirstHigh, bool VOther, typename TKey>
HWY_INLINE void
RunSecond(const ProgramSchedule::Instruction & second,
          const TKey *                         a,
          const TKey *                         b,
          const TKey *                         c,
          TKey *                               other,
          TKey * const *                       slots,
          std::size_t                          lanes)
{
  TKey * low = slots[second.low];
  TKey * high = slots[second.high];
  switch (second.operation)
  {
    case ProgramSchedule::Operation::MinMax:
      return RunJoined<VFirstHigh, VOther, true, true>(a, b, c, other, low, high, lanes);
    case ProgramSchedule::Operation::Min:
      return RunJoined<VFirstHigh, VOther, true, false>(a, b, c, other, low, high, lanes);
    case ProgramSchedule::Operation::Max:
      return RunJoined<VFirstHigh, VOther, false, true>(a, b, c, other, low, high, lanes);
  }
}

template <typename TKey>
HWY_INLINE void
InterpretJoined(const ProgramSchedule & schedule, std::size_t number, TKey * const * operands, std::size_t lanes)
{
  const auto &   first = schedule.instructions[number];
  const auto &   second = schedule.instructions[number + 1];
  const bool     isHigh = schedule.joins[number] == ProgramSchedule::Join::High;
  const bool     isBoth = first.operation == ProgramSchedule::Operation::MinMax;
  TKey * const * slots = operands + schedule.numberOfInputs;
  const TKey *   a = operands[first.a];
  const TKey *   b = operands[first.b];
  const auto     joined = schedule.numberOfInputs + (isHigh ? first.high : first.low);
  const TKey *   c = operands[second.a == joined ? second.b : second.a];
  TKey *         other = slots[isHigh ? first.low : first.high];
  isHigh   ? isBoth ? RunSecond<true, true>(second, a, b, c, other, slots, lanes)
                            : RunSecond<true, false>(second, a, b, c, other, slots, lanes)
            : isBoth ? RunSecond<false, true>(second, a, b, c, other, slots, lanes)
                   : RunSecond<false, false>(second, a, b, c, other, slots, lanes);
}

template <typename TKey>
HWY_INLINE void
Interpret(const ProgramSchedule & schedule, TKey * const * operands, std::size_t lanes)
{
  using Operation = ProgramSchedule::Operation;
  TKey * const * slots = operands + schedule.numberOfInputs;
  for (std::size_t number = 0; number < schedule.instructions.size(); ++number)
  {
    if (schedule.joins[number] != ProgramSchedule::Join::None)
    {
      InterpretJoined(schedule, number++, operands, lanes);
      continue;
    }
    const auto & instruction = schedule.instructions[number];
    const TKey * a = operands[instruction.a];
    const TKey * b = operands[instruction.b];
    TKey *       low = slots[instruction.low];
    TKey *       high = slots[instruction.high];
    switch (instruction.operation)
    {
      case Operation::MinMax:
        RunInstruction<true, true>(a, b, low, high, lanes);
        break;
      case Operation::Min:
        RunInstruction<true, false>(a, b, low, high, lanes);
        break;
      case Operation::Max:
        RunInstruction<false, true>(a, b, low, high, lanes);
        break;
    }
  }
}

// Highway dispatches functions, not templates.
void
InterpretAny(const ProgramSchedule & schedule, const void * operands, std::size_t keyBytes, std::size_t lanes)
{
  DispatchBytes(keyBytes,
                [&](auto key) HWY_ATTR { Interpret(schedule, static_cast<decltype(key) * const *>(operands), lanes); });
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cudamedian
{

HWY_EXPORT(InterpretAny);

void
InterpretBytes(const ProgramSchedule & schedule, const void * operands, std::size_t keyBytes, std::size_t lanes)
{
  HWY_DYNAMIC_DISPATCH(InterpretAny)(schedule, operands, keyBytes, lanes);
}

} // namespace cudamedian
#endif
