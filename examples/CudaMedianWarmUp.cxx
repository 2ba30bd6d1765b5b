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
// Compiles the kernels of windows before they are needed, and keeps them in the cache on disk.
//
// CudaMedianWarmUp --type short --radius 3,3,1 --radius 4,2,1

#include "itkCudaMedianWarmUp.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>

namespace
{

using cudamedian::PixelType;

/** What types are called here: as in C++ and ITK, and as in reports. */
const std::map<std::string, PixelType> types{
  { "char", PixelType::Int8 },      { "uchar", PixelType::UInt8 },     { "short", PixelType::Int16 },
  { "ushort", PixelType::UInt16 },  { "int", PixelType::Int32 },       { "uint", PixelType::UInt32 },
  { "long", PixelType::Int64 },     { "ulong", PixelType::UInt64 },    { "float", PixelType::Float32 },
  { "double", PixelType::Float64 }, { "float16", PixelType::Float16 }, { "bfloat16", PixelType::BFloat16 },
  { "int8", PixelType::Int8 },      { "uint8", PixelType::UInt8 },     { "int16", PixelType::Int16 },
  { "uint16", PixelType::UInt16 },  { "int32", PixelType::Int32 },     { "uint32", PixelType::UInt32 },
  { "int64", PixelType::Int64 },    { "uint64", PixelType::UInt64 },   { "float32", PixelType::Float32 },
  { "float64", PixelType::Float64 }
};

/** A radius for each axis, as in 3,3,1. \throws CLI::ValidationError */
cudamedian::Extent
ParseRadius(const std::string & text)
{
  cudamedian::Extent radius{};
  std::size_t        axis = 0;
  std::size_t        begin = 0;
  while (begin <= text.size())
  {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto number = text.substr(begin, end - begin);
    if (axis == radius.size() || number.empty() || number.size() > 9 ||
        number.find_first_not_of("0123456789") != std::string::npos)
    {
      throw CLI::ValidationError("--radius " + text, "one to four numbers from 0 on, as in 3,3,1");
    }
    radius[axis++] = std::stoll(number);
    begin = end + 1;
  }
  return radius;
}

void
Print(const cudamedian::WarmUpResult & result)
{
  std::string window;
  for (std::size_t axis = 0; axis < result.window.size(); ++axis)
  {
    if (axis < 2 || result.window[axis] > 1)
    {
      window += (window.empty() ? "" : "x") + std::to_string(result.window[axis]);
    }
  }
  std::printf("%s: %s, %s: %s (%.2f s)\n",
              result.device.c_str(),
              window.c_str(),
              ToString(result.pixelType),
              result.how.c_str(),
              result.seconds);
  std::fflush(stdout);
}

} // namespace

int
main(int argc, char * argv[])
{
  CLI::App app{
    "Compiles the CUDA kernels of windows that are not compiled ahead, and keeps them in the cache on disk, "
    "where later programs of the same user find them at once."
  };
  std::vector<std::string>  radii;
  std::vector<std::string>  typeNames{ "uchar", "short", "float" };
  cudamedian::WarmUpRequest request;
  app.set_version_flag("--version", CUDAMEDIAN_VERSION, "print the version");
  app.add_option("--radius", radii, "radius of a window along each axis, as in 3,3,1; may be given several times")
    ->required()
    ->type_name("NUMBERS")
    ->allow_extra_args(false);
  app
    .add_option("--type",
                typeNames,
                "pixel type: uchar, short, float, ... or uint8, int16, float32, ...; may be given several times "
                "(default: uchar, short and float)")
    ->type_name("NAME")
    ->check(CLI::IsMember(types))
    ->allow_extra_args(false);
  const auto devices =
    app.add_option("--devices", request.devices, "CUDA devices to compile for, as in 0,1 (default: all)")
      ->type_name("NUMBERS")
      ->delimiter(',');
  app
    .add_option(
      "--for", request.target, "a device that need not be here: an architecture as in sm_90, or a name as in h100")
    ->type_name("NAME")
    ->excludes(devices);
  CLI11_PARSE(app, argc, argv);
  try
  {
    for (const auto & radius : radii)
    {
      request.radii.push_back(ParseRadius(radius));
    }
    for (const auto & name : typeNames)
    {
      request.pixelTypes.push_back(types.at(name));
    }
    bool areReady = true;
    for (const auto & result : cudamedian::WarmUp(request, Print))
    {
      areReady = areReady && result.isReady;
    }
    return areReady ? 0 : 1;
  }
  catch (const CLI::Error & error)
  {
    return app.exit(error);
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianWarmUp: " << error.what() << std::endl;
    return 1;
  }
}
