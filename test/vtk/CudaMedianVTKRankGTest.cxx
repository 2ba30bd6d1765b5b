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
// What vtkCudaMedianImage3D has beyond vtkImageMedian3D, against each window's own values.

#include "CudaMedianVTKReference.h"

#include "CudaMedianTestSeed.h"

#include "vtkCallbackCommand.h"
#include "vtkCommand.h"
#include "vtkDoubleArray.h"
#include "vtkImageData.h"
#include "vtkIntArray.h"
#include "vtkNew.h"
#include "vtkPointData.h"
#include "vtkSmartPointer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace
{

using cudamediantest::Ask;
using cudamediantest::CountWrong;
using cudamediantest::Filter;
using cudamediantest::MakeImage;
using cudamediantest::Triple;
using Case = cudamediantest::RankCase;

/** A case that the engine takes. */
Case
DrawCase(const std::function<int(int, int)> & pick)
{
  Case wanted;
  wanted.kernel = { pick(1, 5), pick(1, 4), pick(1, 3) };
  wanted.boundary = pick(Filter::Shrink, Filter::Wrap);
  wanted.evenMedian = pick(Filter::Mean, Filter::Lower);
  wanted.hasMask = pick(0, 2) == 0;
  wanted.omitsBlanked = pick(0, 2) == 0;
  wanted.hasIgnoredValue = pick(0, 2) == 0;
  wanted.copiesInvalid = pick(0, 1) == 0;
  const int  values = wanted.kernel[0] * wanted.kernel[1] * wanted.kernel[2];
  const bool isWhole =
    wanted.boundary != Filter::Shrink && !wanted.hasMask && !wanted.omitsBlanked && !wanted.hasIgnoredValue;
  if (pick(0, 1) == 0)
  {
    wanted.rank = isWhole ? pick(0, values - 1) : pick(0, 1) * (values - 1);
  }
  return wanted;
}

std::string
ToText(const Case & wanted)
{
  std::ostringstream text;
  text << "kernel " << wanted.kernel[0] << "x" << wanted.kernel[1] << "x" << wanted.kernel[2] << ", rank "
       << wanted.rank << ", boundary " << wanted.boundary << ", even median " << wanted.evenMedian << ", mask "
       << wanted.hasMask << ", blanked " << wanted.omitsBlanked << ", ignored " << wanted.hasIgnoredValue << ", copied "
       << wanted.copiesInvalid;
  return text.str();
}

} // namespace

TEST(CudaMedianVTKRank, RandomCasesEqualTheWindowsOwnValues)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  const auto      pick = [&](int least, int most) {
    return least + static_cast<int>(generator() % static_cast<std::uint64_t>(most - least + 1));
  };
  constexpr int types[] = { VTK_UNSIGNED_CHAR, VTK_SHORT, VTK_INT, VTK_UNSIGNED_LONG_LONG, VTK_FLOAT, VTK_DOUBLE };
  for (int number = 0; number < 150; ++number)
  {
    const Case   wanted = DrawCase(pick);
    const Triple first{ pick(-5, 5), pick(-5, 5), pick(-5, 5) };
    const Triple size{ pick(1, 12), pick(1, 9), pick(1, 6) };
    const int    type = types[pick(0, static_cast<int>(std::size(types)) - 1)];
    const auto   image = MakeImage(type, first, size, pick(0, 2) == 0 ? pick(2, 3) : 1, generator);

    vtkNew<Filter> filter;
    Ask(filter, image, wanted);
    filter->Update();
    EXPECT_EQ(CountWrong(filter, image, wanted), 0) << vtkImageScalarTypeNameMacro(type) << " " << size[0] << "x"
                                                    << size[1] << "x" << size[2] << ", " << ToText(wanted) << "\n"
                                                    << filter->GetExecutionReport();
  }
}

TEST(CudaMedianVTKRank, PiecesAreThoseOfTheWhole)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  const auto      image = MakeImage(VTK_SHORT, { -2, 3, 0 }, { 14, 11, 7 }, 1, generator);
  for (const int boundary :
       { Filter::Shrink, Filter::Nearest, Filter::Constant, Filter::Reflect, Filter::Mirror, Filter::Wrap })
  {
    Case wanted;
    wanted.kernel = { 5, 4, 3 };
    wanted.boundary = boundary;
    wanted.hasMask = true;
    vtkNew<Filter> filter;
    Ask(filter, image, wanted);
    int piece[6] = { -2, 1, 10, 13, 2, 6 };
    filter->UpdateExtent(piece);
    EXPECT_EQ(filter->GetOutput()->GetExtent()[1], 1);
    EXPECT_EQ(CountWrong(filter, image, wanted), 0) << "boundary " << boundary;
  }
}

TEST(CudaMedianVTKRank, ByDefaultItIsVtksMedian)
{
  std::mt19937_64          generator(1);
  const auto               image = MakeImage(VTK_SHORT, { 0, 0, 0 }, { 12, 9, 5 }, 1, generator);
  vtkNew<vtkImageMedian3D> theirs;
  theirs->SetInputData(image);
  theirs->SetKernelSize(4, 3, 2);
  theirs->Update();
  vtkNew<Filter> ours;
  ours->SetInputData(image);
  ours->SetKernelSize(4, 3, 2);
  ours->Update();
  EXPECT_EQ(std::memcmp(ours->GetOutput()->GetScalarPointer(),
                        theirs->GetOutput()->GetScalarPointer(),
                        static_cast<std::size_t>(image->GetNumberOfPoints()) * sizeof(short)),
            0);
  EXPECT_NE(std::string(ours->GetExecutionReport()).find("Backend: "), std::string::npos);
}

TEST(CudaMedianVTKRank, ReportsProgressAndStopsWhenAsked)
{
  std::mt19937_64 generator(1);
  for (const int type : { VTK_SHORT, VTK_FLOAT })
  {
    const auto     image = MakeImage(type, { 0, 0, 0 }, { 90, 80, 20 }, 1, generator);
    vtkNew<Filter> filter;
    filter->SetBackendToCpu();
    filter->SetNumberOfThreads(1);
    filter->SetInputData(image);
    filter->SetKernelSize(4, 3, 2);
    std::vector<double>        seen;
    vtkNew<vtkCallbackCommand> command;
    command->SetClientData(&seen);
    command->SetCallback([](vtkObject *, unsigned long, void * list, void * data) {
      static_cast<std::vector<double> *>(list)->push_back(*static_cast<double *>(data));
    });
    filter->AddObserver(vtkCommand::ProgressEvent, command);
    filter->Update();
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_GT(seen.size(), 3U);
    EXPECT_EQ(seen.back(), 1.0);
    const auto all = seen.size();

    vtkNew<vtkCallbackCommand> stop;
    stop->SetCallback([](vtkObject * caller, unsigned long, void *, void *) {
      static_cast<vtkAlgorithm *>(caller)->SetAbortExecute(1);
    });
    filter->AddObserver(vtkCommand::ProgressEvent, stop);
    seen.clear();
    filter->Modified();
    filter->Update();
    EXPECT_LT(seen.size(), all);
    // It can be used again.
    filter->RemoveObserver(stop);
    filter->SetAbortExecute(0);
    filter->Modified();
    filter->Update();
    Case wanted;
    wanted.kernel = { 4, 3, 2 };
    EXPECT_EQ(CountWrong(filter, image, wanted), 0);
  }
}

TEST(CudaMedianVTKRank, WhatCannotBeIsAnError)
{
  std::mt19937_64 generator(1);
  const auto      image = MakeImage(VTK_UNSIGNED_CHAR, { 0, 0, 0 }, { 6, 5, 4 }, 1, generator);
  for (const int components : { 1, 2 })
  {
    vtkNew<vtkIntArray> other;
    other->SetName(components == 1 ? "short" : "pairs");
    other->SetNumberOfComponents(components);
    other->SetNumberOfTuples(components == 1 ? 7 : image->GetNumberOfPoints());
    other->Fill(1);
    image->GetPointData()->AddArray(other);
  }
  vtkNew<vtkDoubleArray> heights;
  heights->SetName("heights");
  heights->SetNumberOfTuples(image->GetNumberOfPoints());
  heights->Fill(1);
  image->GetPointData()->AddArray(heights);

  vtkNew<Filter>             filter;
  std::string                text;
  vtkNew<vtkCallbackCommand> command;
  command->SetClientData(&text);
  command->SetCallback([](vtkObject *, unsigned long, void * all, void * data) {
    *static_cast<std::string *>(all) += static_cast<const char *>(data);
  });
  filter->AddObserver(vtkCommand::ErrorEvent, command);
  const auto expectError = [&](const std::string & words) {
    text.clear();
    filter->Update();
    EXPECT_NE(text.find(words), std::string::npos) << "no '" << words << "' in: " << text;
  };
  filter->SetInputData(image);
  filter->SetKernelSize(3, 3, 1);
  filter->SetMaskArrayName("outside");
  expectError("have no array 'outside' of numbers");
  filter->SetMaskArrayName("heights");
  expectError("The mask 'heights' has values of type double; it takes integers");
  filter->SetMaskArrayName("pairs");
  expectError("The mask 'pairs' has 2 components; it takes one");
  filter->SetMaskArrayName("short");
  expectError("The mask 'short' has 7 values, but the image has 120 points");
  filter->SetMaskArrayName(nullptr);
  filter->UseIgnoredValueOn();
  filter->SetIgnoredValue(256);
  expectError("The ignored value is 256, which the image's points cannot hold");
  filter->SetIgnoredValue(0.5);
  expectError("The ignored value is 0.5, which");
  filter->SetIgnoredValue(std::nan(""));
  expectError("The ignored value is nan, which");
  filter->UseIgnoredValueOff();
  filter->SetBoundaryModeToConstant();
  filter->SetBoundaryConstant(-1);
  expectError("The boundary's constant is -1, which");
  filter->SetBoundaryModeToShrink();
  filter->SetRank(3);
  expectError("The rank is 3 of 9");
  filter->SetBoundaryModeToNearest();
  filter->SetRank(9);
  expectError("The rank is 9");
  filter->SetRank(8);
  text.clear();
  filter->Update();
  EXPECT_EQ(text, "");
}

TEST(CudaMedianVTKRank, SettersTellThePipelineAndPrint)
{
  vtkNew<Filter> filter;
  EXPECT_STREQ(filter->GetMaskArrayName(), "");
  auto       time = filter->GetMTime();
  const auto expectNewer = [&](const char * what) {
    EXPECT_GT(filter->GetMTime(), time) << what;
    time = filter->GetMTime();
  };
  filter->SetRank(2);
  expectNewer("rank");
  filter->SetBoundaryModeToMirror();
  expectNewer("boundary");
  filter->SetEvenMedianToLower();
  expectNewer("even median");
  filter->SetMaskArrayName("inside");
  expectNewer("mask");
  filter->OmitBlankedPointsOn();
  expectNewer("blanked");
  filter->UseIgnoredValueOn();
  expectNewer("ignored");
  filter->CopyInvalidPointsOn();
  expectNewer("copied");
  filter->SetMaskArrayName("inside");
  EXPECT_EQ(filter->GetMTime(), time);
  std::ostringstream text;
  filter->Print(text);
  for (const char * words : { "Rank: 2", "BoundaryMode: 4", "EvenMedian: 2", "MaskArrayName: inside" })
  {
    EXPECT_NE(text.str().find(words), std::string::npos) << words;
  }
}
