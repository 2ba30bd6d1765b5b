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

template <unsigned int VDimension>
int
FilterImage(const Options & options, itk::ImageIOBase * imageIO, const Destination & destination)
{
  using ComponentEnum = itk::IOComponentEnum;
  const ComponentEnum type = imageIO->GetComponentType();
  if (imageIO->GetNumberOfComponents() != 1)
  {
    return FilterComponents<VDimension>(options, imageIO, destination);
  }
  // Types of one size share an instance: what long and long long are is the platform's choice, not the file's.
  switch (type)
  {
    case ComponentEnum::CHAR:
      return FilterImageOfType<itk::Image<char, VDimension>>(options, imageIO, destination);
    case ComponentEnum::UCHAR:
      return FilterImageOfType<itk::Image<unsigned char, VDimension>>(options, imageIO, destination);
    case ComponentEnum::SHORT:
      return FilterImageOfType<itk::Image<short, VDimension>>(options, imageIO, destination);
    case ComponentEnum::USHORT:
      return FilterImageOfType<itk::Image<unsigned short, VDimension>>(options, imageIO, destination);
    case ComponentEnum::INT:
      return FilterImageOfType<itk::Image<int, VDimension>>(options, imageIO, destination);
    case ComponentEnum::UINT:
      return FilterImageOfType<itk::Image<unsigned int, VDimension>>(options, imageIO, destination);
    case ComponentEnum::LONG:
    case ComponentEnum::LONGLONG:
      return FilterImageOfType<itk::Image<std::int64_t, VDimension>>(options, imageIO, destination);
    case ComponentEnum::ULONG:
    case ComponentEnum::ULONGLONG:
      return FilterImageOfType<itk::Image<std::uint64_t, VDimension>>(options, imageIO, destination);
    case ComponentEnum::FLOAT:
      return FilterImageOfType<itk::Image<float, VDimension>>(options, imageIO, destination);
    case ComponentEnum::DOUBLE:
      return FilterImageOfType<itk::Image<double, VDimension>>(options, imageIO, destination);
    default:
      throw UserError("'" + options.input + "' has pixels of type " + itk::ImageIOBase::GetComponentTypeAsString(type) +
                      ", which the filter does not take");
  }
}

// The build compiles this file once per dimension.
template int
FilterImage<CUDAMEDIAN_IMAGE_DIMENSION>(const Options &, itk::ImageIOBase *, const Destination &);
