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
// vtkCudaMedianImage3D beside vtkImageMedian3D, with the same threads, on random volumes, in one run: times in turn,
// the least of each. Prints a table of ratios, and whether the results are the same.

#include "vtkCudaMedianImage3D.h"

#include "itkCudaMedianEngine.h"

#include "vtkDataArray.h"
#include "vtkImageData.h"
#include "vtkNew.h"
#include "vtkPointData.h"
#include "vtkSmartPointer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace
{

template <typename T>
void
FillRandomly(T * values, vtkIdType count)
{
  std::mt19937 random(1);
  for (vtkIdType i = 0; i < count; ++i)
  {
    values[i] = static_cast<T>(random() >> 8);
  }
}

/** The engine alone, whose border is the image's nearest pixel, into memory that is there. */
double
TimedEngine(vtkImageData & image, cudamedian::PixelType type, int size, unsigned threads, std::vector<char> & output)
{
  cudamedian::MedianRequest request;
  request.pixelType = type;
  request.backend = cudamedian::Backend::Cpu;
  request.workUnits = threads;
  request.parallelFor = [](std::size_t count, const std::function<void(std::size_t)> & body) {
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < count; ++i)
    {
      others.emplace_back(body, i);
    }
    body(0);
    for (std::thread & thread : others)
    {
      thread.join();
    }
  };
  const int * const extent = image.GetDimensions();
  request.inputExtent = request.outputExtent = { { extent[0], extent[1], extent[2], 1 } };
  request.outputStride = { { 1, extent[0], std::int64_t{ extent[0] } * extent[1], 0 } };
  request.radius = { { size / 2, size / 2, size / 2, 0 } };
  output.resize(static_cast<std::size_t>(image.GetNumberOfPoints()) * static_cast<std::size_t>(image.GetScalarSize()));
  request.input = image.GetScalarPointer();
  request.output = output.data();
  const auto start = std::chrono::steady_clock::now();
  cudamedian::RunMedian(request);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double
TimedUpdate(vtkImageMedian3D & filter)
{
  filter.Modified();
  const auto start = std::chrono::steady_clock::now();
  filter.Update();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

vtkIdType
CountDifferences(vtkImageMedian3D & one, vtkImageMedian3D & other)
{
  vtkDataArray * const a = one.GetOutput()->GetPointData()->GetScalars();
  vtkDataArray * const b = other.GetOutput()->GetPointData()->GetScalars();
  vtkIdType            differences = 0;
  for (vtkIdType i = 0; i < a->GetNumberOfValues(); ++i)
  {
    differences += a->GetComponent(i, 0) != b->GetComponent(i, 0) ? 1 : 0;
  }
  return differences;
}

/** Runs VTK's class, ours and the engine alone on an image, and prints a row of the table. */
void
Compare(vtkImageData & image, cudamedian::PixelType type, int size, int threads)
{
  vtkNew<vtkImageMedian3D>     theirs;
  vtkNew<vtkCudaMedianImage3D> ours;
  ours->SetBackendToCpu();
  for (vtkImageMedian3D * const filter : { theirs.Get(), static_cast<vtkImageMedian3D *>(ours.Get()) })
  {
    filter->SetInputData(&image);
    filter->SetKernelSize(size, size, size);
    filter->SetNumberOfThreads(threads);
    filter->SetEnableSMP(false);
    filter->Update();
  }
  double            theirTime = 1e300;
  double            ourTime = 1e300;
  double            engineTime = 1e300;
  std::vector<char> engineOutput;
  for (int repetition = 0; repetition < 3; ++repetition)
  {
    theirTime = std::min(theirTime, TimedUpdate(*theirs));
    for (int i = 0; i < 15; ++i)
    {
      ourTime = std::min(ourTime, TimedUpdate(*ours));
      engineTime = std::min(engineTime, TimedEngine(image, type, size, static_cast<unsigned>(threads), engineOutput));
    }
  }
  const std::string report = ours->GetExecutionReport();
  const auto        line = report.find("Algorithm: ");
  std::printf("| %s | %dx%dx%d | %.0f | %.0f | %lld | %s |\n",
              image.GetScalarTypeAsString(),
              size,
              size,
              size,
              theirTime / ourTime,
              theirTime / engineTime,
              static_cast<long long>(CountDifferences(*theirs, *ours)),
              line == std::string::npos ? "" : report.substr(line + 11, report.find(" (", line) - line - 11).c_str());
  std::fflush(stdout);
}

} // namespace

int
main(int argc, char * argv[])
{
  if (argc > 1 && std::strncmp(argv[1], "--", 2) == 0)
  {
    std::printf("usage: CudaMedianVTKBenchmark [columns rows slices [threads]]   (default: 256 256 64 2)\n");
    return 1;
  }
  int numbers[] = { 256, 256, 64, 2 };
  for (int i = 1; i < std::min(argc, 5); ++i)
  {
    numbers[i - 1] = std::atoi(argv[i]);
    if (numbers[i - 1] < 1)
    {
      std::fprintf(stderr, "CudaMedianVTKBenchmark: '%s' is not a number above 0\n", argv[i]);
      return 1;
    }
  }
  std::printf("%dx%dx%d voxels, %d threads\n\n| pixels | kernel | times vtkImageMedian3D | the engine alone | values "
              "that differ | ran |\n"
              "| --- | --- | --- | --- | --- | --- |\n",
              numbers[0],
              numbers[1],
              numbers[2],
              numbers[3]);
  for (const int type : { VTK_UNSIGNED_CHAR, VTK_SHORT, VTK_FLOAT })
  {
    vtkNew<vtkImageData> image;
    image->SetDimensions(numbers[0], numbers[1], numbers[2]);
    image->AllocateScalars(type, 1);
    switch (type)
    {
      vtkTemplateMacro(FillRandomly(static_cast<VTK_TT *>(image->GetScalarPointer()), image->GetNumberOfPoints()));
    }
    const auto pixelType = type == VTK_SHORT   ? cudamedian::PixelType::Int16
                           : type == VTK_FLOAT ? cudamedian::PixelType::Float32
                                               : cudamedian::PixelType::UInt8;
    for (const int size : { 3, 5 })
    {
      Compare(*image, pixelType, size, numbers[3]);
    }
  }
  return 0;
}
