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
// vtkCudaMedianImage3D beside vtkImageMedian3D, voxel by voxel.

#include "vtkCudaMedianFactory.h"
#include "vtkCudaMedianImage3D.h"

#include "CudaMedianTestDevice.h"
#include "CudaMedianTestSeed.h"
#include "itkCudaMedianEngine.h"

#include "vtkCallbackCommand.h"
#include "vtkCommand.h"
#include "vtkDataArray.h"
#include "vtkExtentTranslator.h"
#include "vtkImageData.h"
#include "vtkNew.h"
#include "vtkObjectFactory.h"
#include "vtkPointData.h"
#include "vtkSmartPointer.h"
#include "vtkTrivialProducer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace
{

using Extent = std::array<int, 6>;

constexpr int allTypes[] = { VTK_CHAR,           VTK_SIGNED_CHAR, VTK_UNSIGNED_CHAR,      VTK_SHORT,
                             VTK_UNSIGNED_SHORT, VTK_INT,         VTK_UNSIGNED_INT,       VTK_LONG,
                             VTK_UNSIGNED_LONG,  VTK_LONG_LONG,   VTK_UNSIGNED_LONG_LONG, VTK_FLOAT,
                             VTK_DOUBLE };

template <typename T>
void
FillRandom(T * values, vtkIdType count, std::mt19937_64 & generator, bool isFewValued)
{
  for (vtkIdType i = 0; i < count; ++i)
  {
    const auto random = generator();
    if constexpr (std::is_floating_point_v<T>)
    {
      const auto value = static_cast<T>(static_cast<double>(random % 2000003) / 977 - 1000);
      values[i] = isFewValued ? static_cast<T>(random % 3) : value;
    }
    else
    {
      // Halves of the range: VTK's mean of two values is one plus half the difference, which has to fit.
      values[i] = isFewValued ? static_cast<T>(random % 3) : static_cast<T>(static_cast<T>(random >> 7) / 2);
    }
  }
}

template <typename T>
void
FillExtremes(T * values, vtkIdType count, std::mt19937_64 & generator)
{
  const T few[] = { std::numeric_limits<T>::max(),
                    std::numeric_limits<T>::lowest(),
                    static_cast<T>(-1),
                    static_cast<T>(0),
                    static_cast<T>(1) };
  for (vtkIdType i = 0; i < count; ++i)
  {
    values[i] = few[generator() % std::size(few)];
  }
}

/** The first pixels of three rows of 41, whose windows hold two pixels, of which the later has the given number. */
template <typename T>
void
CheckPairs(const T * pixels, const T * means, int later)
{
  for (int row = 0; row < 3; ++row)
  {
    using Unsigned = std::make_unsigned_t<T>;
    const T    low = std::min(pixels[41 * row], pixels[41 * row + 1]);
    const T    high = std::max(pixels[41 * row], pixels[41 * row + 1]);
    const auto difference = static_cast<Unsigned>(static_cast<Unsigned>(high) - static_cast<Unsigned>(low));
    EXPECT_EQ(+means[41 * row + later], +static_cast<T>(low + static_cast<T>(difference / 2))) << +low << " " << +high;
  }
}

/** Integers only. */
void
CheckPairs(const float *, const float *, int)
{}

void
CheckPairs(const double *, const double *, int)
{}

vtkSmartPointer<vtkImageData>
MakeImage(int type, const Extent & extent, int components, std::mt19937_64 & generator, bool isFewValued = false)
{
  auto image = vtkSmartPointer<vtkImageData>::New();
  image->SetExtent(const_cast<int *>(extent.data()));
  image->SetSpacing(0.5, 0.7, 2);
  image->SetOrigin(-3, 4, 5);
  image->AllocateScalars(type, components);
  vtkDataArray * const array = image->GetPointData()->GetScalars();
  array->SetName("pixels");
  switch (type)
  {
    vtkTemplateMacro(
      FillRandom(static_cast<VTK_TT *>(array->GetVoidPointer(0)), array->GetNumberOfValues(), generator, isFewValued));
  }
  return image;
}

vtkSmartPointer<vtkImageData>
RunFilter(vtkImageMedian3D *         filter,
          vtkImageData *             image,
          const std::array<int, 3> & kernel,
          const Extent *             wanted = nullptr)
{
  filter->SetInputData(image);
  filter->SetKernelSize(kernel[0], kernel[1], kernel[2]);
  if (wanted != nullptr)
  {
    filter->UpdateExtent(wanted->data());
  }
  else
  {
    filter->Update();
  }
  auto result = vtkSmartPointer<vtkImageData>::New();
  result->DeepCopy(filter->GetOutput());
  return result;
}

/** Numbers of values that differ between two images of one kind. */
vtkIdType
CountDifferences(vtkImageData * one, vtkImageData * other)
{
  vtkDataArray * const a = one->GetPointData()->GetScalars();
  vtkDataArray * const b = other->GetPointData()->GetScalars();
  EXPECT_EQ(a->GetDataType(), b->GetDataType());
  EXPECT_EQ(a->GetNumberOfValues(), b->GetNumberOfValues());
  EXPECT_EQ(a->GetNumberOfComponents(), b->GetNumberOfComponents());
  EXPECT_STREQ(a->GetName(), b->GetName());
  for (int i = 0; i < 6; ++i)
  {
    EXPECT_EQ(one->GetExtent()[i], other->GetExtent()[i]);
  }
  for (int i = 0; i < 3; ++i)
  {
    EXPECT_EQ(one->GetSpacing()[i], other->GetSpacing()[i]);
    EXPECT_EQ(one->GetOrigin()[i], other->GetOrigin()[i]);
  }
  const auto   bytes = static_cast<std::size_t>(a->GetDataTypeSize());
  const auto   values = a->GetNumberOfValues();
  const auto * p = static_cast<const char *>(a->GetVoidPointer(0));
  const auto * q = static_cast<const char *>(b->GetVoidPointer(0));
  vtkIdType    differences = 0;
  for (vtkIdType i = 0; i < values; ++i)
  {
    differences += std::memcmp(p + i * bytes, q + i * bytes, bytes) != 0 ? 1 : 0;
  }
  return differences;
}

void
Compare(vtkImageData *             image,
        const std::array<int, 3> & kernel,
        const std::string &        what,
        const Extent *             wanted = nullptr)
{
  vtkNew<vtkImageMedian3D>     theirs;
  vtkNew<vtkCudaMedianImage3D> ours;
  ours->SetNumberOfThreads(2);
  const auto expected = RunFilter(theirs, image, kernel, wanted);
  const auto actual = RunFilter(ours, image, kernel, wanted);
  EXPECT_EQ(CountDifferences(expected, actual), 0)
    << what << ", kernel " << kernel[0] << "x" << kernel[1] << "x" << kernel[2];
}

/** Errors that an object reports, as text. */
class ErrorText
{
public:
  explicit ErrorText(vtkObject * object)
  {
    m_Command->SetClientData(this);
    m_Command->SetCallback([](vtkObject *, unsigned long, void * self, void * data) {
      static_cast<ErrorText *>(self)->text += static_cast<const char *>(data);
    });
    object->AddObserver(vtkCommand::ErrorEvent, m_Command);
  }

  std::string text;

private:
  vtkNew<vtkCallbackCommand> m_Command;
};

} // namespace

TEST(CudaMedianVTK, EveryTypeEqualsVtk)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (const int type : allTypes)
  {
    for (const bool isFewValued : { false, true })
    {
      const auto        image = MakeImage(type, { 0, 18, 0, 12, 0, 9 }, 1, generator, isFewValued);
      const std::string name = vtkImageScalarTypeNameMacro(type);
      Compare(image, { 3, 3, 3 }, name);
      Compare(image, { 5, 5, 5 }, name);
      Compare(image, { 5, 3, 1 }, name);
      Compare(image, { 2, 4, 3 }, name);
    }
  }
}

// VTK's mean of two values overflows where their difference does not fit the type; this class's does not.
TEST(CudaMedianVTK, MeansOfExtremesAreExact)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (const int type : { VTK_SIGNED_CHAR, VTK_SHORT, VTK_INT, VTK_LONG_LONG, VTK_UNSIGNED_LONG_LONG })
  {
    const auto image = MakeImage(type, { 0, 40, 0, 2, 0, 0 }, 1, generator);
    switch (type)
    {
      vtkTemplateMacro(FillExtremes(static_cast<VTK_TT *>(image->GetScalarPointer()), 123, generator));
    }
    vtkNew<vtkCudaMedianImage3D> filter;
    for (const int kernel : { 2, 3 })
    {
      const auto result = RunFilter(filter, image, { kernel, 1, 1 });
      switch (type)
      {
        vtkTemplateMacro(CheckPairs(static_cast<const VTK_TT *>(image->GetScalarPointer()),
                                    static_cast<const VTK_TT *>(result->GetScalarPointer()),
                                    kernel == 2 ? 1 : 0));
      }
    }
  }
}

TEST(CudaMedianVTK, ImagesOfEverySizeEqualVtk)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (const Extent & extent : { Extent{ 0, 0, 0, 0, 0, 0 },
                                 Extent{ 0, 30, 0, 0, 0, 0 },
                                 Extent{ 0, 0, 0, 13, 0, 0 },
                                 Extent{ 0, 0, 0, 0, 0, 13 },
                                 Extent{ 0, 1, 0, 2, 0, 3 },
                                 Extent{ -5, 11, 7, 21, -3, -3 },
                                 Extent{ 100, 170, -20, -12, 3, 9 } })
  {
    const auto image = MakeImage(VTK_SHORT, extent, 1, generator);
    for (const std::array<int, 3> & kernel : { std::array<int, 3>{ 3, 3, 3 },
                                               std::array<int, 3>{ 1, 1, 1 },
                                               std::array<int, 3>{ 7, 7, 7 },
                                               std::array<int, 3>{ 1, 5, 3 },
                                               std::array<int, 3>{ 41, 1, 3 },
                                               std::array<int, 3>{ 4, 4, 4 },
                                               std::array<int, 3>{ 2, 1, 6 } })
    {
      Compare(image, kernel, "extent of " + std::to_string(extent[1] - extent[0] + 1) + " columns");
    }
  }
}

TEST(CudaMedianVTK, ComponentsAreFilteredByThemselves)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (const int components : { 2, 3, 4 })
  {
    for (const int type : { VTK_UNSIGNED_CHAR, VTK_SHORT, VTK_FLOAT, VTK_DOUBLE })
    {
      const auto image = MakeImage(type, { 0, 16, 2, 10, 0, 6 }, components, generator);
      Compare(image, { 3, 5, 3 }, std::to_string(components) + " components");
      Compare(image, { 2, 3, 3 }, std::to_string(components) + " components");
    }
  }
}

TEST(CudaMedianVTK, PiecesAreThoseOfTheWhole)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  const auto      image = MakeImage(VTK_UNSIGNED_SHORT, { -4, 30, 0, 20, 5, 17 }, 1, generator);
  for (const Extent & wanted : { Extent{ -4, 10, 0, 20, 5, 17 },
                                 Extent{ 3, 3, 4, 4, 9, 9 },
                                 Extent{ -4, 30, 20, 20, 5, 6 },
                                 Extent{ 5, 30, 2, 18, 17, 17 } })
  {
    Compare(image, { 5, 3, 5 }, "a piece", &wanted);
    Compare(image, { 4, 3, 2 }, "a piece", &wanted);
  }
  const auto   colours = MakeImage(VTK_UNSIGNED_CHAR, { 0, 30, 0, 20, 0, 3 }, 3, generator);
  const Extent wanted{ 3, 20, 0, 20, 1, 3 };
  Compare(colours, { 3, 3, 3 }, "a piece of colours", &wanted);
}

TEST(CudaMedianVTK, RandomCasesEqualVtk)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  const auto      pick = [&](int least, int most) {
    return least + static_cast<int>(generator() % static_cast<std::uint64_t>(most - least + 1));
  };
  for (int number = 0; number < 60; ++number)
  {
    Extent extent;
    for (int axis = 0; axis < 3; ++axis)
    {
      extent[2 * axis] = pick(-9, 9);
      extent[2 * axis + 1] = extent[2 * axis] + pick(0, axis == 0 ? 70 : 14);
    }
    Extent wanted;
    for (int axis = 0; axis < 3; ++axis)
    {
      wanted[2 * axis] = pick(extent[2 * axis], extent[2 * axis + 1]);
      wanted[2 * axis + 1] = pick(wanted[2 * axis], extent[2 * axis + 1]);
    }
    const int          type = allTypes[pick(0, static_cast<int>(std::size(allTypes)) - 1)];
    const auto         image = MakeImage(type, extent, pick(0, 3) == 0 ? pick(2, 4) : 1, generator, pick(0, 2) == 0);
    std::array<int, 3> kernel{ pick(1, 7), pick(1, 7), pick(1, 7) };
    if (pick(0, 2) != 0)
    {
      kernel = { kernel[0] | 1, kernel[1] | 1, kernel[2] | 1 };
    }
    Compare(image, kernel, "random case " + std::to_string(number), pick(0, 1) == 0 ? nullptr : &wanted);
  }
}

TEST(CudaMedianVTK, InfinitiesAndNaNAreOrdered)
{
  vtkNew<vtkImageData> image;
  image->SetDimensions(5, 1, 1);
  image->AllocateScalars(VTK_FLOAT, 1);
  const float infinity = std::numeric_limits<float>::infinity();
  const float row[] = { infinity, 1, std::nanf(""), 3, -infinity };
  std::memcpy(image->GetScalarPointer(), row, sizeof(row));
  vtkNew<vtkCudaMedianImage3D> filter;
  const auto                   result = RunFilter(filter, image, { 3, 1, 1 });
  const auto *                 values = static_cast<const float *>(result->GetScalarPointer());
  EXPECT_EQ(values[0], infinity); // the mean of 1 and infinity
  EXPECT_EQ(values[1], infinity); // 1, infinity, NaN
  EXPECT_EQ(values[2], 3);
  EXPECT_EQ(values[3], 3);
  EXPECT_EQ(values[4], -infinity); // of 3 and -infinity
}

TEST(CudaMedianVTK, ClippedWindowsOfNaNAreNaN)
{
  // Every clipped shape: one to three axes at the border, odd and even numbers of pixels.
  const float  nan = std::numeric_limits<float>::quiet_NaN();
  const Extent extent{ 0, 8, 0, 7, 0, 6 };
  for (const std::array<int, 3> & kernel : { std::array<int, 3>{ 3, 3, 1 },
                                             std::array<int, 3>{ 3, 3, 3 },
                                             std::array<int, 3>{ 5, 3, 5 },
                                             std::array<int, 3>{ 2, 4, 3 } })
  {
    for (const int every : { 1, 2, 5 })
    {
      // All pixels are NaN, or one in two or five is a number.
      vtkNew<vtkImageData> image;
      image->SetExtent(const_cast<int *>(extent.data()));
      image->AllocateScalars(VTK_FLOAT, 1);
      auto * const pixels = static_cast<float *>(image->GetScalarPointer());
      const auto   count = image->GetNumberOfPoints();
      for (vtkIdType i = 0; i < count; ++i)
      {
        pixels[i] = every > 1 && i % every == 0 ? static_cast<float>(i) : nan;
      }
      vtkNew<vtkCudaMedianImage3D> filter;
      const auto                   result = RunFilter(filter, image, kernel);
      const auto *                 values = static_cast<const float *>(result->GetScalarPointer());
      vtkIdType                    wrong = 0;
      for (vtkIdType i = 0; i < count; ++i)
      {
        const std::array<int, 3> at{ static_cast<int>(i % 9), static_cast<int>(i / 9 % 8), static_cast<int>(i / 72) };
        int                      numbers = 0;
        int                      all = 0;
        for (int z = std::max(at[2] - kernel[2] / 2, 0); z <= std::min(at[2] - kernel[2] / 2 + kernel[2] - 1, 6); ++z)
        {
          for (int y = std::max(at[1] - kernel[1] / 2, 0); y <= std::min(at[1] - kernel[1] / 2 + kernel[1] - 1, 7); ++y)
          {
            for (int x = std::max(at[0] - kernel[0] / 2, 0); x <= std::min(at[0] - kernel[0] / 2 + kernel[0] - 1, 8);
                 ++x)
            {
              ++all;
              numbers += std::isnan(pixels[x + 9 * (y + 8 * z)]) ? 0 : 1;
            }
          }
        }
        // The higher of the middle values is NaN: so is the median.
        wrong += std::isnan(values[i]) == (numbers <= all / 2) ? 0 : 1;
      }
      EXPECT_EQ(wrong, 0) << "of " << count << ", kernel " << kernel[0] << "x" << kernel[1] << "x" << kernel[2]
                          << ", every " << every;
    }
  }
}

TEST(CudaMedianVTK, AFactoryGivesItForVtksClass)
{
  vtkCudaMedianFactory::RegisterOneFactory();
  vtkCudaMedianFactory::RegisterOneFactory();
  const auto object = vtkSmartPointer<vtkObject>::Take(vtkObjectFactory::CreateInstance("vtkImageMedian3D"));
  EXPECT_STREQ(object ? object->GetClassName() : "none", "vtkCudaMedianImage3D");
  vtkObjectFactory::UnRegisterAllFactories();
}

TEST(CudaMedianVTK, ReportsProgressAndStopsWhenAsked)
{
  std::mt19937_64              generator(1);
  const auto                   image = MakeImage(VTK_SHORT, { 0, 99, 0, 99, 0, 19 }, 1, generator);
  vtkNew<vtkCudaMedianImage3D> filter;
  filter->SetBackendToCpu(); // a device does it in few steps
  filter->SetNumberOfThreads(1);
  filter->SetInputData(image);
  filter->SetKernelSize(3, 3, 3);
  std::vector<double>        seen;
  vtkNew<vtkCallbackCommand> command;
  command->SetClientData(&seen);
  command->SetCallback([](vtkObject *, unsigned long, void * list, void * data) {
    static_cast<std::vector<double> *>(list)->push_back(*static_cast<double *>(data));
  });
  filter->AddObserver(vtkCommand::ProgressEvent, command);
  filter->Update();
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_GT(seen.size(), 10U);
  EXPECT_EQ(seen.back(), 1.0);
  EXPECT_NE(std::string(filter->GetExecutionReport()).find("tile program"), std::string::npos)
    << filter->GetExecutionReport();

  vtkNew<vtkCallbackCommand> stop;
  int                        after = -1;
  stop->SetClientData(&after);
  stop->SetCallback([](vtkObject * caller, unsigned long, void * count, void *) {
    ++*static_cast<int *>(count);
    static_cast<vtkAlgorithm *>(caller)->SetAbortExecute(1);
  });
  filter->AddObserver(vtkCommand::ProgressEvent, stop);
  filter->Modified();
  filter->Update();
  EXPECT_LE(after, 3) << "progress events after the first that asked to stop";
  EXPECT_GE(after, 0);
  // It can be used again.
  filter->RemoveObserver(stop);
  filter->SetAbortExecute(0);
  vtkNew<vtkImageMedian3D> theirs;
  EXPECT_EQ(CountDifferences(RunFilter(theirs, image, { 3, 3, 3 }), RunFilter(filter, image, { 3, 3, 3 })), 0);
}

TEST(CudaMedianVTK, MemoryThatOthersHoldIsLeftAlone)
{
  std::mt19937_64              generator(1);
  const auto                   one = MakeImage(VTK_SHORT, { 0, 30, 0, 20, 0, 9 }, 1, generator);
  const auto                   other = MakeImage(VTK_SHORT, { 0, 30, 0, 20, 0, 9 }, 1, generator);
  vtkNew<vtkCudaMedianImage3D> filter;
  vtkNew<vtkImageMedian3D>     theirs;
  filter->SetInputData(one);
  filter->SetKernelSize(3, 3, 3);
  filter->Update();
  // A user's own view of the first result.
  vtkNew<vtkImageData> view;
  view->ShallowCopy(filter->GetOutput());
  const auto expected = RunFilter(theirs, one, { 3, 3, 3 });
  const auto second = RunFilter(filter, other, { 3, 3, 3 });
  EXPECT_EQ(CountDifferences(expected, view), 0);
  EXPECT_EQ(CountDifferences(RunFilter(theirs, other, { 3, 3, 3 }), second), 0);
  // Nobody holds the second: a third update uses its memory, another kind of image does not.
  const void * const memory = filter->GetOutput()->GetScalarPointer();
  const auto         third = RunFilter(filter, one, { 3, 3, 3 });
  EXPECT_EQ(filter->GetOutput()->GetScalarPointer(), memory);
  EXPECT_EQ(CountDifferences(expected, third), 0);
  const auto colours = MakeImage(VTK_UNSIGNED_CHAR, { 0, 30, 0, 20, 0, 9 }, 2, generator);
  EXPECT_EQ(CountDifferences(RunFilter(theirs, colours, { 3, 3, 3 }), RunFilter(filter, colours, { 3, 3, 3 })), 0);
}

TEST(CudaMedianVTK, OnADeviceItEqualsVtk)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (const int type : allTypes)
  {
    const auto image = MakeImage(type, { -3, 40, 0, 25, 2, 14 }, type == VTK_FLOAT ? 2 : 1, generator);
    for (const std::array<int, 3> & kernel : { std::array<int, 3>{ 3, 3, 3 },
                                               std::array<int, 3>{ 5, 5, 5 },
                                               std::array<int, 3>{ 7, 3, 1 },
                                               std::array<int, 3>{ 4, 3, 2 } })
    {
      vtkNew<vtkImageMedian3D>     theirs;
      vtkNew<vtkCudaMedianImage3D> ours;
      ours->SetBackendToCuda();
      ours->SetNumberOfThreads(2);
      const auto expected = RunFilter(theirs, image, kernel);
      EXPECT_EQ(CountDifferences(expected, RunFilter(ours, image, kernel)), 0)
        << vtkImageScalarTypeNameMacro(type) << ", kernel " << kernel[0];
      EXPECT_NE(std::string(ours->GetExecutionReport()).find("Backend: CUDA"), std::string::npos)
        << ours->GetExecutionReport();
    }
  }
}

TEST(CudaMedianVTK, ErrorsAreReported)
{
  std::mt19937_64              generator(1);
  const auto                   image = MakeImage(VTK_SHORT, { 0, 9, 0, 9, 0, 0 }, 1, generator);
  vtkNew<vtkCudaMedianImage3D> filter;
  ErrorText                    errors(filter);
  RunFilter(filter, image, { 0, 3, 3 });
  EXPECT_NE(errors.text.find("A kernel of 0 pixels along axis 0"), std::string::npos) << errors.text;
  errors.text.clear();
  if (!cudamedian::QueryCudaDevice().usable)
  {
    filter->SetBackendToCuda();
    RunFilter(filter, image, { 3, 3, 1 });
    EXPECT_NE(errors.text.find("CUDA"), std::string::npos) << errors.text;
    errors.text.clear();
    filter->SetBackendToCpu();
  }
  vtkNew<vtkImageMedian3D> theirs;
  EXPECT_EQ(CountDifferences(RunFilter(theirs, image, { 3, 3, 1 }), RunFilter(filter, image, { 3, 3, 1 })), 0);
  EXPECT_EQ(errors.text, "");
}
