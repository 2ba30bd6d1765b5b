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
#ifndef itkCudaMedianFilterDetail_h
#define itkCudaMedianFilterDetail_h

#include "itkCudaMedianEngine.h"
#include "itkCudaMedianInPlace.h"

#include "itkFixedArray.h"
#include "itkImage.h"
#include "itkIndent.h"
#include "itkProcessObject.h"
#include "itkVectorImage.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <ostream>
#include <sstream>
#include <type_traits>
#include <vector>

/** What the filters share on the way from ITK's images to the engine's request. */
namespace itk
{
namespace CudaMedianFilterDetail
{

/** The engine's name for a pixel type; `supported` is false for types the engine has no keys for. */
template <typename TPixel>
struct EnginePixel
{
  static constexpr bool isInteger = std::is_integral<TPixel>::value && sizeof(TPixel) <= 8;
  static constexpr bool supported =
    isInteger || std::is_same<TPixel, float>::value || std::is_same<TPixel, double>::value;

  static cudamedian::PixelType
  GetType()
  {
    using Type = cudamedian::PixelType;
    if (std::is_floating_point<TPixel>::value)
    {
      return sizeof(TPixel) == 4 ? Type::Float32 : Type::Float64;
    }
    const bool isSigned = std::numeric_limits<TPixel>::is_signed;
    switch (sizeof(TPixel))
    {
      case 1:
        return isSigned ? Type::Int8 : Type::UInt8;
      case 2:
        return isSigned ? Type::Int16 : Type::UInt16;
      case 4:
        return isSigned ? Type::Int32 : Type::UInt32;
      default:
        return isSigned ? Type::Int64 : Type::UInt64;
    }
  }
};

template <typename TInputPixel, typename TOutputPixel>
void
ConvertRow(const void * source, void * destination, std::size_t count)
{
  const auto * input = static_cast<const TInputPixel *>(source);
  std::transform(input, input + count, static_cast<TOutputPixel *>(destination), [](const TInputPixel pixel) {
    return static_cast<TOutputPixel>(pixel);
  });
}

/** A pixel of a single value. */
template <typename TPixel>
struct ScalarPixel
{
  using ValueType = TPixel;
  static constexpr bool         isScalar = true;
  static constexpr unsigned int count = 1;
};

/** A pixel of as many values of a type, which follow each other in memory. */
template <typename TValue, unsigned int VCount>
struct PixelOfValues
{
  using ValueType = TValue;
  static constexpr bool         isScalar = false;
  static constexpr unsigned int count = VCount;
};

/** Finds the base of RGBPixel, RGBAPixel, Vector, CovariantVector and of other arrays of ITK. */
template <typename TValue, unsigned int VCount>
PixelOfValues<TValue, VCount>
FindPixelTraits(const FixedArray<TValue, VCount> *);

template <typename TValue>
PixelOfValues<TValue, 2>
FindPixelTraits(const std::complex<TValue> *);

/** What a pixel is made of: itself, or the values of the types that FindPixelTraits() knows. */
template <typename TPixel, typename = void>
struct PixelTraits : ScalarPixel<TPixel>
{};

template <typename TPixel>
struct PixelTraits<TPixel, std::void_t<decltype(FindPixelTraits(static_cast<const TPixel *>(nullptr)))>>
  : decltype(FindPixelTraits(static_cast<const TPixel *>(nullptr))){};

/** What an image's pixels are made of, and where their values lie. */
template <typename TImage>
struct ImageTraits
{
  using Pixel = PixelTraits<typename TImage::PixelType>;
  using ValueType = typename Pixel::ValueType;
  static constexpr bool isScalar = Pixel::isScalar;
};

template <typename TValue, unsigned int VDimension>
struct ImageTraits<VectorImage<TValue, VDimension>>
{
  using ValueType = TValue;
  static constexpr bool isScalar = false;
};

/** Whether the engine takes images of these types. */
template <typename TInputImage, typename TOutputImage>
constexpr bool
IsForEngine()
{
  return EnginePixel<typename ImageTraits<TInputImage>::ValueType>::supported &&
         std::is_arithmetic<typename ImageTraits<TOutputImage>::ValueType>::value &&
         TInputImage::ImageDimension <= static_cast<unsigned int>(cudamedian::Dimension);
}

/** Values of each pixel of an image. */
template <typename TImage>
std::int64_t
CountValues(const TImage & image)
{
  return static_cast<std::int64_t>(ImageTraits<TImage>::isScalar ? 1 : image.GetNumberOfComponentsPerPixel());
}

/** The first value of an image's buffer. Null where there is none. */
template <typename TImage>
auto
GetValues(TImage & image)
{
  using ValueType = typename ImageTraits<std::remove_const_t<TImage>>::ValueType;
  using Pointer = std::conditional_t<std::is_const<TImage>::value, const ValueType *, ValueType *>;
  return reinterpret_cast<Pointer>(image.GetBufferPointer());
}

/** Whether two pixels are the same, to the last bit. */
template <typename TPixel>
bool
AreSameBits(const TPixel & one, const TPixel & other)
{
  return std::memcmp(&one, &other, sizeof(TPixel)) == 0;
}

template <typename TValue>
bool
AreSameBits(const VariableLengthVector<TValue> & one, const VariableLengthVector<TValue> & other)
{
  const auto count = one.GetSize();
  return count == other.GetSize() &&
         (count == 0 || std::memcmp(one.GetDataPointer(), other.GetDataPointer(), count * sizeof(TValue)) == 0);
}

/** One value of a pixel. Pixels of variable length that were never set are 0. */
template <typename TImage>
typename ImageTraits<TImage>::ValueType
GetValue(const typename TImage::PixelType & pixel, unsigned int component)
{
  using ValueType = typename ImageTraits<TImage>::ValueType;
  if constexpr (ImageTraits<TImage>::isScalar)
  {
    return pixel;
  }
  else if constexpr (std::is_same<typename TImage::PixelType, std::complex<ValueType>>::value)
  {
    return component == 0 ? pixel.real() : pixel.imag();
  }
  else if constexpr (std::is_same<typename TImage::PixelType, VariableLengthVector<ValueType>>::value)
  {
    return component < pixel.GetSize() ? pixel[component] : ValueType{};
  }
  else
  {
    return pixel[component];
  }
}

/** Says how the pixels of the input and the outputs of a region lie, of images with one value in a pixel or several,
 * but for where they begin.
 *
 * Several lie along the engine's last axis where an image leaves it free. Else the request is for the first of them. */
template <typename TInputImage, typename TOutputImage>
void
DescribeImages(const TInputImage &                       input,
               const TOutputImage &                      output,
               const typename TOutputImage::RegionType & region,
               const typename TInputImage::SizeType &    radius,
               cudamedian::MedianRequest &               request)
{
  using InputValue = typename ImageTraits<TInputImage>::ValueType;
  using OutputValue = typename ImageTraits<TOutputImage>::ValueType;
  constexpr auto dimension = static_cast<int>(TInputImage::ImageDimension);
  constexpr auto mostPixels = static_cast<SizeValueType>(std::numeric_limits<std::int64_t>::max());
  const auto     inputRegion = input.GetBufferedRegion();
  const auto     bufferedRegion = output.GetBufferedRegion();
  const auto     count = CountValues(input);

  request.pixelType = EnginePixel<InputValue>::GetType();
  request.inputExtent = { { 1, 1, 1, 1 } };
  request.outputExtent = { { 1, 1, 1, 1 } };
  std::int64_t inputStride = count;
  std::int64_t outputStride = count;
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    // Without strides, the pixels of the input follow each other.
    request.inputStride[axis] = count > 1 ? inputStride : 0;
    request.outputStride[axis] = outputStride;
    if (axis < dimension)
    {
      request.radius[axis] = static_cast<std::int64_t>(std::min(static_cast<SizeValueType>(radius[axis]), mostPixels));
      request.inputExtent[axis] = static_cast<std::int64_t>(inputRegion.GetSize(axis));
      request.outputOrigin[axis] = region.GetIndex(axis) - inputRegion.GetIndex(axis);
      request.outputExtent[axis] = static_cast<std::int64_t>(region.GetSize(axis));
      inputStride *= static_cast<std::int64_t>(inputRegion.GetSize(axis));
      outputStride *= static_cast<std::int64_t>(bufferedRegion.GetSize(axis));
    }
  }
  if (count > 1 && dimension < cudamedian::Dimension)
  {
    constexpr int last = cudamedian::Dimension - 1;
    request.inputStride[last] = 1;
    request.outputStride[last] = 1;
    request.inputExtent[last] = count;
    request.outputExtent[last] = count;
  }
  request.outputPixelBytes = sizeof(OutputValue);
  if (!std::is_same<InputValue, OutputValue>::value)
  {
    request.convertRow = &ConvertRow<InputValue, OutputValue>;
  }
}

/** Says where the pixels begin, in the host's memory. */
template <typename TInputImage, typename TOutputImage>
void
SetPixels(const TInputImage &                       input,
          TOutputImage &                            output,
          const typename TOutputImage::RegionType & region,
          cudamedian::MedianRequest &               request)
{
  request.input = GetValues(input);
  if (region.GetNumberOfPixels() > 0)
  {
    request.output = GetValues(output) + output.ComputeOffset(region.GetIndex()) * CountValues(output);
  }
}

/** Calls the engine, whose refusal becomes the filter's exception. */
template <typename TFilter, typename TCall>
const cudamedian::Footprint *
MakeFootprintBy(const TFilter & filter, const TCall & call)
{
  try
  {
    return call();
  }
  catch (const cudamedian::RequestError & error)
  {
    itkGenericExceptionMacro(<< filter.GetNameOfClass() << ": " << error.what());
  }
}

/** The footprint of a neighborhood whose values, as numbers, are weights. */
template <typename TFilter, typename TNeighborhood>
const cudamedian::Footprint *
MakeFootprint(const TFilter & filter, const TNeighborhood & neighborhood)
{
  static_assert(TNeighborhood::NeighborhoodDimension <= cudamedian::Dimension);
  constexpr auto                          mostWeight = std::numeric_limits<std::int64_t>::max();
  std::vector<cudamedian::FootprintPixel> pixels;
  for (SizeValueType i = 0; i < neighborhood.Size(); ++i)
  {
    cudamedian::FootprintPixel pixel;
    const auto                 weight = static_cast<SizeValueType>(neighborhood[i]);
    pixel.weight = static_cast<std::int64_t>(std::min(weight, static_cast<SizeValueType>(mostWeight)));
    for (unsigned int axis = 0; axis < TNeighborhood::NeighborhoodDimension; ++axis)
    {
      pixel.offset[axis] = neighborhood.GetOffset(i)[axis];
    }
    pixels.push_back(pixel);
  }
  return MakeFootprintBy(filter, [&] { return cudamedian::Footprint::Make(pixels); });
}

/** The footprint of an ellipsoid; radii in pixels. */
template <typename TFilter, unsigned int VDimension>
const cudamedian::Footprint *
MakeEllipsoid(const TFilter & filter, const FixedArray<double, VDimension> & radius)
{
  std::array<double, cudamedian::Dimension> all{};
  std::copy_n(radius.Begin(), std::min<std::size_t>(VDimension, all.size()), all.begin());
  return MakeFootprintBy(filter, [&] { return cudamedian::Footprint::MakeEllipsoid(all); });
}

/** The footprint of a box whose center has a weight. */
template <typename TFilter, unsigned int VDimension>
const cudamedian::Footprint *
MakeCenterWeighted(const TFilter & filter, const Size<VDimension> & radius, SizeValueType weight)
{
  constexpr auto     most = static_cast<SizeValueType>(std::numeric_limits<std::int32_t>::max());
  cudamedian::Extent all{};
  for (unsigned int axis = 0; axis < std::min<unsigned int>(VDimension, cudamedian::Dimension); ++axis)
  {
    all[axis] = static_cast<std::int64_t>(std::min<SizeValueType>(radius[axis], most));
  }
  return MakeFootprintBy(filter, [&] {
    return cudamedian::Footprint::MakeCentreWeighted(all, static_cast<std::int64_t>(std::min(weight, most)));
  });
}

/** Makes a request's input a region of the pixels in memory instead of all of them. */
template <unsigned int VDimension>
void
CropInput(const ImageRegion<VDimension> & buffered,
          const ImageRegion<VDimension> & region,
          std::size_t                     valueBytes,
          cudamedian::MedianRequest &     request)
{
  if (region == buffered)
  {
    return;
  }
  if (request.inputStride == cudamedian::Extent{})
  {
    std::int64_t stride = 1;
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      request.inputStride[axis] = stride;
      stride *= request.inputExtent[axis];
    }
  }
  const auto * first = static_cast<const char *>(request.input);
  for (unsigned int axis = 0; axis < std::min<unsigned int>(VDimension, cudamedian::Dimension); ++axis)
  {
    const auto before = static_cast<std::int64_t>(region.GetIndex(axis) - buffered.GetIndex(axis));
    first += before * request.inputStride[axis] * static_cast<std::int64_t>(valueBytes);
    request.inputExtent[axis] = static_cast<std::int64_t>(region.GetSize(axis));
    request.outputOrigin[axis] -= before;
  }
  request.input = first;
}

/** Calls a function with a mask as an image of integers. \returns false where it is none. */
template <unsigned int VDimension, typename TCall>
bool
CallWithMask(const ImageBase<VDimension> & mask, const TCall & call)
{
  const auto take = [&](auto value) {
    const auto * image = dynamic_cast<const Image<decltype(value), VDimension> *>(&mask);
    if (image != nullptr)
    {
      call(*image);
    }
    return image != nullptr;
  };
  return take(static_cast<unsigned char>(0)) || take(static_cast<signed char>(0)) || take(char{ 0 }) ||
         take(static_cast<unsigned short>(0)) || take(static_cast<short>(0)) || take(0U) || take(0) || take(0UL) ||
         take(0L) || take(0ULL) || take(0LL);
}

/** Says how a mask's pixels follow each other in memory. \returns false where they are no integers. */
template <unsigned int VDimension>
bool
DescribeMaskPixels(const ImageBase<VDimension> & mask, cudamedian::Validity & validity)
{
  for (unsigned int axis = 0; axis < std::min<unsigned int>(VDimension, cudamedian::Dimension); ++axis)
  {
    validity.maskStride[axis] = static_cast<std::int64_t>(mask.GetOffsetTable()[axis]);
  }
  return CallWithMask(mask, [&](const auto & image) {
    validity.maskPixelBytes = sizeof(typename std::decay_t<decltype(image)>::PixelType);
  });
}

/** Says where a mask's pixels of a region lie. \returns false where they are no integers. */
template <unsigned int VDimension>
bool
DescribeMask(const ImageBase<VDimension> &   mask,
             const ImageRegion<VDimension> & region,
             cudamedian::Validity &          validity)
{
  return DescribeMaskPixels(mask, validity) && CallWithMask(mask, [&](const auto & image) {
           validity.mask = image.GetBufferPointer() + image.ComputeOffset(region.GetIndex());
         });
}

/** Tells the filter's progress. \throws ProcessAborted where the filter was asked to stop. */
template <typename TFilter>
void
TellProgress(TFilter & filter, float fraction)
{
  filter.UpdateProgress(fraction);
  if (filter.GetAbortGenerateData())
  {
    ProcessAborted aborted(__FILE__, __LINE__);
    aborted.SetDescription("Filter execution was aborted by an external request");
    throw aborted;
  }
}

/** Has a filter generate its output. When that fails the output is released: ITK takes a region that is in memory for
 * one that was generated, and would not ask for it again. */
template <typename TFilter, typename TCall>
void
GenerateOrRelease(TFilter & filter, const TCall & call)
{
  try
  {
    call();
  }
  catch (...)
  {
    try
    {
      filter.GetOutput()->ReleaseData();
    }
    catch (const ExceptionObject &)
    {
      // An image on a device that is lost cannot be released. What failed first is told.
    }
    throw;
  }
}

/** Has the filter's threads serve a request: as many as it has work units, and no more than its multi-threader has
 * threads. ITK's default is several units for each thread, of which the later ones would begin when the work is done:
 * the engine deals it out in small parts by itself. */
template <typename TFilter, typename TRequest>
void
UseThreads(TFilter & filter, TRequest & request)
{
  auto * threader = filter.GetMultiThreader();
  request.workUnits =
    static_cast<unsigned int>(std::min(filter.GetNumberOfWorkUnits(), threader->GetMaximumNumberOfThreads()));
  // Whoever limits the work units gets as many as that.
  if constexpr (std::is_same_v<TRequest, cudamedian::MedianRequest>)
  {
    request.mayUseFewerUnits = filter.GetNumberOfWorkUnits() >= threader->GetMaximumNumberOfThreads();
  }
  request.parallelFor = [threader](std::size_t count, const std::function<void(std::size_t)> & body) {
    threader->SetNumberOfWorkUnits(static_cast<ThreadIdType>(count));
    threader->ParallelizeArray(
      0, count, [&body](SizeValueType unit) { body(static_cast<std::size_t>(unit)); }, nullptr);
  };
}

/** Has the filter's threads and its progress serve the request, which is then carried out.
 *
 * The filter's progress goes from one number to another. */
template <typename TFilter>
cudamedian::ExecutionReport
RunRequest(TFilter & filter, cudamedian::MedianRequest & request, float start = 0, float end = 1)
{
  UseThreads(filter, request);
  request.progress = [&filter, start, end](float fraction) { TellProgress(filter, start + (end - start) * fraction); };
  request.progress(0.0F);
  return cudamedian::RunMedian(request);
}

/** The same in the input's own memory. */
template <typename TFilter>
cudamedian::InPlaceReport
RunRequestInPlace(TFilter & filter, cudamedian::MedianRequest & request)
{
  UseThreads(filter, request);
  request.progress = [&filter](float fraction) { TellProgress(filter, fraction); };
  return cudamedian::RunMedianInPlace(request);
}

/** Names a type of images. */
template <typename TImage>
struct ImageName
{
  using Image = TImage;
};

/** Calls function(ImageName<Image<TPixel, dimension>>()) for the given types of pixels and 2, 3 and 4 dimensions. */
template <typename... TPixels, typename TFunction>
void
ForEachImageOf(const TFunction & function)
{
  const auto forDimensions = [&function](auto pixel) {
    function(ImageName<Image<decltype(pixel), 2>>());
    function(ImageName<Image<decltype(pixel), 3>>());
    function(ImageName<Image<decltype(pixel), 4>>());
  };
  (forDimensions(TPixels()), ...);
}

/** The same for the types of numbers that factories override filters for. */
template <typename TFunction>
void
ForEachImage(const TFunction & function)
{
  ForEachImageOf<char,
                 signed char,
                 unsigned char,
                 short,
                 unsigned short,
                 int,
                 unsigned int,
                 long,
                 unsigned long,
                 long long,
                 unsigned long long,
                 float,
                 double>(function);
}

/** Prints the devices that share the work, as PrintSelf() of a filter does. */
inline void
PrintDevices(std::ostream & os, Indent indent, const std::vector<int> & devices)
{
  os << indent << "Devices:" << (devices.empty() ? " (the current one)" : "");
  for (const int device : devices)
  {
    os << " " << device;
  }
  os << std::endl;
}

/** Prints what the last update did. */
inline void
PrintReport(std::ostream & os, Indent indent, const cudamedian::ExecutionReport & report)
{
  os << indent << "ExecutionReport: " << (report.backend.empty() ? "(none)" : "") << std::endl;
  if (!report.backend.empty())
  {
    std::ostringstream next;
    next << indent.GetNextIndent();
    report.Print(os, next.str());
  }
}

} // namespace CudaMedianFilterDetail
} // namespace itk

#endif
