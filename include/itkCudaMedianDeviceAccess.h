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
#ifndef itkCudaMedianDeviceAccess_h
#define itkCudaMedianDeviceAccess_h

#include "CudaMedianExport.h"

#include <typeinfo>

namespace itk
{
class DataObject;
}

namespace cudamedian
{

/** \class DeviceAccess
 * Reaches the pixels that another module's images have in device memory beside those of the host.
 *
 * Each call is for an image of the type that the access was made for.
 *
 * \ingroup CudaMedian */
class DeviceAccess
{
public:
  virtual ~DeviceAccess() = default;

  /** Whether the device has the pixels as they are. */
  virtual bool
  IsOnDevice(const itk::DataObject & image) const = 0;

  /** The pixels, to be read on the device. They are brought there if they are not. Those of the host stay as good as
   * they were. */
  virtual const void *
  GetInput(const itk::DataObject & image) const = 0;

  /** Memory for the pixels, to be written on the device. From now on those of the host are out of date. */
  virtual void *
  GetOutput(itk::DataObject & image) const = 0;
};

/** Has FindDeviceAccess() know the images of a type; their access lives as long as the process. Any thread may call it,
 * and again. */
CudaMedian_EXPORT void
RegisterDeviceAccess(const std::type_info & type, const DeviceAccess & access);

/** The access to images of exactly this type; null where none was registered. */
const CudaMedian_EXPORT DeviceAccess *
FindDeviceAccess(const std::type_info & type);

} // namespace cudamedian

#endif
