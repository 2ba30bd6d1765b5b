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
#include "FilterImage.h"

#include "CompareWithITK.h"
#include "Terminal.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageIOFactory.h"

#include <chrono>
#include <iostream>

namespace
{

itk::ImageIOBase::SizeType
NumberOfPixels(const itk::ImageIOBase & imageIO)
{
  itk::ImageIOBase::SizeType count = 1;
  for (unsigned int axis = 0; axis < imageIO.GetNumberOfDimensions(); ++axis)
  {
    count *= imageIO.GetDimensions(axis);
  }
  return count;
}

/** Some formats write less than they are given without a word, such as one slice of a volume. \throws UserError */
void
CheckNothingWasLost(const itk::ImageIOBase & given, const std::string & writtenPath, const std::string & output)
{
  const itk::ImageIOBase::Pointer written =
    itk::ImageIOFactory::CreateImageIO(writtenPath.c_str(), itk::ImageIOFactory::IOFileModeEnum::ReadMode);
  if (written.IsNotNull())
  {
    written->SetFileName(writtenPath);
    written->ReadImageInformation();
  }
  if (written.IsNull() || NumberOfPixels(*written) != NumberOfPixels(given) ||
      written->GetComponentSize() < given.GetComponentSize())
  {
    throw UserError("cannot write '" + output + "': its format cannot hold an image of " +
                    std::to_string(given.GetNumberOfDimensions()) + " dimensions and pixels of type " +
                    itk::ImageIOBase::GetComponentTypeAsString(given.GetComponentType()));
  }
}

template <typename TPixel, unsigned int VDimension>
int
FilterImageOfType(const Options & options, itk::ImageIOBase * imageIO, const OutputFile & outputFile)
{
  using ImageType = itk::Image<TPixel, VDimension>;
  using FilterType = itk::CudaMedianImageFilter<ImageType>;

  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetImageIO(imageIO);
  reader->SetFileName(options.input);
  std::string messages;
  try
  {
    const QuietScope quiet;
    reader->Update();
    messages = quiet.Text();
  }
  catch (const itk::ExceptionObject & error)
  {
    throw UserError("cannot read '" + options.input + "': " + Description(error));
  }

  if (!messages.empty())
  {
    // MetaIO says here, and nowhere else, that a file ends before its last pixel.
    std::cerr << "CudaMedianImageFilter: warning: reading '" << options.input << "': " << messages << std::endl;
  }

  const auto                       filter = FilterType::New();
  const std::vector<std::uint64_t> perAxis = RadiusPerAxis(options.radius, VDimension);
  typename FilterType::RadiusType  radius;
  std::copy(perAxis.begin(), perAxis.end(), radius.begin());
  filter->SetInput(reader->GetOutput());
  filter->SetRadius(radius);
  filter->SetSliceWise(options.sliceWise);
  filter->SetBackend(static_cast<itk::CudaMedianImageFilterEnums::Backend>(options.backend));
  filter->SetDevices(options.devices);
  filter->SetDeviceMemoryBudget(options.deviceMemoryBudget);

  const auto start = std::chrono::steady_clock::now();
  {
    ProgressBar bar;
    filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { bar.Show(filter->GetProgress()); });
    filter->Update();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const typename ImageType::Pointer result = filter->GetOutput();
  result->DisconnectPipeline();

  if (options.report)
  {
    std::cout << filter->GetExecutionReportAsString();
  }
  if (options.verify)
  {
    const Comparison comparison =
      CompareWithITK(reader->GetOutput(), result.GetPointer(), filter->GetEffectiveRadius());
    PrintComparison(std::cout, comparison, seconds.count());
    if (comparison.differingVoxels != 0)
    {
      std::cerr << "CudaMedianImageFilter: '" << options.output
                << "' was not written because the result differs from itk::MedianImageFilter" << std::endl;
      return 2;
    }
  }

  // Filters hand on spacing, origin and direction, but not the dictionary.
  result->SetMetaDataDictionary(reader->GetOutput()->GetMetaDataDictionary());
  try
  {
    const QuietScope quiet;
    outputFile.Write([&](const std::string & path) {
      const auto writer = itk::ImageFileWriter<ImageType>::New();
      writer->SetInput(result);
      writer->SetFileName(path);
      writer->Update();
      CheckNothingWasLost(*imageIO, path, options.output);
    });
  }
  catch (const itk::ExceptionObject & error)
  {
    throw UserError("cannot write '" + options.output + "': " + Description(error));
  }
  return 0;
}

} // namespace

template <unsigned int VDimension>
int
FilterImage(const Options & options, itk::ImageIOBase * imageIO, const OutputFile & outputFile)
{
  using ComponentEnum = itk::IOComponentEnum;
  const ComponentEnum type = imageIO->GetComponentType();
  // Types of one size share an instance: what long and long long are is the platform's choice, not the file's.
  switch (type)
  {
    case ComponentEnum::CHAR:
      return FilterImageOfType<char, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::UCHAR:
      return FilterImageOfType<unsigned char, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::SHORT:
      return FilterImageOfType<short, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::USHORT:
      return FilterImageOfType<unsigned short, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::INT:
      return FilterImageOfType<int, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::UINT:
      return FilterImageOfType<unsigned int, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::LONG:
    case ComponentEnum::LONGLONG:
      return FilterImageOfType<std::int64_t, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::ULONG:
    case ComponentEnum::ULONGLONG:
      return FilterImageOfType<std::uint64_t, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::FLOAT:
      return FilterImageOfType<float, VDimension>(options, imageIO, outputFile);
    case ComponentEnum::DOUBLE:
      return FilterImageOfType<double, VDimension>(options, imageIO, outputFile);
    default:
      throw UserError("'" + options.input + "' has pixels of type " + itk::ImageIOBase::GetComponentTypeAsString(type) +
                      ", which the filter does not take");
  }
}

// The build compiles this file once per dimension.
template int
FilterImage<CUDAMEDIAN_IMAGE_DIMENSION>(const Options &, itk::ImageIOBase *, const OutputFile &);
