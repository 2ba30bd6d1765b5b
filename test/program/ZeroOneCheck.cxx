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
#include "ZeroOneCheck.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <random>

namespace cudamedian
{
namespace
{

/** The inputs of each output's window, as often as they count. */
std::vector<std::vector<TileProgram::Value>>
GetWindows(const TileProgram & program)
{
  std::vector<std::vector<TileProgram::Value>> windows;
  const auto &                                 tile = program.GetTile();
  const auto                                   window = program.GetWindow().GetExtent();
  Extent                                       o;
  for (o[3] = 0; o[3] < tile[3]; ++o[3])
    for (o[2] = 0; o[2] < tile[2]; ++o[2])
      for (o[1] = 0; o[1] < tile[1]; ++o[1])
        for (o[0] = 0; o[0] < tile[0]; ++o[0])
        {
          windows.emplace_back();
          if (const auto * footprint = program.GetWindow().footprint)
          {
            for (const auto & pixel : footprint->GetPixels())
            {
              Extent position;
              for (int axis = 0; axis < Dimension; ++axis)
              {
                position[axis] = o[axis] + program.GetWindow().radius[axis] + pixel.offset[axis];
              }
              windows.back().insert(
                windows.back().end(), static_cast<std::size_t>(pixel.weight), program.InputAt(position));
            }
            continue;
          }
          Extent w;
          for (w[3] = 0; w[3] < window[3]; ++w[3])
            for (w[2] = 0; w[2] < window[2]; ++w[2])
              for (w[1] = 0; w[1] < window[1]; ++w[1])
                for (w[0] = 0; w[0] < window[0]; ++w[0])
                {
                  windows.back().push_back(program.InputAt({ { o[0] + w[0], o[1] + w[1], o[2] + w[2], o[3] + w[3] } }));
                }
        }
  return windows;
}

/** Bit i set where more of the window's values than are above the wanted one have bit i set. */
std::uint64_t
GetWanted(const std::vector<TileProgram::Value> & window, const std::vector<std::uint64_t> & inputs, std::size_t above)
{
  std::uint64_t result = 0;
  for (int bit = 0; bit < 64; ++bit)
  {
    std::size_t ones = 0;
    for (const auto value : window)
    {
      ones += (inputs[value] >> bit) & 1U;
    }
    result |= static_cast<std::uint64_t>(ones > above) << bit;
  }
  return result;
}

std::string
Describe(const std::vector<TileProgram::Value> & window,
         const std::vector<std::uint64_t> &      inputs,
         std::uint64_t                           wrong,
         std::size_t                             output)
{
  int bit = 0;
  while (((wrong >> bit) & 1U) == 0)
  {
    ++bit;
  }
  std::string text = "output " + std::to_string(output) + " is wrong for the zero-one window ";
  for (const auto value : window)
  {
    text += ((inputs[value] >> bit) & 1U) != 0 ? '1' : '0';
  }
  return text;
}

std::string
CheckFootprints(const TileProgram &                                  program,
                const std::vector<std::vector<TileProgram::Value>> & windows,
                const std::vector<std::uint64_t> &                   inputs)
{
  const auto outputs = RunZeroOne(program, inputs);
  const auto above = static_cast<std::size_t>(program.GetWindow().CountAbove());
  for (std::size_t output = 0; output < outputs.size(); ++output)
  {
    const auto wrong = outputs[output] ^ GetWanted(windows[output], inputs, above);
    if (wrong != 0)
    {
      return Describe(windows[output], inputs, wrong, output);
    }
  }
  return {};
}

/** Words whose bit i is bit j of i: with them as the first six inputs, one word holds all their 64 cases. */
constexpr std::uint64_t counting[6] = { 0xAAAAAAAAAAAAAAAAULL, 0xCCCCCCCCCCCCCCCCULL, 0xF0F0F0F0F0F0F0F0ULL,
                                        0xFF00FF00FF00FF00ULL, 0xFFFF0000FFFF0000ULL, 0xFFFFFFFF00000000ULL };

/** Half planes and stripes: case `bit` compares a small integer combination of the position with a threshold. */
void
DrawStripes(const Extent & footprint, int pattern, std::mt19937_64 & generator, std::vector<std::uint64_t> & inputs)
{
  std::uniform_int_distribution<int> coefficient(-3, 3);
  const int   c[4] = { coefficient(generator), coefficient(generator), coefficient(generator), coefficient(generator) };
  const bool  isHalfPlane = pattern % 2 == 0;
  const int   modulus = isHalfPlane ? 1 << 20 : 2 + pattern % 7;
  const int   threshold = isHalfPlane ? 1 << 20 : modulus / 2;
  std::size_t index = 0;
  Extent      p;
  for (p[3] = 0; p[3] < footprint[3]; ++p[3])
    for (p[2] = 0; p[2] < footprint[2]; ++p[2])
      for (p[1] = 0; p[1] < footprint[1]; ++p[1])
        for (p[0] = 0; p[0] < footprint[0]; ++p[0])
        {
          const auto    sum = c[0] * p[0] + c[1] * p[1] + c[2] * p[2] + c[3] * p[3] + (1 << 21);
          std::uint64_t word = 0;
          for (int bit = 0; bit < 64; ++bit)
          {
            const auto position = isHalfPlane ? sum % modulus + (1 << 20) + bit - 32 : (sum + bit) % modulus;
            word |= static_cast<std::uint64_t>(position > threshold) << bit;
          }
          inputs[index++] = pattern % 4 < 2 ? word : ~word;
        }
}

/** Every pixel alike, with about as many ones as there are in a `balance` of both. */
void
DrawPixels(double balance, std::mt19937_64 & generator, std::vector<std::uint64_t> & inputs)
{
  std::uniform_real_distribution<double> density(std::max(0.0, balance - 0.2), std::min(1.0, balance + 0.2));
  std::bernoulli_distribution            one(density(generator));
  for (auto & input : inputs)
  {
    input = 0;
    for (int bit = 0; bit < 64; ++bit)
    {
      input |= static_cast<std::uint64_t>(one(generator)) << bit;
    }
  }
}

/** Just as many ones in one window as are above the wanted value, or one more. */
void
FillWindow(std::vector<TileProgram::Value> window,
           std::size_t                     above,
           std::mt19937_64 &               generator,
           std::vector<std::uint64_t> &    inputs)
{
  for (int bit = 0; bit < 64; ++bit)
  {
    std::shuffle(window.begin(), window.end(), generator);
    const auto number = above + (bit & 1);
    const auto mask = std::uint64_t{ 1 } << bit;
    for (std::size_t j = 0; j < window.size(); ++j)
    {
      inputs[window[j]] = j < number ? inputs[window[j]] | mask : inputs[window[j]] & ~mask;
    }
  }
}

} // namespace

std::vector<std::uint64_t>
RunZeroOne(const TileProgram & program, const std::vector<std::uint64_t> & inputs)
{
  static thread_local std::vector<std::uint64_t> values;
  values.assign(inputs.begin(), inputs.end());
  for (const auto & instruction : program.GetInstructions())
  {
    const auto a = values[instruction.a];
    const auto b = values[instruction.b];
    values.push_back(instruction.operation == TileProgram::Operation::Min ? (a & b) : (a | b));
  }
  std::vector<std::uint64_t> outputs;
  for (const auto output : program.GetOutputs())
  {
    outputs.push_back(values[output]);
  }
  return outputs;
}

std::string
CheckAllZeroOneWindows(const TileProgram & program)
{
  const auto windows = GetWindows(program);
  // Each pixel once: the inputs of a window are listed by pixel.
  auto pixels = windows;
  for (auto & window : pixels)
  {
    window.erase(std::unique(window.begin(), window.end()), window.end());
  }
  const bool                 hasWeights = pixels.front().size() != windows.front().size();
  const auto                 size = pixels.front().size();
  const auto                 above = static_cast<std::size_t>(program.GetWindow().CountAbove());
  const auto                 words = size > 6 ? std::uint64_t{ 1 } << (size - 6) : 1;
  std::mt19937_64            generator(20250810);
  std::vector<std::uint64_t> inputs(program.GetNumberOfInputs());

  // For each number of ones above the first six: where the whole window has more than are above the wanted value.
  std::vector<std::uint64_t> expected(size + 1, 0);
  for (std::size_t ones = 0; ones <= size; ++ones)
  {
    for (int bit = 0; bit < 64; ++bit)
    {
      std::size_t low = 0;
      for (std::size_t j = 0; j < std::min<std::size_t>(6, size); ++j)
      {
        low += (counting[j] >> bit) & 1U;
      }
      expected[ones] |= static_cast<std::uint64_t>(low + ones > above) << bit;
    }
  }

  for (std::size_t output = 0; output < windows.size(); ++output)
  {
    const auto & window = pixels[output];
    for (std::uint64_t word = 0; word < words; ++word)
    {
      const auto rest = generator();
      for (std::size_t input = 0; input < inputs.size(); ++input)
      {
        inputs[input] = (rest >> (input % 64)) * 0x9E3779B97F4A7C15ULL;
      }
      std::size_t ones = 0;
      for (std::size_t j = 0; j < size; ++j)
      {
        const bool high = j >= 6 && ((word >> (j - 6)) & 1U) != 0;
        inputs[window[j]] = j < 6 ? counting[j] : high ? ~std::uint64_t{ 0 } : 0;
        ones += high ? 1 : 0;
      }
      const auto wanted = hasWeights ? GetWanted(windows[output], inputs, above) : expected[ones];
      const auto wrong = RunZeroOne(program, inputs)[output] ^ wanted;
      if (wrong != 0)
      {
        return Describe(window, inputs, wrong, output);
      }
    }
  }
  return {};
}

std::string
CheckSampledZeroOneFootprints(const TileProgram & program, std::uint64_t seed, std::size_t count)
{
  constexpr std::size_t      patterns = 64;
  const auto                 windows = GetWindows(program);
  const auto                 above = static_cast<std::size_t>(program.GetWindow().CountAbove());
  const auto                 balance = (static_cast<double>(above) + 0.5) / static_cast<double>(windows.front().size());
  std::mt19937_64            generator(seed);
  std::vector<std::uint64_t> inputs(program.GetNumberOfInputs());
  for (std::size_t round = 0; round < patterns + count; ++round)
  {
    if (round < patterns)
    {
      DrawStripes(program.GetFootprint(), static_cast<int>(round), generator, inputs);
    }
    else
    {
      DrawPixels(balance, generator, inputs);
      // A wrong program is most likely to show where the ones are just as many as matter.
      if (round % 2 == 1)
      {
        FillWindow(windows[generator() % windows.size()], above, generator, inputs);
      }
    }
    const auto failure = CheckFootprints(program, windows, inputs);
    if (!failure.empty())
    {
      return failure;
    }
  }
  return {};
}

TileProgram
TakeRank(const TileProgram & program, std::int64_t number)
{
  auto window = program.GetWindow();
  window.rank += number;
  TileProgram result(window, program.GetTile());
  for (const auto & instruction : program.GetInstructions())
  {
    result.Append(instruction.operation, instruction.a, instruction.b);
  }
  const auto &                    all = program.GetOutputs();
  const auto                      pixels = static_cast<std::size_t>(Volume(program.GetTile()));
  std::vector<TileProgram::Value> outputs;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel)
  {
    outputs.push_back(all[pixel * (all.size() / pixels) + static_cast<std::size_t>(number)]);
  }
  result.SetOutputs(outputs);
  result.RemoveDeadCode();
  return result;
}

} // namespace cudamedian
