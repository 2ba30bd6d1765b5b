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
// A volume that is larger than the host and the device may hold: written, filtered and checked piece by piece.

#include "itkCudaMedianImageFilter.h"

#include "itkCommand.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageRegionConstIterator.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkImageSource.h"
#include "itkMetaImageIO.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

namespace
{

using ImageType = itk::Image<short, 3>;
using RegionType = ImageType::RegionType;
using SizeType = ImageType::SizeType;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using BackendEnum = itk::CudaMedianImageFilterEnums::Backend;

constexpr double             mebibyte = 1 << 20;
constexpr itk::SizeValueType columns = 2048;
constexpr itk::SizeValueType rows = 2048;
constexpr itk::SizeValueType sliceBytes = columns * rows * sizeof(short);

/** A volume whose pixels are hashes of their positions; it makes only what is asked for. */
class HashSource : public itk::ImageSource<ImageType>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(HashSource);

  using Self = HashSource;
  using Superclass = itk::ImageSource<ImageType>;
  using Pointer = itk::SmartPointer<Self>;
  using ConstPointer = itk::SmartPointer<const Self>;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(HashSource);
#else
  itkTypeMacro(HashSource, ImageSource);
#endif

  itkSetMacro(Size, SizeType);

protected:
  HashSource() = default;
  ~HashSource() override = default;

  void
  GenerateOutputInformation() override
  {
    this->GetOutput()->SetLargestPossibleRegion(RegionType(m_Size));
  }

  void
  DynamicThreadedGenerateData(const RegionType & region) override
  {
    itk::ImageRegionIteratorWithIndex<ImageType> it(this->GetOutput(), region);
    for (; !it.IsAtEnd(); ++it)
    {
      const auto & index = it.GetIndex();
      const auto   position =
        (static_cast<std::uint64_t>(index[2]) * rows + static_cast<std::uint64_t>(index[1])) * columns +
        static_cast<std::uint64_t>(index[0]);
      const auto hash = (position ^ position >> 15) * 0x9E3779B97F4A7C15ULL;
      it.Set(static_cast<short>((hash ^ hash >> 29) * 0xBF58476D1CE4E5B9ULL >> 48));
    }
  }

private:
  SizeType m_Size{ { columns, rows, 1 } };
};

/** Files that are removed at the end. */
class TemporaryFile
{
public:
  TemporaryFile(const std::string & folder, const std::string & name)
    : m_Path(
        (std::filesystem::path(folder) / ("CudaMedianStreaming-" + std::to_string(getpid()) + "-" + name)).string())
  {}
  ~TemporaryFile() { std::remove(m_Path.c_str()); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &
  operator=(const TemporaryFile &) = delete;

  const std::string &
  GetPath() const
  {
    return m_Path;
  }

private:
  std::string m_Path;
};

/** A number of kibibytes from /proc/self/status, in bytes. */
double
GetStatus(const std::string & name)
{
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
  {
    if (line.rfind(name + ":", 0) == 0)
    {
      return std::stod(line.substr(name.size() + 1)) * 1024;
    }
  }
  throw std::runtime_error("/proc/self/status has no " + name);
}

/** Sets the peak of resident memory to what is resident now. */
void
ResetPeak()
{
  std::ofstream("/proc/self/clear_refs") << "5";
}

using ReaderType = itk::ImageFileReader<ImageType>;

ReaderType::Pointer
MakeReader(const std::string & path)
{
  const auto reader = ReaderType::New();
  reader->SetImageIO(itk::MetaImageIO::New());
  reader->SetFileName(path);
  reader->UseStreamingOn();
  // A piece goes before the next one comes.
  reader->ReleaseDataFlagOn();
  return reader;
}

void
Write(const ImageType & image, const std::string & path, itk::SizeValueType pieces)
{
  const auto writer = itk::ImageFileWriter<ImageType>::New();
  writer->SetImageIO(itk::MetaImageIO::New());
  writer->SetFileName(path);
  writer->SetInput(&image);
  writer->UseCompressionOff();
  writer->SetNumberOfStreamDivisions(static_cast<unsigned int>(pieces));
  writer->Update();
}

/** Pixels of a region of the output file that differ from what a filter makes of the input file for that region alone.
 */
template <typename TFilter>
itk::SizeValueType
CountDifferences(TFilter & filter, const std::string & input, const std::string & output, const RegionType & region)
{
  const auto inputReader = MakeReader(input);
  filter.SetInput(inputReader->GetOutput());
  filter.UpdateOutputInformation();
  filter.GetOutput()->SetRequestedRegion(region);
  filter.Update();
  const auto outputReader = MakeReader(output);
  outputReader->UpdateOutputInformation();
  outputReader->GetOutput()->SetRequestedRegion(region);
  outputReader->Update();
  itk::ImageRegionConstIterator<ImageType> expected(filter.GetOutput(), region);
  itk::ImageRegionConstIterator<ImageType> actual(outputReader->GetOutput(), region);
  itk::SizeValueType                       differences = 0;
  for (; !expected.IsAtEnd(); ++expected, ++actual)
  {
    differences += expected.Get() != actual.Get() ? 1 : 0;
  }
  return differences;
}

/** Slices at both ends, in the middle and where pieces meet: whole by the CPU backend, and a corner by ITK's filter. */
itk::SizeValueType
CountDifferences(const std::string & input,
                 const std::string & output,
                 const SizeType &    radius,
                 itk::SizeValueType  slices,
                 itk::SizeValueType  sliceOfPiece)
{
  constexpr itk::SizeValueType checked = 2;
  itk::SizeValueType           differences = 0;
  for (const auto slice :
       { itk::SizeValueType{ 0 }, sliceOfPiece - 1, slices / 2, slices / 3 / sliceOfPiece * sliceOfPiece, slices })
  {
    RegionType region;
    region.SetSize({ { columns, rows, std::min(checked, slices) } });
    region.SetIndex(2, static_cast<itk::IndexValueType>(std::min(slice, slices - region.GetSize(2))));
    const auto alone = FilterType::New();
    alone->SetBackend(BackendEnum::Cpu);
    alone->SetRadius(radius);
    differences += CountDifferences(*alone, input, output, region);
    region.SetSize(0, 128);
    region.SetSize(1, 128);
    const auto itkFilter = itk::MedianImageFilter<ImageType, ImageType>::New();
    itkFilter->SetRadius(radius);
    differences += CountDifferences(*itkFilter, input, output, region);
  }
  return differences;
}

struct Options
{
  double                          gibibytes{ 8 };
  double                          hostMebibytes{ 1024 };
  itk::SizeValueType              budgetMebibytes{ 512 };
  std::vector<itk::SizeValueType> radius{ 1, 1, 1 };
  std::string                     backend{ "cuda" };
  std::string                     folder{ std::filesystem::temp_directory_path().string() };
};

/** Slices of a piece that, with those of its halo and of its output, take 60 % of the host limit: the rest is for
 * pinned memory and for what the system gives back late. */
itk::SizeValueType
ChooseSlicesOfPiece(const Options & options)
{
  const auto slices =
    0.6 * options.hostMebibytes * mebibyte / sliceBytes - 2.0 * static_cast<double>(options.radius[2]);
  return static_cast<itk::SizeValueType>(std::max(1.0, slices / 2));
}

bool
Run(const Options & options)
{
  const auto slices =
    std::max<itk::SizeValueType>(1, static_cast<itk::SizeValueType>(options.gibibytes * 1024 * mebibyte / sliceBytes));
  const auto          sliceOfPiece = std::min(slices, ChooseSlicesOfPiece(options));
  const auto          pieces = (slices + sliceOfPiece - 1) / sliceOfPiece;
  const TemporaryFile input(options.folder, "input.mha");
  const TemporaryFile output(options.folder, "output.mha");
  const SizeType      radius{ { options.radius[0], options.radius[1], options.radius[2] } };

  const auto source = HashSource::New();
  source->SetSize({ { columns, rows, slices } });
  source->ReleaseDataFlagOn();
  Write(*source->GetOutput(), input.GetPath(), pieces);

  const auto filter = FilterType::New();
  filter->WaitForKernelsOn();
  filter->SetBackend(options.backend == "cuda"  ? BackendEnum::Cuda
                     : options.backend == "cpu" ? BackendEnum::Cpu
                                                : BackendEnum::Auto);
  filter->SetRadius(radius);
  filter->SetDeviceMemoryBudget(options.budgetMebibytes << 20);
  // The start of CUDA is no part of a volume's memory.
  const auto small = ImageType::New();
  small->SetRegions(SizeType::Filled(8));
  small->Allocate(true);
  filter->SetInput(small);
  filter->Update();
  filter->GetOutput()->Initialize();

  double      deviceBytes = 0;
  std::size_t runs = 0;
  filter->AddObserver(itk::EndEvent(), [&](const itk::EventObject &) {
    deviceBytes = std::max(deviceBytes, static_cast<double>(filter->GetExecutionReport().deviceBytes));
    ++runs;
  });
  filter->ReleaseDataFlagOn();
  const auto reader = MakeReader(input.GetPath());
  filter->SetInput(reader->GetOutput());
  ResetPeak();
  const double before = GetStatus("VmRSS");
  const auto   start = std::chrono::steady_clock::now();
  Write(*filter->GetOutput(), output.GetPath(), pieces);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double hostBytes = GetStatus("VmHWM") - before;

  const auto differences = CountDifferences(input.GetPath(), output.GetPath(), radius, slices, sliceOfPiece);
  const bool withinHost = hostBytes <= options.hostMebibytes * mebibyte;
  const bool withinBudget = deviceBytes <= static_cast<double>(options.budgetMebibytes) * mebibyte;
  std::printf("%lux%lux%lu, radius %lux%lux%lu, %s, in %zu pieces of at most %lu slices\n",
              columns,
              rows,
              slices,
              radius[0],
              radius[1],
              radius[2],
              filter->GetExecutionReport().backend.c_str(),
              runs,
              sliceOfPiece);
  std::printf("read, filtered and written in %.2f s, %.2f GB/s\n",
              seconds,
              static_cast<double>(2 * slices * sliceBytes) / seconds * 1e-9);
  std::printf("peak resident memory %.0f MiB of %.0f%s\n",
              hostBytes / mebibyte,
              options.hostMebibytes,
              withinHost ? "" : ": too much");
  std::printf("peak device memory %.0f MiB of %lu%s\n",
              deviceBytes / mebibyte,
              options.budgetMebibytes,
              withinBudget ? "" : ": too much");
  std::printf("%lu pixels differ\n", differences);
  return differences == 0 && withinHost && withinBudget;
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    CLI::App application{
      "Filters a volume from file to file within a host limit and a device budget, and checks it."
    };
    Options options;
    application.add_option("--gib", options.gibibytes, "size of the volume in GiB")->check(CLI::Range(0.01, 4096.0));
    application.add_option("--host-mib", options.hostMebibytes, "resident memory allowed, in MiB");
    application.add_option("--budget-mib", options.budgetMebibytes, "device memory allowed, in MiB");
    application.add_option("--radius", options.radius, "radius along each axis, as in 2,2,1")
      ->delimiter(',')
      ->expected(3);
    application.add_option("--backend", options.backend, "cuda, cpu or auto")
      ->check(CLI::IsMember({ "cuda", "cpu", "auto" }));
    application.add_option("--folder", options.folder, "where the volumes lie while this runs")
      ->check(CLI::ExistingDirectory);
    CLI11_PARSE(application, argc, argv);
    return Run(options) ? 0 : 1;
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
