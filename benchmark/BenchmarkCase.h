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
#ifndef BenchmarkCase_h
#define BenchmarkCase_h

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace cudamedianbenchmark
{

/** Pixel types that are measured: one per way of storing keys. */
enum class CasePixel
{
  UInt8,
  Int16,
  Float32
};

/** One row: a pixel type, an image size and a window. Two-dimensional images have a last size of 0. */
struct BenchmarkCase
{
  const char *               note; ///< empty, or what the workload stands for
  CasePixel                  pixel;
  std::array<std::size_t, 3> size;
  std::array<std::size_t, 3> radius;

  unsigned int
  Dimensions() const
  {
    return size[2] == 0 ? 2 : 3;
  }
  std::size_t
  Pixels() const
  {
    return size[0] * size[1] * (size[2] == 0 ? 1 : size[2]);
  }
  std::size_t
  WindowPixels() const
  {
    return (2 * radius[0] + 1) * (2 * radius[1] + 1) * (size[2] == 0 ? 1 : 2 * radius[2] + 1);
  }
};

/** The cases of a group: "small" (seconds on a laptop), "cpu" (the windows of the CPU's table), "counted" (5x5 of
 * 16-bit pixels, whose instructions are counted), "choice" (sizes and windows for which now the one and now the other
 * backend is faster) or "all" (with the sizes that a GPU needs to be busy). */
inline std::vector<BenchmarkCase>
BenchmarkCases(const std::string & group)
{
  std::vector<BenchmarkCase> cases{
    { "ITK performance suite", CasePixel::UInt8, { 181, 217, 181 }, { 2, 2, 2 } },
  };
  const CasePixel pixels[] = { CasePixel::UInt8, CasePixel::Int16, CasePixel::Float32 };
  if (group == "counted")
  {
    return { { "", CasePixel::Int16, { 512, 512, 0 }, { 2, 2, 0 } } };
  }
  if (group == "choice")
  {
    cases.clear();
    for (const CasePixel pixel : pixels)
    {
      for (const std::size_t r : { 1, 2, 5 })
      {
        for (const std::size_t extent : { 256, 1024, 4096, 12288 })
        {
          cases.push_back({ "", pixel, { extent, extent, 0 }, { r, r, 0 } });
        }
      }
      cases.push_back({ "", pixel, { 1024, 1024, 0 }, { 12, 12, 0 } });
      cases.push_back({ "", pixel, { 2048, 2048, 0 }, { 30, 30, 0 } });
      for (const std::size_t r : { 1, 2 })
      {
        cases.push_back({ "", pixel, { 64, 64, 64 }, { r, r, r } });
        cases.push_back({ "", pixel, { 256, 256, 128 }, { r, r, r } });
      }
      cases.push_back({ "", pixel, { 512, 512, 256 }, { 1, 1, 1 } });
      cases.push_back({ "", pixel, { 128, 128, 128 }, { 4, 4, 4 } });
    }
    return cases;
  }
  if (group == "cpu")
  {
    cases.clear();
    for (const CasePixel pixel : pixels)
    {
      cases.push_back({ "", pixel, { 512, 512, 0 }, { 1, 1, 0 } });
      for (const std::size_t r : { 1, 2, 3, 5, 8, 15 })
      {
        cases.push_back({ "", pixel, { 2048, 2048, 0 }, { r, r, 0 } });
      }
      for (const std::size_t r : { 1, 2, 3, 4 })
      {
        cases.push_back({ "", pixel, { 256, 256, 128 }, { r, r, r } });
      }
    }
    return cases;
  }
  for (const CasePixel pixel : pixels)
  {
    for (const std::size_t r : { 1, 2, 3, 5 })
    {
      cases.push_back({ "", pixel, { 1024, 1024, 0 }, { r, r, 0 } });
    }
    cases.push_back({ "", pixel, { 512, 512, 0 }, { 8, 8, 0 } });
    for (const std::size_t r : { 1, 2 })
    {
      cases.push_back({ "", pixel, { 128, 128, 64 }, { r, r, r } });
    }
  }
  if (group == "all")
  {
    for (const CasePixel pixel : pixels)
    {
      for (const std::size_t r : { 1, 2, 3, 4, 5, 8 })
      {
        cases.push_back({ "", pixel, { 6720, 4480, 0 }, { r, r, 0 } });
      }
      for (const std::size_t r : { 1, 2, 3 })
      {
        cases.push_back({ "", pixel, { 512, 512, 256 }, { r, r, r } });
      }
    }
  }
  return cases;
}

} // namespace cudamedianbenchmark

#endif
