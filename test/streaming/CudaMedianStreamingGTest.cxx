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
// Volumes that are read, filtered and written piece by piece.

#include "CudaMedianTestAgainstItk.h"

#include "itkCommand.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkMetaImageIO.h"
#include "itkNrrdImageIO.h"

#include <cstdio>
#include <string>

#include <unistd.h>

namespace
{

using ImageType = itk::Image<short, 3>;
using ReaderType = itk::ImageFileReader<ImageType>;
using WriterType = itk::ImageFileWriter<ImageType>;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::ExpectEqualImages;

/** A file that is removed at the end of the scope. */
class TemporaryFile
{
public:
  explicit TemporaryFile(const std::string & name)
    : m_Path(testing::TempDir() + "CudaMedianStreaming-" + std::to_string(getpid()) + "-" + name)
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

template <typename TImageIO>
ReaderType::Pointer
MakeReader(const std::string & path)
{
  const auto reader = ReaderType::New();
  reader->SetImageIO(TImageIO::New());
  reader->SetFileName(path);
  reader->UseStreamingOn();
  return reader;
}

template <typename TImageIO>
WriterType::Pointer
MakeWriter(const std::string & path, bool compresses = false)
{
  const auto writer = WriterType::New();
  writer->SetImageIO(TImageIO::New());
  writer->SetFileName(path);
  writer->SetUseCompression(compresses);
  return writer;
}

/** Filters a file into another in as many pieces as are listed and compares with the whole volume's median. With
 * `streams`, the format delivers and takes pieces; otherwise ITK reads or writes the whole. */
template <typename TImageIO>
void
ExpectStreamedEqualsWhole(const std::string & extension, bool streams)
{
  const TemporaryFile input("input." + extension);
  const auto          image = cudamediantest::MakeRandomImage<ImageType>(
    ImageType::RegionType(ImageType::SizeType{ { 37, 29, 23 } }), cudamediantest::Pattern::FullRange);
  const auto inputWriter = MakeWriter<TImageIO>(input.GetPath());
  inputWriter->SetInput(image);
  inputWriter->Update();
  for (const itk::SizeValueType radius : { 1, 2, 5 })
  {
    const auto expected = cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(radius));
    for (const auto backend : BackendsUnderTest())
    {
      for (const unsigned int divisions : { 1u, 3u, 8u, 23u })
      {
        SCOPED_TRACE(BackendText(backend) + ", radius " + std::to_string(radius) + ", divisions " +
                     std::to_string(divisions));
        const TemporaryFile output("output." + extension);
        const auto          filter = itk::CudaMedianImageFilter<ImageType>::New();
        const auto          reader = MakeReader<TImageIO>(input.GetPath());
        filter->SetBackend(backend);
        filter->SetInput(reader->GetOutput());
        filter->SetRadius(radius);
        unsigned int pieces = 0;
        filter->AddObserver(itk::EndEvent(), [&pieces](const itk::EventObject &) { ++pieces; });
        const auto writer = MakeWriter<TImageIO>(output.GetPath());
        writer->SetInput(filter->GetOutput());
        writer->SetNumberOfStreamDivisions(divisions);
        writer->Update();
        if (streams)
        {
          EXPECT_EQ(pieces, divisions);
        }
        const auto written = MakeReader<TImageIO>(output.GetPath());
        written->Update();
        ExpectEqualImages(*expected, *written->GetOutput());
      }
    }
  }
}

/** What lies between two filters is released piece by piece, and files may be compressed: ITK then writes the whole. */
template <typename TImageIO>
void
ExpectFiltersInARowEqualWhole(const std::string & extension)
{
  const TemporaryFile input("input." + extension);
  const auto          image = cudamediantest::MakeRandomImage<ImageType>(
    ImageType::RegionType(ImageType::SizeType{ { 31, 27, 19 } }), cudamediantest::Pattern::FullRange);
  const auto inputWriter = MakeWriter<TImageIO>(input.GetPath(), true);
  inputWriter->SetInput(image);
  inputWriter->Update();
  const auto between = cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(1));
  const auto expected = cudamediantest::ItkMedian(*between, ImageType::SizeType{ { 2, 1, 3 } });
  for (const auto backend : BackendsUnderTest())
  {
    for (const bool compresses : { false, true })
    {
      SCOPED_TRACE(BackendText(backend) + (compresses ? ", compressed" : ""));
      const TemporaryFile output("output." + extension);
      const auto          reader = MakeReader<TImageIO>(input.GetPath());
      const auto          first = itk::CudaMedianImageFilter<ImageType>::New();
      first->SetBackend(backend);
      first->SetInput(reader->GetOutput());
      first->ReleaseDataFlagOn();
      const auto second = itk::CudaMedianImageFilter<ImageType>::New();
      second->SetBackend(backend);
      second->SetInput(first->GetOutput());
      second->SetRadius(ImageType::SizeType{ { 2, 1, 3 } });
      const auto writer = MakeWriter<TImageIO>(output.GetPath(), compresses);
      writer->SetInput(second->GetOutput());
      writer->SetNumberOfStreamDivisions(5);
      writer->Update();
      EXPECT_TRUE(first->GetOutput()->GetDataReleased());
      const auto written = MakeReader<TImageIO>(output.GetPath());
      written->Update();
      ExpectEqualImages(*expected, *written->GetOutput());
    }
  }
}

} // namespace

TEST(CudaMedianStreaming, MetaImage)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectStreamedEqualsWhole<itk::MetaImageIO>("mha", true);
}

TEST(CudaMedianStreaming, Nrrd)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectStreamedEqualsWhole<itk::NrrdImageIO>("nrrd", false);
}

TEST(CudaMedianStreaming, FiltersInARowAndCompressedFiles)
{
  CUDAMEDIAN_TRACE_SEED();
  ExpectFiltersInARowEqualWhole<itk::MetaImageIO>("mha");
  ExpectFiltersInARowEqualWhole<itk::NrrdImageIO>("nrrd");
}
