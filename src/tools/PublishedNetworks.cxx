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
#include "PublishedNetworks.h"

#include <initializer_list>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>

namespace cudamedian
{
namespace
{

using Value = TileProgram::Value;
using Operation = TileProgram::Operation;

constexpr Extent onePixel{ { 1, 1, 1, 1 } };

/** Sorts three wires of a network. */
void
SortThree(std::size_t a, std::size_t b, std::size_t c, std::vector<Exchange> & exchanges)
{
  exchanges.insert(exchanges.end(), { { b, c }, { a, c }, { a, b } });
}

/** What a wire of a network carries that is wider than its window. */
struct PaddedWire
{
  enum class Kind
  {
    Least,
    Pixel,
    Greatest
  };
  Kind  kind;
  Value value;
};

/** Leaves the lesser value on the first wire. */
void
AppendPaddedExchange(TileProgram & program, PaddedWire & a, PaddedWire & b)
{
  if (a.kind == PaddedWire::Kind::Pixel && b.kind == PaddedWire::Kind::Pixel)
  {
    std::tie(a.value, b.value) = AppendExchange(program, a.value, b.value);
  }
  else if (a.kind > b.kind)
  {
    std::swap(a, b);
  }
}

} // namespace

std::pair<Value, Value>
AppendExchange(TileProgram & program, Value a, Value b)
{
  const auto least = program.Append(Operation::Min, a, b);
  return { least, program.Append(Operation::Max, a, b) };
}

void
CheckMedianOfBox(const Window & window, const char * caller)
{
  if (window.footprint != nullptr || window.HasEvenSize() || !window.IsMedian())
  {
    throw std::invalid_argument(std::string(caller) + ": takes medians of boxes of odd sizes, not " +
                                (window.footprint != nullptr ? "a footprint"
                                 : window.HasEvenSize()      ? "an even size"
                                                             : "rank " + std::to_string(window.rank)));
  }
}

TileProgram
BuildNetworkProgram(const Window & window, const std::vector<Exchange> & exchanges, std::size_t wire)
{
  TileProgram        program(window, onePixel);
  std::vector<Value> wires(program.GetNumberOfPixels());
  std::iota(wires.begin(), wires.end(), Value{ 0 });
  for (const auto & [a, b] : exchanges)
  {
    std::tie(wires[a], wires[b]) = AppendExchange(program, wires[a], wires[b]);
  }
  program.SetOutputs({ wires[wire] });
  program.RemoveDeadCode();
  return program;
}

TileProgram
BuildTwentyTwoStepProgram()
{
  const std::vector<Exchange> exchanges{ { 1, 2 }, { 4, 5 }, { 7, 8 }, { 0, 1 }, { 3, 4 }, { 6, 7 }, { 1, 2 }, { 4, 5 },
                                         { 7, 8 }, { 3, 6 }, { 4, 7 }, { 5, 8 }, { 0, 3 }, { 1, 4 }, { 2, 5 }, { 3, 6 },
                                         { 4, 7 }, { 1, 3 }, { 2, 6 }, { 2, 3 }, { 4, 6 }, { 3, 4 } };
  return BuildNetworkProgram(Extent{ { 1, 1, 0, 0 } }, exchanges, 4);
}

std::vector<Exchange>
ListFiveByFiveExchanges(bool isCorrected)
{
  std::vector<Exchange> list;
  const auto append = [&list](std::initializer_list<Exchange> exchanges) { list.insert(list.end(), exchanges); };
  append({ { 0, 1 } });
  SortThree(2, 3, 4, list);
  SortThree(5, 6, 7, list);
  if (isCorrected)
  {
    SortThree(8, 9, 10, list);
  }
  else
  {
    append({ { 9, 7 }, { 1, 7 }, { 1, 4 } });
  }
  for (const std::size_t first : { 11, 14, 17, 20 })
  {
    SortThree(first, first + 1, first + 2, list);
  }
  append({ { 23, 24 }, { 2, 5 } });
  for (const std::size_t first : { 0, 1, 8, 9, 10, 17, 18 })
  {
    SortThree(first, first + 3, first + 6, list);
  }
  append({ { 19, 22 }, { 8, 17 } });
  for (std::size_t first = 0; first < 7; ++first)
  {
    SortThree(first, first + 9, first + 18, list);
  }
  append({ { 7, 16 }, { 7, 19 } });
  if (isCorrected)
  {
    append({ { 13, 21 }, { 15, 23 }, { 7, 13 }, { 7, 15 }, { 1, 9 } });
  }
  append({ { 3, 11 }, { 5, 17 },  { 11, 17 }, { 9, 17 }, { 4, 10 },  { 6, 12 },  { 7, 14 },  { 4, 6 },
           { 4, 7 },  { 12, 14 }, { 10, 14 }, { 6, 7 },  { 10, 12 }, { 6, 10 },  { 6, 17 },  { 12, 17 },
           { 7, 17 }, { 7, 10 },  { 12, 18 }, { 7, 12 }, { 10, 18 }, { 12, 20 }, { 10, 20 }, { 10, 12 } });
  return list;
}

TileProgram
BuildFiveByFiveNetworkProgram(bool isCorrected)
{
  return BuildNetworkProgram(Extent{ { 2, 2, 0, 0 } }, ListFiveByFiveExchanges(isCorrected), 12);
}

TileProgram
BuildBitonicProgram(const Window & window)
{
  CheckMedianOfBox(window, "BuildBitonicProgram");
  TileProgram program(window, onePixel);
  const auto  pixels = program.GetNumberOfPixels();
  std::size_t length = 1;
  while (length < pixels)
  {
    length *= 2;
  }
  // Half of the infinite values on either side.
  const auto              least = (length - pixels) / 2;
  std::vector<PaddedWire> wires(length);
  for (std::size_t i = 0; i < length; ++i)
  {
    wires[i] = i < least            ? PaddedWire{ PaddedWire::Kind::Least, 0 }
               : i - least < pixels ? PaddedWire{ PaddedWire::Kind::Pixel, static_cast<Value>(i - least) }
                                    : PaddedWire{ PaddedWire::Kind::Greatest, 0 };
  }
  // Runs twice as long each time, every other one descending, so that two of them make a bitonic list.
  for (std::size_t run = 2; run <= length; run *= 2)
  {
    for (std::size_t distance = run / 2; distance > 0; distance /= 2)
    {
      for (std::size_t i = 0; i < length; ++i)
      {
        if ((i & distance) == 0)
        {
          const bool isAscending = (i & run) == 0;
          AppendPaddedExchange(program, wires[isAscending ? i : i + distance], wires[isAscending ? i + distance : i]);
        }
      }
    }
  }
  program.SetOutputs({ wires[least + pixels / 2].value });
  program.RemoveDeadCode();
  return program;
}

TileProgram
BuildPartialSortProgram(const Window & window)
{
  CheckMedianOfBox(window, "BuildPartialSortProgram");
  const auto            pixels = static_cast<std::size_t>(window.CountPixels());
  std::vector<Exchange> exchanges;
  for (std::size_t last = pixels; last-- > pixels / 2;)
  {
    for (std::size_t i = 0; i < last; ++i)
    {
      exchanges.push_back({ i, last });
    }
  }
  return BuildNetworkProgram(window, exchanges, pixels / 2);
}

} // namespace cudamedian
