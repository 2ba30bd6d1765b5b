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
#include "HostRates.h"

#include <gtest/gtest.h>

TEST(CudaMedianHostRates, AreThoseOfSomeMachine)
{
  const auto & rates = cudamedian::GetHostRates();
  EXPECT_GT(rates.laneBytes, 1e7);
  EXPECT_LT(rates.laneBytes, 1e14);
  EXPECT_GT(rates.copyBytes, 1e6);
  EXPECT_LT(rates.copyBytes, 1e13);
  EXPECT_GE(rates.cores, 1U);
  EXPECT_EQ(&cudamedian::GetHostRates(), &rates);
}
