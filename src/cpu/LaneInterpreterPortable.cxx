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

// Functions have a copy for each instruction set, which is chosen when the library is loaded. Sanitizers run before
// such a choice can be made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
  !defined(__SANITIZE_THREAD__)
#  define CUDAMEDIAN_INSTRUCTION_SETS __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#else
#  define CUDAMEDIAN_INSTRUCTION_SETS
#endif

#if defined(__clang__)
#  define CUDAMEDIAN_INLINE inline __attribute__((always_inline))
#  define CUDAMEDIAN_NO_LOOP_DEPENDENCY _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#  define CUDAMEDIAN_INLINE inline __attribute__((always_inline))
#  define CUDAMEDIAN_NO_LOOP_DEPENDENCY _Pragma("GCC ivdep")
#else
#  define CUDAMEDIAN_INLINE inline
#  define CUDAMEDIAN_NO_LOOP_DEPENDENCY
#endif

namespace cudamedian
{
namespace
{

/** Runs one instruction over all lanes. A slot may be both operand and result: no lane depends on another. */
template <typename TKey>
CUDAMEDIAN_INLINE void
Interpret(const ProgramSchedule & schedule, TKey * const * operands, std::size_t lanes)
{
  using Operation = ProgramSchedule::Operation;
  TKey * const * slots = operands + schedule.numberOfInputs;
  for (const auto & instruction : schedule.instructions)
  {
    const TKey * a = operands[instruction.a];
    const TKey * b = operands[instruction.b];
    TKey *       low = slots[instruction.low];
    TKey *       high = slots[instruction.high];
    if (instruction.operation == Operation::MinMax)
    {
      CUDAMEDIAN_NO_LOOP_DEPENDENCY
      for (std::size_t lane = 0; lane < lanes; ++lane)
      {
        const TKey x = a[lane];
        const TKey y = b[lane];
        low[lane] = x < y ? x : y;
        high[lane] = x < y ? y : x;
      }
    }
    else if (instruction.operation == Operation::Min)
    {
      CUDAMEDIAN_NO_LOOP_DEPENDENCY
      for (std::size_t lane = 0; lane < lanes; ++lane)
      {
        const TKey x = a[lane];
        const TKey y = b[lane];
        low[lane] = x < y ? x : y;
      }
    }
    else
    {
      CUDAMEDIAN_NO_LOOP_DEPENDENCY
      for (std::size_t lane = 0; lane < lanes; ++lane)
      {
        const TKey x = a[lane];
        const TKey y = b[lane];
        high[lane] = x < y ? y : x;
      }
    }
  }
}

} // namespace

// A lambda would have no copies: the switch is not DispatchBytes().
CUDAMEDIAN_INSTRUCTION_SETS void
InterpretBytes(const ProgramSchedule & schedule, const void * operands, std::size_t keyBytes, std::size_t lanes)
{
  switch (keyBytes)
  {
    case 1:
      return Interpret(schedule, static_cast<std::uint8_t * const *>(operands), lanes);
    case 2:
      return Interpret(schedule, static_cast<std::uint16_t * const *>(operands), lanes);
    case 4:
      return Interpret(schedule, static_cast<std::uint32_t * const *>(operands), lanes);
    case 8:
      return Interpret(schedule, static_cast<std::uint64_t * const *>(operands), lanes);
    default:
      ThrowUnknown("width in bytes", keyBytes);
  }
}

} // namespace cudamedian
