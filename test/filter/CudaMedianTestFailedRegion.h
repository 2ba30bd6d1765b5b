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
#ifndef CudaMedianTestFailedRegion_h
#define CudaMedianTestFailedRegion_h

#include "itkCommand.h"
#include "itkMacro.h"

#include <gtest/gtest.h>

namespace cudamediantest
{

/** Has a filter generate the half of an image that lies first along its last axis, and fail at the other half. ITK
 * takes a region that is in memory for one that was generated. So it must not be there, and is generated when it is
 * asked for again. The filter's input is as large as its output; afterwards that has the second half. */
template <typename TFilter>
void
ExpectFailedRegionIsGeneratedAgain(TFilter & filter, bool aborts)
{
  bool fails = false;
  int  runs = 0;
  filter.AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
    if (fails && aborts)
    {
      filter.AbortGenerateDataOn();
    }
    else if (fails)
    {
      itkGenericExceptionMacro("thrown by the observer");
    }
  });
  filter.AddObserver(itk::StartEvent(), [&runs](const itk::EventObject &) { ++runs; });
  filter.UpdateOutputInformation();
  auto * const output = filter.GetOutput();
  const auto   whole = output->GetLargestPossibleRegion();
  const auto   axis = whole.GetImageDimension() - 1;
  const auto   half = whole.GetSize(axis) / 2;
  auto         first = whole;
  auto         second = whole;
  first.SetSize(axis, half);
  second.SetIndex(axis, whole.GetIndex(axis) + static_cast<itk::IndexValueType>(half));
  second.SetSize(axis, whole.GetSize(axis) - half);

  output->SetRequestedRegion(first);
  filter.Update();
  ASSERT_EQ(output->GetBufferedRegion(), first);

  fails = true;
  output->SetRequestedRegion(second);
  EXPECT_THROW(filter.Update(), itk::ExceptionObject);
  EXPECT_EQ(output->GetBufferedRegion().GetNumberOfPixels(), 0U);

  // Nothing but the failure tells the pipeline that there is something to do.
  fails = false;
  runs = 0;
  output->SetRequestedRegion(second);
  filter.Update();
  EXPECT_EQ(runs, 1);
  ASSERT_EQ(output->GetBufferedRegion(), second);
  filter.RemoveAllObservers();
}

} // namespace cudamediantest

#endif
