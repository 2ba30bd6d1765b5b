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
#include "FilterImageOfType.h"

#include "itkRGBAPixel.h"
#include "itkRGBPixel.h"
#include "itkVectorImage.h"

// Images whose pixels have several components. Formats keep what the components are, colours or numbers, where the type
// of the pixels tells it.

namespace
{

/** Colours of the types that formats have for them. \returns -1 for other pixels */
template <unsigned int VDimension>
int
FilterColours(const Options & options, itk::ImageIOBase * imageIO, const Destination & destination)
{
  using PixelEnum = itk::IOPixelEnum;
  const PixelEnum kind = imageIO->GetPixelType();
  const bool      isByte = imageIO->GetComponentType() == itk::IOComponentEnum::UCHAR;
  const bool      isWord = imageIO->GetComponentType() == itk::IOComponentEnum::USHORT;
  if (kind == PixelEnum::RGB && isByte)
  {
    return FilterImageOfType<itk::Image<itk::RGBPixel<unsigned char>, VDimension>>(options, imageIO, destination);
  }
  if (kind == PixelEnum::RGB && isWord)
  {
    return FilterImageOfType<itk::Image<itk::RGBPixel<unsigned short>, VDimension>>(options, imageIO, destination);
  }
  if (kind == PixelEnum::RGBA && isByte)
  {
    return FilterImageOfType<itk::Image<itk::RGBAPixel<unsigned char>, VDimension>>(options, imageIO, destination);
  }
  if (kind == PixelEnum::RGBA && isWord)
  {
    return FilterImageOfType<itk::Image<itk::RGBAPixel<unsigned short>, VDimension>>(options, imageIO, destination);
  }
  return -1;
}

/** Complex numbers. \returns -1 for other pixels */
template <unsigned int VDimension>
int
FilterComplex(const Options & options, itk::ImageIOBase * imageIO, const Destination & destination)
{
  if (imageIO->GetPixelType() != itk::IOPixelEnum::COMPLEX)
  {
    return -1;
  }
  switch (imageIO->GetComponentType())
  {
    case itk::IOComponentEnum::FLOAT:
      return FilterImageOfType<itk::Image<std::complex<float>, VDimension>>(options, imageIO, destination);
    case itk::IOComponentEnum::DOUBLE:
      return FilterImageOfType<itk::Image<std::complex<double>, VDimension>>(options, imageIO, destination);
    default:
      return -1;
  }
}

} // namespace

template <unsigned int VDimension>
int
FilterComponents(const Options & options, itk::ImageIOBase * imageIO, const Destination & destination)
{
  using ComponentEnum = itk::IOComponentEnum;
  const ComponentEnum type = imageIO->GetComponentType();
  for (const auto filter : { &FilterColours<VDimension>, &FilterComplex<VDimension> })
  {
    const int exitCode = filter(options, imageIO, destination);
    if (exitCode >= 0)
    {
      return exitCode;
    }
  }
  // Types of one size share an instance: what long and long long are is the platform's choice, not the file's.
  switch (type)
  {
    case ComponentEnum::CHAR:
      return FilterImageOfType<itk::VectorImage<char, VDimension>>(options, imageIO, destination);
    case ComponentEnum::UCHAR:
      return FilterImageOfType<itk::VectorImage<unsigned char, VDimension>>(options, imageIO, destination);
    case ComponentEnum::SHORT:
      return FilterImageOfType<itk::VectorImage<short, VDimension>>(options, imageIO, destination);
    case ComponentEnum::USHORT:
      return FilterImageOfType<itk::VectorImage<unsigned short, VDimension>>(options, imageIO, destination);
    case ComponentEnum::INT:
      return FilterImageOfType<itk::VectorImage<int, VDimension>>(options, imageIO, destination);
    case ComponentEnum::UINT:
      return FilterImageOfType<itk::VectorImage<unsigned int, VDimension>>(options, imageIO, destination);
    case ComponentEnum::LONG:
    case ComponentEnum::LONGLONG:
      return FilterImageOfType<itk::VectorImage<std::int64_t, VDimension>>(options, imageIO, destination);
    case ComponentEnum::ULONG:
    case ComponentEnum::ULONGLONG:
      return FilterImageOfType<itk::VectorImage<std::uint64_t, VDimension>>(options, imageIO, destination);
    case ComponentEnum::FLOAT:
      return FilterImageOfType<itk::VectorImage<float, VDimension>>(options, imageIO, destination);
    case ComponentEnum::DOUBLE:
      return FilterImageOfType<itk::VectorImage<double, VDimension>>(options, imageIO, destination);
    default:
      throw UserError("'" + options.input + "' has pixels of type " + itk::ImageIOBase::GetComponentTypeAsString(type) +
                      ", which the filter does not take");
  }
}

// The build compiles this file once per dimension.
template int
FilterComponents<CUDAMEDIAN_IMAGE_DIMENSION>(const Options &, itk::ImageIOBase *, const Destination &);
