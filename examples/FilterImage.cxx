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
#include "ImageFile.h"
#include "SlicerModule.h"
#include "Terminal.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <vector>

namespace
{

/** Some formats write less than they are given without a word, such as one slice of a volume. \throws UserError */
void
CheckNothingWasLost(const itk::ImageIOBase & given, const itk::ImageIOBase & written)
{
  const std::string lost = LostGeometry(given, written);
  if (!lost.empty())
  {
    throw UserError("its format cannot hold the " + lost + " of this image");
  }
  if (NumberOfPixels(written) != NumberOfPixels(given) || written.GetComponentSize() < given.GetComponentSize())
  {
    throw UserError("its format cannot hold an image of " + std::to_string(given.GetNumberOfDimensions()) +
                    " dimensions and pixels of type " +
                    itk::ImageIOBase::GetComponentTypeAsString(given.GetComponentType()));
  }
}

template <typename TImage>
std::size_t
BytesOf(const TImage & image)
{
  return image.GetBufferedRegion().GetNumberOfPixels() * sizeof(typename TImage::PixelType);
}

/** Reads the image that `imageIO` has opened. \throws UserError */
template <typename TImage>
typename TImage::Pointer
ReadImage(itk::ImageIOBase * imageIO)
{
  const std::string path = imageIO->GetFileName();
  const auto        reader = itk::ImageFileReader<TImage>::New();
  reader->SetImageIO(imageIO);
  reader->SetFileName(path);
  try
  {
    const QuietScope quiet;
    reader->UpdateOutputInformation();
  }
  catch (const itk::ExceptionObject & error)
  {
    throw UserError("cannot read '" + path + "': " + Description(error));
  }
  const auto image = TImage::New();
  image->CopyInformation(reader->GetOutput());
  image->SetRegions(reader->GetOutput()->GetLargestPossibleRegion());
  image->SetMetaDataDictionary(reader->GetOutput()->GetMetaDataDictionary());
  image->Allocate();
  const std::string messages = ReadPixels(*imageIO, image->GetBufferPointer(), BytesOf(*image));
  if (!messages.empty())
  {
    std::cerr << "CudaMedianImageFilter: warning: reading '" << path << "': " << messages << std::endl;
  }
  return image;
}

/** Reads back what was written and compares it with the image. \throws UserError without the name of a file */
template <typename TImage>
void
CheckWritten(const TImage & image, const itk::ImageIOBase & given, const std::string & path)
{
  try
  {
    const itk::ImageIOBase::Pointer written = OpenImage(path);
    CheckNothingWasLost(given, *written);
    if (HaveSamePixels(given, *written))
    {
      ComparePixels(*written, image.GetBufferPointer(), BytesOf(image));
      return;
    }
    // A format with pixels of its own, such as BMP with its colours: after ITK's conversion they have to be the same.
    const QuietScope quiet;
    const auto       reader = itk::ImageFileReader<TImage>::New();
    reader->SetImageIO(written);
    reader->SetFileName(path);
    reader->Update();
    if (BytesOf(*reader->GetOutput()) != BytesOf(image) ||
        std::memcmp(reader->GetOutput()->GetBufferPointer(), image.GetBufferPointer(), BytesOf(image)) != 0)
    {
      throw UserError("its format changes the values of pixels of type " +
                      itk::ImageIOBase::GetComponentTypeAsString(given.GetComponentType()));
    }
  }
  catch (const UserError & error)
  {
    // The name of the temporary file says nothing to the user.
    const std::string text = error.what();
    const std::string prefix = "cannot read '" + path + "': ";
    throw UserError(text.rfind(prefix, 0) == 0 ? "what was written cannot be read back: " + text.substr(prefix.size())
                                               : text);
  }
}

/** Writes the image, reads it back, and puts it in place. \throws UserError */
template <typename TImage>
void
WriteImage(TImage * image, const itk::ImageIOBase & imageIO, const Options & options, const OutputFile & outputFile)
{
  const std::string prefix = "cannot write '" + options.output + "': ";
  // What is to be found in the written file: the input's header, with the geometry that its reader made of it.
  const itk::ImageIOBase::Pointer given = CopyHeader(imageIO);
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    std::vector<double> direction(TImage::ImageDimension);
    for (unsigned int other = 0; other < TImage::ImageDimension; ++other)
    {
      direction[other] = image->GetDirection()(other, axis);
    }
    given->SetSpacing(axis, image->GetSpacing()[axis]);
    given->SetOrigin(axis, image->GetOrigin()[axis]);
    given->SetDirection(axis, direction);
  }
  try
  {
    const QuietScope quiet;
    outputFile.Write(
      [&](const std::string & path) {
        const auto writer = itk::ImageFileWriter<TImage>::New();
        writer->SetInput(image);
        writer->SetFileName(path);
        writer->Update();
      },
      [&](const std::string & path) { CheckWritten(*image, *given, path); });
  }
  catch (const itk::ExceptionObject & error)
  {
    throw UserError(prefix + Description(error));
  }
  catch (const UserError & error)
  {
    const std::string text = error.what();
    throw UserError(text.rfind("cannot write", 0) == 0 ? text : prefix + text);
  }
}

template <typename TPixel, unsigned int VDimension>
int
FilterImageOfType(const Options & options, itk::ImageIOBase * imageIO, const OutputFile & outputFile)
{
  using ImageType = itk::Image<TPixel, VDimension>;
  using FilterType = itk::CudaMedianImageFilter<ImageType>;

  typename ImageType::Pointer      image = ReadImage<ImageType>(imageIO);
  typename FilterType::Pointer     filter = FilterType::New();
  const std::vector<std::uint64_t> perAxis = RadiusPerAxis(options.radius, VDimension);
  typename FilterType::RadiusType  radius;
  std::copy(perAxis.begin(), perAxis.end(), radius.begin());
  filter->SetInput(image);
  filter->SetRadius(radius);
  filter->SetSliceWise(options.sliceWise);
  filter->SetBackend(static_cast<itk::CudaMedianImageFilterEnums::Backend>(options.backend));
  filter->SetAlgorithm(static_cast<itk::CudaMedianImageFilterEnums::Algorithm>(options.algorithm));
  filter->SetDevices(options.devices);
  filter->SetDeviceMemoryBudget(options.deviceMemoryBudget);

  const auto start = std::chrono::steady_clock::now();
  if (options.module != nullptr)
  {
    options.module->Begin("Filtering");
    filter->AddObserver(itk::ProgressEvent(),
                        [&](const itk::EventObject &) { options.module->ShowFiltered(filter->GetProgress()); });
    filter->Update();
    options.module->SetReport(filter->GetExecutionReportAsString());
  }
  else
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
    const Comparison comparison = CompareWithITK(image.GetPointer(), result.GetPointer(), filter->GetEffectiveRadius());
    PrintComparison(std::cout, comparison, seconds.count());
    if (comparison.differingVoxels != 0)
    {
      std::cerr << "CudaMedianImageFilter: '" << options.output
                << "' was not written because the result differs from itk::MedianImageFilter" << std::endl;
      return 2;
    }
  }

  if (options.module != nullptr)
  {
    options.module->Begin("Writing the image");
  }
  // Filters hand on spacing, origin and direction, but not the dictionary.
  result->SetMetaDataDictionary(image->GetMetaDataDictionary());
  // The image that is read back takes the place of the input.
  filter = nullptr;
  image = nullptr;
  WriteImage(result.GetPointer(), *imageIO, options, outputFile);
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
