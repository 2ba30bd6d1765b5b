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
// Published methods beside the library's own programs on the CPU, each through the same rows and vectors.

#include "PublishedPrograms.h"
#include "RowPrograms.h"
#include "TileHost.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace cudamedian
{

// Written by CMake: the programs of ListPublishedPrograms(), in its order.
void
DescribeMethodsOf3x3(std::vector<RowProgram> & programs);
void
DescribeMethodsOf5x5(std::vector<RowProgram> & programs);
void
DescribeMethodsOf7x7(std::vector<RowProgram> & programs);

} // namespace cudamedian

namespace
{

using namespace cudamedian;

struct Options
{
  std::int64_t width{ 2048 };
  std::int64_t height{ 1024 };
  int          repeats{ 15 };
  unsigned     seed{ 1 };
};

/** A program that is measured. */
struct Method
{
  std::string                       name;
  TileWork                          work;
  std::shared_ptr<const HostMethod> run;
  std::vector<double>               seconds;
};

/** The window's own program first, then the published ones. */
std::vector<Method>
ListMethods(const Extent &                                         radius,
            PixelType                                              type,
            const std::function<void(std::vector<RowProgram> &)> & describe,
            std::vector<RowProgram> &                              programs)
{
  describe(programs);
  const auto          names = ListPublishedPrograms(radius);
  std::vector<Method> methods(1 + names.size());
  methods.front().name = "this library";
  methods.front().work.rowProgram = FindRowProgram(radius, PixelBytes(type));
  if (names.size() != programs.size() || methods.front().work.rowProgram == nullptr)
  {
    throw std::runtime_error("the programs compiled ahead are not those of the list, or not for this machine");
  }
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    if (programs[i].window != Window(radius) || programs[i].tile != BuildPublishedProgram(names[i], radius).GetTile() ||
        !programs[i].hasVectors())
    {
      throw std::runtime_error("the program compiled ahead for " + names[i] + " is another one");
    }
    methods[1 + i].name = names[i];
    methods[1 + i].work.rowProgram = &programs[i];
  }
  for (auto & method : methods)
  {
    method.run = MakeTileMethod(method.work);
  }
  return methods;
}

double
GetMiddle(std::vector<double> values)
{
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/** Runs all methods in turns, compares their outputs and prints a row for each. */
void
Measure(const std::string &                                    window,
        const Extent &                                         radius,
        PixelType                                              type,
        const std::function<void(std::vector<RowProgram> &)> & describe,
        const Options &                                        options)
{
  std::vector<RowProgram> programs;
  auto                    methods = ListMethods(radius, type, describe, programs);

  const Extent      extent{ { options.width, options.height, 1, 1 } };
  const auto        bytes = static_cast<std::size_t>(Volume(extent)) * PixelBytes(type);
  std::vector<char> input(bytes);
  std::mt19937_64   generator(options.seed);
  std::generate(input.begin(), input.end(), [&] { return static_cast<char>(generator()); });
  std::vector<char> expected(bytes);
  std::vector<char> output(bytes);

  MedianRequest request;
  request.pixelType = type;
  request.input = input.data();
  request.inputExtent = request.outputExtent = extent;
  request.inputStride = request.outputStride = { { 1, extent[0], Volume(extent), Volume(extent) } };
  request.radius = radius;
  request.rank = Window(radius).rank;
  request.outputPixelBytes = PixelBytes(request.pixelType);
  request.backend = Backend::Cpu;
  request.workUnits = 1;
  for (int repeat = -1; repeat < options.repeats; ++repeat)
  {
    for (auto & method : methods)
    {
      const bool isFirst = repeat < 0 && &method == &methods.front();
      request.output = isFirst ? expected.data() : output.data();
      ExecutionReport report;
      const auto      start = std::chrono::steady_clock::now();
      method.run->Run(request, { request.outputOrigin, extent }, report);
      const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (repeat < 0 && !isFirst && output != expected)
      {
        throw std::runtime_error(method.name + " of " + window + " finds other medians than the library");
      }
      if (repeat >= 0)
      {
        method.seconds.push_back(seconds);
      }
    }
  }
  for (const auto & method : methods)
  {
    // Of each turn, so that a machine that is slow for a while slows both.
    std::vector<double> ratios;
    for (std::size_t i = 0; i < method.seconds.size(); ++i)
    {
      ratios.push_back(method.seconds[i] / methods.front().seconds[i]);
    }
    const auto & tile = method.work.GetTile();
    std::printf("| %s | %s | %s | %lldx%lld | %.1f | %.2f |\n",
                window.c_str(),
                ToString(type),
                method.name.c_str(),
                static_cast<long long>(tile[0]),
                static_cast<long long>(tile[1]),
                static_cast<double>(method.work.CountOperations()) / static_cast<double>(Volume(tile)),
                GetMiddle(ratios));
  }
  std::fflush(stdout);
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    CLI::App application{ "Times published methods on one thread of the CPU, relative to this library's programs." };
    Options  options;
    application.add_option("--width", options.width, "of the image")->check(CLI::Range(64, 65536));
    application.add_option("--height", options.height, "of the image")->check(CLI::Range(64, 65536));
    application.add_option("--repeats", options.repeats, "turns to take the median of")->check(CLI::Range(1, 1000));
    application.add_option("--seed", options.seed, "of the image's pixels");
    CLI11_PARSE(application, argc, argv);

    const auto & programs = GetRowPrograms();
    std::printf("%s, one thread, %lldx%lld, times as long as this library's program, median of %d turns\n\n",
                programs.empty() ? "no vectors" : programs.front().getInstructionSet(),
                static_cast<long long>(options.width),
                static_cast<long long>(options.height),
                options.repeats);
    std::printf("| window | pixel | program | tile | operations a pixel | times as long |\n"
                "| --- | --- | --- | --- | --- | --- |\n");
    for (const auto type : { PixelType::UInt8, PixelType::UInt16 })
    {
      Measure("3x3", { { 1, 1, 0, 0 } }, type, DescribeMethodsOf3x3, options);
      Measure("5x5", { { 2, 2, 0, 0 } }, type, DescribeMethodsOf5x5, options);
      Measure("7x7", { { 3, 3, 0, 0 } }, type, DescribeMethodsOf7x7, options);
    }
    return 0;
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianMethodsBenchmark: " << error.what() << std::endl;
    return 1;
  }
}
