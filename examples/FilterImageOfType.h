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
#ifndef FilterImageOfType_h
#define FilterImageOfType_h

#include "FilterImage.h"

#include "CompareWithITK.h"
#include "ImageFile.h"
#include "SlicerModule.h"
#include "Terminal.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <complex>
#include <cstring>
#include <iostream>
#include <locale>
#include <sstream>
#include <type_traits>
#include <vector>

// Reads, filters and writes images of a type. Sources that have instances of it share it, none other.

/** The filter with another rank than the median's. */
template <typename TImage>
class RankOfWindow : public itk::CudaMedianImageFilter<TImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(RankOfWindow);
  using Self = RankOfWindow;
  using Pointer = itk::SmartPointer<Self>;
  itkFactorylessNewMacro(Self);

  /** -1 is the median's. */
  void
  SetRank(std::int64_t rank)
  {
    m_Rank = rank;
  }

protected:
  RankOfWindow() = default;

  void
  ChangeRequest(cudamedian::MedianRequest & request) const override
  {
    request.rank = m_Rank;
  }

private:
  std::int64_t m_Rank{ -1 };
};

/** Some formats write less than they are given without a word, such as one slice of a volume. \throws UserError */
inline void
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
  return image.GetPixelContainer()->Size() * sizeof(typename TImage::InternalPixelType);
}

/** Reads the image that `imageIO` has opened. \throws UserError */
template <typename TImage>
typename TImage::Pointer
ReadImage(itk::ImageIOBase * imageIO)
{
  const std::string path = imageIO->GetFileName();
  // The header alone is read through it, whatever the pixels are.
  const auto reader = itk::ImageFileReader<itk::Image<unsigned char, TImage::ImageDimension>>::New();
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
  image->SetNumberOfComponentsPerPixel(imageIO->GetNumberOfComponents());
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
    bool areSame = false;
    if constexpr (std::is_arithmetic<typename TImage::PixelType>::value)
    {
      const QuietScope quiet;
      const auto       reader = itk::ImageFileReader<TImage>::New();
      reader->SetImageIO(written);
      reader->SetFileName(path);
      reader->Update();
      areSame = BytesOf(*reader->GetOutput()) == BytesOf(image) &&
                std::memcmp(reader->GetOutput()->GetBufferPointer(), image.GetBufferPointer(), BytesOf(image)) == 0;
    }
    if (!areSame)
    {
      throw UserError("its format changes the values of pixels of type " +
                      itk::ImageIOBase::GetComponentTypeAsString(given.GetComponentType()) +
                      (given.GetNumberOfComponents() == 1
                         ? std::string()
                         : " with " + std::to_string(given.GetNumberOfComponents()) + " components"));
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
WriteImage(TImage * image, const itk::ImageIOBase & imageIO, const Options & options, const Destination & destination)
{
  if (destination.series != nullptr)
  {
    destination.series->Write(image->GetBufferPointer(), BytesOf(*image));
    return;
  }
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
    destination.file->Write(
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

/** A value of an image's pixels. \throws UserError when they cannot hold it */
template <typename TValue>
TValue
ParseValue(const std::string & option, const std::string & text)
{
  TValue             value{};
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  bool isRight = false;
  if constexpr (std::is_floating_point<TValue>::value)
  {
    isRight = static_cast<bool>(stream >> value) && stream.peek() == std::char_traits<char>::eof();
  }
  else
  {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    isRight = error == std::errc() && end == text.data() + text.size();
  }
  if (!isRight)
  {
    throw UserError(option + text + ": not a value of this image's pixels");
  }
  return value;
}

/** The constant beyond the image. \throws UserError when a component cannot hold it */
template <typename TImage>
typename TImage::PixelType
ParseBorderValue(const std::string & text, unsigned int components)
{
  using ValueType = typename itk::CudaMedianFilterDetail::ImageTraits<TImage>::ValueType;
  const auto                 value = ParseValue<ValueType>("--border constant:", text);
  typename TImage::PixelType pixel{};
  if constexpr (std::is_arithmetic<typename TImage::PixelType>::value)
  {
    pixel = value;
  }
  else if constexpr (std::is_same<typename TImage::PixelType, std::complex<ValueType>>::value)
  {
    pixel = { value, value };
  }
  else
  {
    itk::NumericTraits<typename TImage::PixelType>::SetLength(pixel, components);
    pixel.Fill(value);
  }
  return pixel;
}

/** Reads a mask: 1 where its file has another number than 0. \throws UserError */
template <unsigned int VDimension>
typename itk::ImageBase<VDimension>::Pointer
ReadMask(const std::string & path)
{
  using MaskType = itk::Image<unsigned char, VDimension>;
  const itk::ImageIOBase::Pointer imageIO = OpenImage(path);
  const auto                      type = imageIO->GetComponentType();
  if (imageIO->GetNumberOfDimensions() != VDimension || imageIO->GetNumberOfComponents() != 1 ||
      type == itk::IOComponentEnum::FLOAT || type == itk::IOComponentEnum::DOUBLE)
  {
    throw UserError("--mask " + path + ": it has " + std::to_string(imageIO->GetNumberOfDimensions()) +
                    " dimensions and " + std::to_string(imageIO->GetNumberOfComponents()) + " components of type " +
                    itk::ImageIOBase::GetComponentTypeAsString(type) +
                    "; a mask has one integer for each pixel of the " + std::to_string(VDimension) +
                    "-dimensional image");
  }
  const auto reader = itk::ImageFileReader<MaskType>::New();
  reader->SetImageIO(imageIO);
  reader->SetFileName(path);
  {
    const QuietScope quiet;
    reader->UpdateOutputInformation();
  }
  const auto mask = MaskType::New();
  mask->CopyInformation(reader->GetOutput());
  mask->SetRegions(reader->GetOutput()->GetLargestPossibleRegion());
  mask->Allocate();
  const std::size_t          pixelBytes = imageIO->GetComponentSize();
  std::vector<unsigned char> pixels(BytesOf(*mask) * pixelBytes);
  ReadPixels(*imageIO, pixels.data(), pixels.size());
  for (std::size_t i = 0; i < BytesOf(*mask); ++i)
  {
    const auto * first = pixels.data() + i * pixelBytes;
    mask->GetBufferPointer()[i] = std::any_of(first, first + pixelBytes, [](unsigned char byte) { return byte != 0; });
  }
  return mask.GetPointer();
}

/** Has the filter leave out pixels, or leave them as they are. \throws UserError */
template <typename TImage>
void
SetRules(RankOfWindow<TImage> & filter, const Options & options)
{
  using Enums = itk::CudaMedianImageFilterEnums;
  using ValueType = typename itk::CudaMedianFilterDetail::ImageTraits<TImage>::ValueType;
  if (!options.mask.empty())
  {
    filter.SetMaskImage(ReadMask<TImage::ImageDimension>(options.mask));
  }
  if (options.ignored)
  {
    filter.SetIgnoredValue(ParseValue<ValueType>("--ignore ", *options.ignored));
  }
  filter.SetNaNPolicy(options.omitsNaN ? Enums::NaNPolicy::Omit : Enums::NaNPolicy::Order);
  if (options.emptyWindow != "input")
  {
    filter.SetEmptyWindow(Enums::EmptyWindow::Value);
    filter.SetEmptyValue(ParseValue<ValueType>("--empty ", options.emptyWindow));
  }
  if (options.invalidOutput == "copied")
  {
    filter.SetInvalidOutput(Enums::InvalidOutput::Copied);
  }
  else if (options.invalidOutput != "computed")
  {
    filter.SetInvalidOutput(Enums::InvalidOutput::Value);
    filter.SetInvalidValue(ParseValue<ValueType>("--invalid ", options.invalidOutput));
  }
  filter.SetOutlierRule(static_cast<Enums::OutlierRule>(options.outlierRule));
  filter.SetOutlierThreshold(options.outlierThreshold);
}

/** Has the filter do what the options say. \throws UserError */
template <typename TImage>
void
SetOptions(RankOfWindow<TImage> & filter, const Options & options, const itk::ImageIOBase & imageIO)
{
  const auto                                windows = GetWindows(options, GetSpacing(imageIO));
  typename RankOfWindow<TImage>::RadiusType radius;
  std::copy(windows.radius.begin(), windows.radius.end(), radius.begin());
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    filter.SetEvenWindow(axis, windows.even[axis]);
    filter.SetBoundaryMode(axis, static_cast<itk::CudaMedianImageFilterEnums::Boundary>(windows.border[axis]));
  }
  filter.SetRadius(radius);
  filter.SetFootprint(windows.footprint);
  filter.SetRank(windows.rank);
  SetRules(filter, options);
  filter.SetBoundaryConstant(ParseBorderValue<TImage>(options.borderValue, imageIO.GetNumberOfComponents()));
  filter.SetEvenMedian(static_cast<itk::CudaMedianImageFilterEnums::EvenMedian>(
    options.evenMedian.value_or(cudamedian::EvenMedian::Upper)));
  filter.SetBackend(static_cast<itk::CudaMedianImageFilterEnums::Backend>(options.backend));
  filter.SetAlgorithm(static_cast<itk::CudaMedianImageFilterEnums::Algorithm>(options.algorithm));
  filter.SetWaitForKernels(options.waitsForKernels);
  filter.SetDevices(options.devices);
  filter.SetDeviceMemoryBudget(options.deviceMemoryBudget);
}

/** Compares with ITK's median, component by component. */
template <typename TImage>
Comparison
CompareComponents(const TImage & input, const TImage & result, const typename TImage::SizeType & radius)
{
  using ValueType = typename itk::CudaMedianFilterDetail::ImageTraits<TImage>::ValueType;
  using ComponentImage = itk::Image<ValueType, TImage::ImageDimension>;
  const auto components = itk::CudaMedianFilterDetail::CountValues(input);
  const auto pick = [components](const TImage & image, std::int64_t component) {
    const auto picked = ComponentImage::New();
    picked->CopyInformation(&image);
    picked->SetRegions(image.GetBufferedRegion());
    picked->Allocate();
    const auto * values = itk::CudaMedianFilterDetail::GetValues(image) + component;
    for (itk::SizeValueType i = 0; i < image.GetBufferedRegion().GetNumberOfPixels(); ++i)
    {
      picked->GetBufferPointer()[i] = values[static_cast<std::int64_t>(i) * components];
    }
    return picked;
  };
  Comparison sum;
  for (std::int64_t component = 0; component < components; ++component)
  {
    const auto one = pick(input, component);
    const auto other = pick(result, component);
    const auto comparison = CompareWithITK<ComponentImage>(one, other, radius);
    sum.differingVoxels += comparison.differingVoxels;
    sum.windowsWithNaN += comparison.windowsWithNaN;
    sum.itkSeconds += comparison.itkSeconds;
  }
  return sum;
}

/** Runs the filter, and says how far it is. \returns the seconds it took */
template <typename TFilter>
double
RunFilter(TFilter & filter, const Options & options)
{
  const auto start = std::chrono::steady_clock::now();
  if (options.module != nullptr)
  {
    options.module->Begin("Filtering");
    filter.AddObserver(itk::ProgressEvent(),
                       [&](const itk::EventObject &) { options.module->ShowFiltered(filter.GetProgress()); });
    filter.Update();
    options.module->SetReport(filter.GetExecutionReportAsString());
  }
  else
  {
    ProgressBar bar;
    filter.AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { bar.Show(filter.GetProgress()); });
    filter.Update();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename TImage>
int
FilterImageOfType(const Options & options, itk::ImageIOBase * imageIO, const Destination & destination)
{
  typename TImage::Pointer image = ReadImage<TImage>(imageIO);
  auto                     filter = RankOfWindow<TImage>::New();
  SetOptions(*filter, options, *imageIO);
  filter->SetInput(image);
  const double seconds = RunFilter(*filter, options);

  const typename TImage::Pointer result = filter->GetOutput();
  result->DisconnectPipeline();

  if (options.report)
  {
    std::cout << filter->GetExecutionReportAsString();
  }
  if (options.verify)
  {
    Comparison comparison;
    if constexpr (itk::CudaMedianFilterDetail::ImageTraits<TImage>::isScalar)
    {
      comparison = CompareWithITK(image.GetPointer(), result.GetPointer(), filter->GetEffectiveRadius());
    }
    else
    {
      comparison = CompareComponents(*image, *result, filter->GetEffectiveRadius());
    }
    PrintComparison(std::cout, comparison, seconds);
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
  WriteImage(result.GetPointer(), *imageIO, options, destination);
  return 0;
}

#endif
