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
#ifndef CudaMedianTestSeed_h
#define CudaMedianTestSeed_h

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace cudamediantest
{

/** The seed of all random data. A run is repeated by setting CUDAMEDIAN_TEST_SEED to the seed that a failure prints. */
inline std::uint64_t
Seed()
{
  static const std::uint64_t seed = [] {
    constexpr std::uint64_t defaultSeed = 20250810;
    const char * const      text = std::getenv("CUDAMEDIAN_TEST_SEED");
    return (text == nullptr || *text == '\0') ? defaultSeed : std::strtoull(text, nullptr, 0);
  }();
  return seed;
}

/** What a failure prints so that it can be repeated. */
inline std::string
SeedText()
{
  return "CUDAMEDIAN_TEST_SEED=" + std::to_string(Seed());
}

} // namespace cudamediantest

/** Put first in a test that uses random data: the seed goes to every failure message and to the XML report. */
#define CUDAMEDIAN_TRACE_SEED()             \
  SCOPED_TRACE(cudamediantest::SeedText()); \
  testing::Test::RecordProperty("CUDAMEDIAN_TEST_SEED", std::to_string(cudamediantest::Seed()))

#endif
