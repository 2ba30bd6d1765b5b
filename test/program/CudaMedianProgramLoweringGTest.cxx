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
#include "DeviceProfiles.h"
#include "HierarchicalTiling.h"
#include "KernelProgram.h"
#include "ProgramLowering.h"
#include "RegisterPlan.h"
#include "ZeroOneCheck.h"

#include "CudaMedianTestSeed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace
{

using namespace cudamedian;

using Bits = std::uint32_t;

Bits
Execute(const LoweredProgram::Instruction & instruction, const std::vector<Bits> & operands)
{
  switch (instruction.operation)
  {
    case LoweredOperation::Min:
    case LoweredOperation::Min3:
      return *std::min_element(operands.begin(), operands.end());
    case LoweredOperation::Max:
    case LoweredOperation::Max3:
      return *std::max_element(operands.begin(), operands.end());
    case LoweredOperation::Excess:
      EXPECT_GE(operands[0], operands[1]) << "keys of a register would borrow from each other";
      return operands[0] - operands[1];
    case LoweredOperation::MinOfSum:
    case LoweredOperation::MaxOfSum:
    {
      const auto sum = operands[0] + operands[1];
      EXPECT_GE(sum, operands[0]) << "the sum is no key";
      return instruction.operation == LoweredOperation::MinOfSum ? std::min(sum, operands[2])
                                                                 : std::max(sum, operands[2]);
    }
    default:
      return operands[0] + operands[1] - operands[2];
  }
}

/** Runs a plan as a machine would: a value can be read only while it is in a register.
 * \returns the program's outputs; throws when the plan reads what is not there. */
std::vector<Bits>
RunPlan(const TileProgram &       program,
        const LoweredProgram &    lowered,
        const RegisterPlan &      plan,
        const std::vector<Bits> & pixels,
        std::size_t               groupSize)
{
  std::map<TileProgram::Value, Bits> inRegisters;
  std::map<std::size_t, Bits>        slots;
  std::map<TileProgram::Value, Bits> results;
  std::map<TileProgram::Value, int>  usesLeft;
  for (const auto & instruction : lowered.instructions)
  {
    for (int i = 0; i < instruction.numberOfOperands; ++i)
    {
      ++usesLeft[instruction.operands[i]];
    }
  }
  const auto drop = [&] {
    for (auto entry = inRegisters.begin(); entry != inRegisters.end();)
    {
      entry = usesLeft[entry->first] == 0 ? inRegisters.erase(entry) : std::next(entry);
    }
  };
  for (const auto & step : plan.steps)
  {
    switch (step.action)
    {
      case RegisterPlan::Action::Load:
        for (TileProgram::Value pixel = 0; pixel < pixels.size(); ++pixel)
        {
          if (pixel / groupSize == step.value / groupSize)
          {
            inRegisters[pixel] = pixels[pixel];
          }
        }
        break;
      case RegisterPlan::Action::Save:
        EXPECT_LT(step.slot, plan.numberOfSlots);
        slots[step.slot] = inRegisters.at(step.value);
        break;
      case RegisterPlan::Action::Restore:
        inRegisters[step.value] = slots.at(step.slot);
        break;
      default:
      {
        const auto &      instruction = lowered.instructions[step.instruction];
        std::vector<Bits> operands;
        for (int i = 0; i < instruction.numberOfOperands; ++i)
        {
          operands.push_back(inRegisters.at(instruction.operands[i]));
          --usesLeft[instruction.operands[i]];
        }
        EXPECT_EQ(step.value, instruction.result);
        inRegisters[instruction.result] = results[instruction.result] = Execute(instruction, operands);
      }
    }
    drop();
  }
  std::vector<Bits> outputs;
  for (const auto output : program.GetOutputs())
  {
    outputs.push_back(results.at(output));
  }
  return outputs;
}

/** The most values that a plan holds in registers at one time: each from where it gets there to its last use before it
 * gets there again. */
std::size_t
CountHeld(const LoweredProgram & lowered, const RegisterPlan & plan, std::size_t inputs, std::size_t groupSize)
{
  struct Stay
  {
    std::size_t first{ 0 };
    std::size_t last{ 0 };
  };
  std::map<TileProgram::Value, Stay> stays;
  std::vector<int>                   change(plan.steps.size() + 1, 0);
  const auto                         finish = [&](const Stay & stay) {
    if (stay.last > stay.first)
    {
      ++change[stay.first];
      --change[stay.last];
    }
  };
  const auto begin = [&](TileProgram::Value value, std::size_t n) {
    finish(stays[value]);
    stays[value] = { n, n };
  };
  for (std::size_t n = 0; n < plan.steps.size(); ++n)
  {
    const auto & step = plan.steps[n];
    if (step.action == RegisterPlan::Action::Load)
    {
      const auto first = step.value / groupSize * groupSize;
      for (auto pixel = first; pixel < std::min(inputs, first + groupSize); ++pixel)
      {
        begin(static_cast<TileProgram::Value>(pixel), n);
      }
    }
    else if (step.action == RegisterPlan::Action::Compute)
    {
      const auto & instruction = lowered.instructions[step.instruction];
      for (int i = 0; i < instruction.numberOfOperands; ++i)
      {
        stays[instruction.operands[i]].last = n;
      }
      begin(step.value, n);
    }
    else if (step.action == RegisterPlan::Action::Restore)
    {
      begin(step.value, n);
    }
  }
  for (const auto & entry : stays)
  {
    finish(entry.second);
  }
  std::size_t held = 0;
  std::size_t most = 0;
  for (const int step : change)
  {
    held = static_cast<std::size_t>(static_cast<int>(held) + step);
    most = std::max(most, held);
  }
  return most;
}

std::size_t
CountSteps(const RegisterPlan & plan, RegisterPlan::Action action)
{
  return static_cast<std::size_t>(
    std::count_if(plan.steps.begin(), plan.steps.end(), [&](const auto & step) { return step.action == action; }));
}

std::vector<Bits>
RunProgram(const TileProgram & program, const std::vector<Bits> & pixels)
{
  auto values = pixels;
  for (const auto & instruction : program.GetInstructions())
  {
    const auto a = values[instruction.a];
    const auto b = values[instruction.b];
    values.push_back(instruction.operation == TileProgram::Operation::Min ? std::min(a, b) : std::max(a, b));
  }
  std::vector<Bits> outputs;
  for (const auto output : program.GetOutputs())
  {
    outputs.push_back(values[output]);
  }
  return outputs;
}

std::vector<Bits>
MakePixels(const TileProgram & program, std::mt19937_64 & generator)
{
  std::vector<Bits> pixels(program.GetNumberOfInputs());
  const bool        narrow = generator() % 2 == 0;
  for (auto & pixel : pixels)
  {
    pixel = static_cast<Bits>(generator()) >> (narrow ? 29 : 0);
  }
  return pixels;
}

struct Case
{
  Extent radius;
  Extent tile;
  Extent root;
};

const Case cases[] = { { { { 1, 1, 0, 0 } }, { { 8, 2, 1, 1 } }, { { 2, 2, 1, 1 } } },
                       { { { 2, 2, 0, 0 } }, { { 4, 4, 1, 1 } }, { { 2, 2, 1, 1 } } },
                       { { { 3, 3, 0, 0 } }, { { 4, 4, 1, 1 } }, { { 4, 4, 1, 1 } } },
                       { { { 3, 1, 0, 0 } }, { { 6, 3, 1, 1 } }, { { 4, 2, 1, 1 } } },
                       { { { 1, 1, 1, 0 } }, { { 4, 2, 2, 1 } }, { { 2, 2, 2, 1 } } },
                       { { { 2, 0, 1, 1 } }, { { 2, 1, 2, 2 } }, { { 2, 1, 1, 2 } } } };

} // namespace

TEST(CudaMedianProgramLowering, KeepsTheResult)
{
  const auto      seed = cudamediantest::Seed();
  std::mt19937_64 generator(seed);
  for (const auto & item : cases)
  {
    for (const auto division : { Division::Halves, Division::PowerFirst, Division::PowerLast })
    {
      const auto program = BuildHierarchicalTilingProgram(item.radius, item.tile, { item.root, division });
      for (const bool threeInput : { false, true })
      {
        for (const auto & [sumPercent, excessPercent] :
             { std::pair(0, 0), std::pair(37, 0), std::pair(100, 0), std::pair(0, 100), std::pair(70, 40) })
        {
          const auto lowered = LowerProgram(program, { threeInput, sumPercent, excessPercent });
          for (const std::size_t registers : { 0, 12, 40 })
          {
            for (const std::size_t groupSize : { 1, 4 })
            {
              const auto plan =
                PlanRegisters(program, lowered, registers, [=](TileProgram::Value input) { return input / groupSize; });
              const auto pixels = MakePixels(program, generator);
              ASSERT_EQ(RunPlan(program, lowered, plan, pixels, groupSize), RunProgram(program, pixels))
                << "seed " << seed;
              if (registers != 0)
              {
                // The operands of one instruction stay whatever the limit.
                EXPECT_LE(CountHeld(lowered, plan, pixels.size(), groupSize), registers + 3 + groupSize);
              }
            }
          }
        }
      }
    }
  }
}

TEST(CudaMedianProgramLowering, JoinsAndReplacesWhatItSays)
{
  // max(max(a, b), c), and min and max of one pair.
  TileProgram program({ { 1, 0, 0, 0 } }, { { 3, 1, 1, 1 } });
  const auto  inner = program.Append(TileProgram::Operation::Max, 0, 1);
  const auto  outer = program.Append(TileProgram::Operation::Max, inner, 2);
  const auto  low = program.Append(TileProgram::Operation::Min, 3, 4);
  const auto  high = program.Append(TileProgram::Operation::Max, 4, 3);
  program.SetOutputs({ outer, low, high });

  const auto plain = LowerProgram(program, { false, 0 });
  EXPECT_EQ(plain.instructions.size(), 4U);
  const auto lowered = LowerProgram(program, { true, 100 });
  ASSERT_EQ(lowered.instructions.size(), 3U);
  EXPECT_EQ(lowered.instructions[0].operation, LoweredOperation::Max3);
  EXPECT_EQ(lowered.instructions[0].numberOfOperands, 3);
  EXPECT_EQ(lowered.instructions[1].operation, LoweredOperation::Min);
  EXPECT_EQ(lowered.instructions[2].operation, LoweredOperation::MaxBySum);
  EXPECT_EQ(lowered.instructions[2].operands[2], low);

  const auto cost = CountProgram(program, lowered);
  EXPECT_DOUBLE_EQ(cost.operations, 4.0 / 3);
  EXPECT_DOUBLE_EQ(cost.minMax, 2.0 / 3);
  EXPECT_DOUBLE_EQ(cost.multiplyAdd, 2.0 / 3);
  EXPECT_EQ(cost.liveValues, 4U); // three pixels and their maximum
}

TEST(CudaMedianProgramLowering, LeavesMaximaToTheirUsers)
{
  // A pair in order, and each of both compared with two others.
  using Operation = TileProgram::Operation;
  TileProgram program({ { 2, 0, 0, 0 } }, { { 4, 1, 1, 1 } });
  const auto  low = program.Append(Operation::Min, 0, 1);
  const auto  high = program.Append(Operation::Max, 0, 1);
  const auto  first = program.Append(Operation::Min, high, 2);
  const auto  second = program.Append(Operation::Max, 3, high);
  const auto  third = program.Append(Operation::Max, low, 4);
  program.SetOutputs({ first, second, third, low });

  EXPECT_EQ(LowerProgram(program, { true, 100 }).numberOfValues, program.GetNumberOfInputs() + 5);
  const auto lowered = LowerProgram(program, { true, 100, 100 });
  ASSERT_EQ(lowered.instructions.size(), 5U);
  EXPECT_EQ(lowered.numberOfValues, program.GetNumberOfInputs() + 6);
  const auto & excess = lowered.instructions[1];
  EXPECT_EQ(excess.operation, LoweredOperation::Excess);
  EXPECT_EQ(excess.result, program.GetNumberOfInputs() + 5);
  EXPECT_EQ(excess.operands[1], low);
  for (const std::size_t n : { 2, 3 })
  {
    const auto & user = lowered.instructions[n];
    EXPECT_EQ(user.operation, n == 2 ? LoweredOperation::MinOfSum : LoweredOperation::MaxOfSum);
    EXPECT_EQ(user.operands[0] + excess.operands[0], 1U) << "the pair's other pixel";
    EXPECT_EQ(user.operands[1], excess.result);
    EXPECT_EQ(user.operands[2], n);
  }
  EXPECT_EQ(lowered.instructions[4].operation, LoweredOperation::Max);

  const auto cost = CountProgram(program, lowered);
  EXPECT_DOUBLE_EQ(cost.minMax, 4.0 / 4);
  EXPECT_DOUBLE_EQ(cost.multiplyAdd, 1.0 / 4);

  // A result has to exist, and no instruction adds for both of its operands or for one of three.
  program.SetOutputs({ first, second, third, high });
  EXPECT_EQ(LowerProgram(program, { true, 100, 100 }).numberOfValues, program.GetNumberOfInputs() + 5);
  TileProgram pairs({ { 2, 0, 0, 0 } }, { { 2, 1, 1, 1 } });
  const auto  one = pairs.Append(Operation::Min, 0, 1);
  const auto  other = pairs.Append(Operation::Min, 2, 3);
  const auto  both = pairs.Append(Operation::Max, one, other);
  const auto  least =
    pairs.Append(Operation::Min, pairs.Append(Operation::Max, 0, 1), pairs.Append(Operation::Max, 2, 3));
  pairs.SetOutputs({ both, least });
  EXPECT_EQ(LowerProgram(pairs, { true, 0, 100 }).numberOfValues, pairs.GetNumberOfInputs() + 7);
  TileProgram three({ { 2, 0, 0, 0 } }, { { 2, 1, 1, 1 } });
  const auto  lesser = three.Append(Operation::Min, 0, 1);
  const auto  inner = three.Append(Operation::Min, three.Append(Operation::Max, 0, 1), 2);
  three.SetOutputs({ lesser, three.Append(Operation::Min, inner, 3) });
  EXPECT_EQ(LowerProgram(three, { true, 0, 100 }).numberOfValues, three.GetNumberOfInputs() + 4);
  EXPECT_EQ(LowerProgram(three, { false, 0, 100 }).numberOfValues, three.GetNumberOfInputs() + 5);
}

TEST(CudaMedianProgramLowering, DoesNotJoinAnOutput)
{
  TileProgram program({ { 1, 0, 0, 0 } }, { { 2, 1, 1, 1 } });
  const auto  inner = program.Append(TileProgram::Operation::Min, 0, 1);
  program.SetOutputs({ inner, program.Append(TileProgram::Operation::Min, inner, 2) });
  EXPECT_EQ(LowerProgram(program, { true, 0 }).instructions.size(), 2U);
}

TEST(CudaMedianRegisterPlan, SavesOnlyWhatDoesNotFit)
{
  const auto program = BuildHierarchicalTilingProgram({ { 3, 3, 0, 0 } }, { { 4, 4, 1, 1 } });
  const auto lowered = LowerProgram(program, { true, 60 });
  const auto each = [](TileProgram::Value input) -> std::size_t { return input; };
  const auto live = CountProgram(program, lowered).liveValues;

  const auto unlimited = PlanRegisters(program, lowered, 0, each);
  EXPECT_EQ(unlimited.numberOfSlots, 0U);
  EXPECT_EQ(CountSteps(unlimited, RegisterPlan::Action::Load), program.GetNumberOfInputs());
  EXPECT_EQ(PlanRegisters(program, lowered, live, each).numberOfSlots, 0U);

  const auto tight = PlanRegisters(program, lowered, live - 20, each);
  EXPECT_GE(tight.numberOfSlots, 10U);
  EXPECT_LE(tight.numberOfSlots, 20U);
  EXPECT_GE(CountSteps(tight, RegisterPlan::Action::Restore), CountSteps(tight, RegisterPlan::Action::Save));
}

TEST(CudaMedianKernelPolicy, ProgramsPassTheZeroOneCheck)
{
  const auto seed = cudamediantest::Seed();
  for (const Extent & radius : std::vector<Extent>{ { { 1, 1, 0, 0 } },
                                                    { { 2, 2, 0, 0 } },
                                                    { { 3, 3, 0, 0 } },
                                                    { { 4, 4, 0, 0 } },
                                                    { { 5, 5, 0, 0 } },
                                                    { { 6, 6, 0, 0 } },
                                                    { { 8, 8, 0, 0 } },
                                                    { { 1, 4, 0, 0 } },
                                                    { { 7, 0, 2, 0 } },
                                                    { { 1, 1, 1, 0 } },
                                                    { { 2, 2, 1, 0 } },
                                                    { { 2, 2, 2, 0 } },
                                                    { { 3, 3, 1, 0 } } })
  {
    for (const int pixelBytes : { 2, 8 })
    {
      const auto policy = GetKernelPolicy(radius, GetKernelKind(pixelBytes, 90), GetH200Traits());
      const auto program = BuildHierarchicalTilingProgram(radius, policy.tile, policy.tiling);
      EXPECT_EQ(CheckSampledZeroOneFootprints(program, seed, 40), "")
        << "radius " << radius[0] << "x" << radius[1] << "x" << radius[2] << "x" << radius[3] << ", " << pixelBytes
        << " bytes, seed " << seed;
    }
  }
}

TEST(CudaMedianKernelPolicy, ProgramsAlongOneAxisPassTheZeroOneCheck)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto seed = cudamediantest::Seed();
  for (const int pixelBytes : { 1, 2, 4, 8 })
  {
    for (std::int64_t r = 1; r <= largestKernelRadius; ++r)
    {
      for (const Extent & radius : { Extent{ { r, 0, 0, 0 } }, Extent{ { 0, 0, r, 0 } } })
      {
        for (const Window & window :
             { Window(radius), Window(radius, r / 2), Window(radius, { { radius[0] > 0, 0, radius[2] > 0, 0 } }, -1) })
        {
          const auto program =
            BuildTileProgram(window, GetKernelPolicy(window, GetKernelKind(pixelBytes, 90), GetH200Traits()));
          SCOPED_TRACE("radius " + std::to_string(r) + ", rank " + std::to_string(window.rank) + ", " +
                       std::to_string(pixelBytes) + " bytes");
          if (r <= 6)
          {
            EXPECT_EQ(CheckAllZeroOneWindows(program), "");
          }
          EXPECT_EQ(CheckSampledZeroOneFootprints(program, seed, 40), "");
        }
      }
    }
  }
}

// What lines promise: instructions of an output.
TEST(CudaMedianKernelPolicy, InstructionsAlongOneAxis)
{
  const auto count = [](const Extent & radius) {
    const auto policy = GetKernelPolicy(radius, GetKernelKind(2, 90), GetH200Traits());
    return CountPhases(BuildKernelPhases(radius, policy), policy.lowering, policy.blockX).cost.minMax;
  };
  EXPECT_LE(count({ { 0, 1, 0, 0 } }), 3.0);
  EXPECT_LE(count({ { 0, 4, 0, 0 } }), 9.5);
  EXPECT_LE(count({ { 0, 7, 0, 0 } }), 14.5);
  EXPECT_LE(count({ { 10, 0, 0, 0 } }), 20.0);
}

TEST(CudaMedianKernelPolicy, ThreeByThreeProgramExhaustively)
{
  const Extent radius{ { 1, 1, 0, 0 } };
  const auto   policy = GetKernelPolicy(radius, GetKernelKind(2, 90), GetH200Traits());
  EXPECT_EQ(CheckAllZeroOneWindows(BuildHierarchicalTilingProgram(radius, policy.tile, policy.tiling)), "");
}

// What sharing between root tiles and instructions of three operands promise; a change that costs must show.
TEST(CudaMedianKernelPolicy, InstructionsPerPixel)
{
  const auto count = [](const Extent & radius) {
    const auto policy = GetKernelPolicy(radius, GetKernelKind(2, 90), GetH200Traits());
    return CountPhases(BuildKernelPhases(radius, policy), policy.lowering, policy.blockX).cost.minMax;
  };
  const auto countAll = [](const Extent & radius) {
    const auto policy = GetKernelPolicy(radius, GetKernelKind(2, 90), GetH200Traits());
    const auto cost = CountPhases(BuildKernelPhases(radius, policy), policy.lowering, policy.blockX).cost;
    return cost.minMax + cost.multiplyAdd;
  };
  EXPECT_LE(count({ { 1, 1, 0, 0 } }), 16.8);
  // With excesses: some more on the pipe of min and max, and fewer in all; without, 37.0 and 36.8 beside them.
  EXPECT_LE(count({ { 2, 2, 0, 0 } }), 39.2);
  EXPECT_LE(countAll({ { 2, 2, 0, 0 } }), 67.0);
  EXPECT_LE(count({ { 3, 3, 0, 0 } }), 71.9);
  EXPECT_LE(count({ { 4, 4, 0, 0 } }), 129.8);
  EXPECT_LE(count({ { 5, 5, 0, 0 } }), 201.1);
  EXPECT_LE(count({ { 1, 1, 1, 0 } }), 74.7);
  EXPECT_LE(count({ { 2, 2, 2, 0 } }), 472.7);
}

TEST(CudaMedianKernelPolicy, ExcessesAndStepsAreForThreeOperands)
{
  const Extent radius{ { 2, 2, 0, 0 } };
  const Extent solid{ { 2, 2, 2, 0 } };
  const auto   hopper = GetArchitectureTraits(90);
  EXPECT_GT(GetKernelPolicy(radius, GetKernelKind(2, 90), hopper).lowering.excessPercent, 0);
  EXPECT_GT(GetKernelPolicy(radius, GetKernelKind(4, 90), hopper).steps, 0);
  EXPECT_GT(GetKernelPolicy(solid, GetKernelKind(1, 90), hopper).steps, 0);
  for (const int architecture : { 75, 80, 86, 89, 120 })
  {
    for (const int pixelBytes : { 1, 2, 4, 8 })
    {
      for (const auto & traits : { hopper, GetArchitectureTraits(architecture) })
      {
        const auto kind = GetKernelKind(pixelBytes, architecture, architecture == 120);
        if (kind.packing == KeyPacking::Pair || (traits.pipes.threeInput && kind.packing == KeyPacking::Single))
        {
          continue; // the same as on sm_90, taken for another
        }
        for (const auto & window : { radius, solid })
        {
          const auto policy = GetKernelPolicy(window, kind, traits);
          EXPECT_EQ(policy.lowering.excessPercent, 0) << architecture << ", " << pixelBytes << " bytes";
          EXPECT_EQ(policy.steps, 0) << architecture << ", " << pixelBytes << " bytes";
        }
      }
    }
  }
}

TEST(CudaMedianKernelPolicy, NamesThePackingOfEachArchitecture)
{
  EXPECT_EQ(GetKernelKind(1, 75).packing, KeyPacking::Single);
  EXPECT_EQ(GetKernelKind(1, 80).packing, KeyPacking::HalfPair);
  EXPECT_EQ(GetKernelKind(1, 89).packing, KeyPacking::HalfPair);
  EXPECT_EQ(GetKernelKind(1, 90).packing, KeyPacking::Pair);
  EXPECT_EQ(GetKernelKind(1, 120).packing, KeyPacking::Pair);
  EXPECT_EQ(GetKernelKind(1, 120, true).packing, KeyPacking::Quad);
  EXPECT_EQ(GetKernelKind(1, 121, true).packing, KeyPacking::Quad);
  EXPECT_EQ(GetKernelKind(1, 100, true).packing, KeyPacking::Pair);
  EXPECT_EQ(GetKernelKind(1, 120, true).GetPixels(), 4);
  EXPECT_EQ(GetKernelKind(2, 120, true).packing, KeyPacking::Pair);
  EXPECT_EQ(GetKernelKind(4, 120, true).packing, KeyPacking::Single);
  EXPECT_EQ(GetKernelKind(2, 75).packing, KeyPacking::Single);
  EXPECT_EQ(GetKernelKind(2, 80).packing, KeyPacking::BFloatPair);
  EXPECT_EQ(GetKernelKind(2, 89).packing, KeyPacking::BFloatPair);
  EXPECT_EQ(GetKernelKind(2, 90).packing, KeyPacking::Pair);
  EXPECT_EQ(GetKernelKind(2, 120).packing, KeyPacking::Pair);
  EXPECT_EQ(GetKernelKind(4, 90).packing, KeyPacking::Single);
  EXPECT_EQ(GetKernelKind(8, 90).packing, KeyPacking::Single);
}

TEST(CudaMedianKernelPolicy, EveryCoveredWindowFitsABlock)
{
  for (const Extent & radius : std::vector<Extent>{ { { 0, 0, 0, 0 } },
                                                    { { 31, 0, 0, 0 } },
                                                    { { 0, 0, 0, 31 } },
                                                    { { 31, 1, 0, 0 } },
                                                    { { 1, 31, 0, 0 } },
                                                    { { 8, 8, 0, 0 } },
                                                    { { 15, 4, 0, 0 } },
                                                    { { 0, 8, 0, 8 } },
                                                    { { 3, 3, 2, 0 } },
                                                    { { 5, 3, 1, 0 } },
                                                    { { 1, 8, 0, 2 } } })
  {
    ASSERT_TRUE(IsCoveredByKernels(radius));
    for (const int pixelBytes : { 1, 8 })
    {
      const auto kind = GetKernelKind(pixelBytes, 90);
      const auto policy = GetKernelPolicy(radius, kind, GetH200Traits());
      const auto shape = GetKernelShape(radius, policy, kind, BuildKernelProgram(radius, policy, kind));
      SCOPED_TRACE(std::to_string(radius[0]) + "x" + std::to_string(radius[1]) + "x" + std::to_string(radius[2]) + "x" +
                   std::to_string(radius[3]) + ", " + std::to_string(pixelBytes) + " bytes");
      EXPECT_LE(shape.sharedBytes, 227 * 1024);
      EXPECT_LE(shape.threads, 256);
      EXPECT_GE(shape.threads, 4);
      // Those that stage their footprint share whole rows of it.
      EXPECT_TRUE(IsFilteredInLines(radius) || shape.threads % (shape.block[0] / (pixelBytes == 1 ? 8 : 2)) == 0);
    }
  }
  EXPECT_FALSE(IsCoveredByKernels({ { 32, 0, 0, 0 } }));
  EXPECT_FALSE(IsCoveredByKernels({ { 10, 10, 0, 0 } }));
  EXPECT_FALSE(IsCoveredByKernels({ { 1, 1, 1, 1 } }));
}
