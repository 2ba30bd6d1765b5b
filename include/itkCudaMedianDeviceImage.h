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
#ifndef itkCudaMedianDeviceImage_h
#define itkCudaMedianDeviceImage_h

#include "itkCudaMedianDevice.h"
#include "itkCudaMedianDeviceAccess.h"
#include "itkCudaMedianFilterDetail.h"

#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace itk
{
namespace CudaMedianFilterDetail
{

/** Whether images of a type have a manager of their pixels in device memory, with the functions of the one that
 * itk::CudaImage of the module ITKCudaCommon has. */
template <typename TImage, typename = void>
struct HasDeviceManager : std::false_type
{};

/** \cond Doxygen finds no scope for this. */
template <typename TImage>
struct HasDeviceManager<
  TImage,
  std::void_t<decltype(std::declval<const TImage &>().GetCudaDataManager()->GetGPUBufferPointer()),
              decltype(std::declval<const TImage &>().GetCudaDataManager()->SetCPUDirtyFlag(true)),
              std::enable_if_t<
                std::is_convertible<decltype(std::declval<const TImage &>().GetCudaDataManager()->IsCPUBufferDirty()),
                                    bool>::value>,
              std::enable_if_t<
                std::is_convertible<decltype(std::declval<const TImage &>().GetCudaDataManager()->IsGPUBufferDirty()),
                                    bool>::value>>> : std::true_type
{};
/** \endcond */

/** \class ManagedDeviceAccess
 * The access to images of a type that has such a manager.
 *
 * \ingroup CudaMedian */
template <typename TImage>
class ManagedDeviceAccess : public cudamedian::DeviceAccess
{
public:
  static const ManagedDeviceAccess &
  GetInstance()
  {
    // Never destroyed: a thread may be at work when the process ends.
    static const auto & instance = *new ManagedDeviceAccess;
    return instance;
  }

  bool
  IsOnDevice(const DataObject & image) const override
  {
    return !GetManager(image)->IsGPUBufferDirty();
  }

  const void *
  GetInput(const DataObject & image) const override
  {
    const auto manager = GetManager(image);
    if (manager->IsGPUBufferDirty())
    {
      // What is not on the device is on the host. FillBuffer(), SetPixel() and SetPixelContainer() of itk::Image are
      // not virtual and tell the manager nothing. This tells it, and copies nothing.
      static_cast<const TImage &>(image).GetBufferPointer();
    }
    const bool   wasDirty = manager->IsCPUBufferDirty();
    const void * pixels = manager->GetGPUBufferPointer();
    // The manager takes whoever asks for the pointer for one who writes.
    manager->SetCPUDirtyFlag(wasDirty);
    return pixels;
  }

  void *
  GetOutput(DataObject & image) const override
  {
    return GetManager(image)->GetGPUBufferPointer();
  }

private:
  static auto
  GetManager(const DataObject & image)
  {
    return static_cast<const TImage &>(image).GetCudaDataManager();
  }
};

/** The access to an image's pixels on a device, or null where it has none there. What the compiler does not know of its
 * type may have been registered. */
template <typename TImage>
const cudamedian::DeviceAccess *
FindAccess(const TImage & image)
{
  if constexpr (HasDeviceManager<TImage>::value)
  {
    return &ManagedDeviceAccess<TImage>::GetInstance();
  }
  else
  {
    return cudamedian::FindDeviceAccess(typeid(image));
  }
}

/** \class DeviceImages
 * Input and output of a filter whose pixels another module may have on a device.
 *
 * \ingroup CudaMedian */
template <typename TInputImage, typename TOutputImage>
class DeviceImages
{
public:
  DeviceImages(const TInputImage & input, TOutputImage & output)
    : m_Input(input)
    , m_Output(output)
    , m_InputAccess(FindAccess(input))
    , m_OutputAccess(FindAccess(output))
  {}

  /** Why a request, whose buffers need not be known, is for the pixels of the host. Empty where it is not. */
  std::string
  FindObstacle(const cudamedian::MedianRequest & request) const
  {
    if (m_InputAccess == nullptr || m_OutputAccess == nullptr)
    {
      return m_InputAccess == nullptr ? "The input has no pixels on a device" : "The output has no pixels on a device";
    }
    if (!HasDeviceManager<TInputImage>::value && request.backend == cudamedian::Backend::Auto &&
        !m_InputAccess->IsOnDevice(m_Input))
    {
      return "The input's pixels are not on the device yet";
    }
    return cudamedian::FindDeviceObstacle(request);
  }

  /** Whether there are pixels on a device besides those of the host. */
  bool
  IsAny() const
  {
    return m_InputAccess != nullptr || m_OutputAccess != nullptr;
  }

  /** Carries out a request without an obstacle, in the order of a stream's work and of that of the default stream. */
  cudamedian::ExecutionReport
  Run(cudamedian::MedianRequest request, void * stream) const
  {
    request.input = m_InputAccess->GetInput(m_Input);
    request.output = m_OutputAccess->GetOutput(m_Output);
    const bool isOrdered = stream != nullptr && m_Output.GetBufferedRegion().GetNumberOfPixels() > 0;
    if (isOrdered)
    {
      cudamedian::OrderStreams(request.output, nullptr, stream);
    }
    auto report = cudamedian::RunMedianOnDevice(request, stream);
    if (isOrdered)
    {
      cudamedian::OrderStreams(request.output, stream, nullptr);
    }
    return report;
  }

private:
  const TInputImage &              m_Input;
  TOutputImage &                   m_Output;
  const cudamedian::DeviceAccess * m_InputAccess;
  const cudamedian::DeviceAccess * m_OutputAccess;
};

/** Carries out a request, whose buffers need not be known, on the pixels that a filter's images have on a device.
 *
 * \param obstacle why the host's pixels have to be taken, if that is known already. Where they have to, it says why
 * afterwards; it is empty where there are no others, and where the CPU was asked for.
 * \param addMask adds the mask's pixels there to a request, where there is one. It is called where nothing is in the
 * way. \returns whether it was carried out. */
template <typename TFilter>
bool
RunOnDevice(TFilter &                                                filter,
            const cudamedian::MedianRequest &                        request,
            void *                                                   stream,
            std::string &                                            obstacle,
            cudamedian::ExecutionReport &                            report,
            const std::function<void(cudamedian::MedianRequest &)> & addMask = {})
{
  auto &             output = *filter.GetOutput();
  const DeviceImages images(*filter.GetInput(), output);
  if (!images.IsAny() || request.backend == cudamedian::Backend::Cpu)
  {
    obstacle.clear();
    return false;
  }
  obstacle = obstacle.empty() ? images.FindObstacle(request) : obstacle;
  if (!obstacle.empty())
  {
    return false;
  }
  TellProgress(filter, 0);
  try
  {
    auto onDevice = request;
    if (addMask)
    {
      addMask(onDevice);
    }
    report = images.Run(onDevice, stream);
    return true;
  }
  catch (const std::runtime_error & error) // DeviceError, or RequestError of what CUDA alone does not cover
  {
    if (request.backend != cudamedian::Backend::Auto)
    {
      throw;
    }
    obstacle = error.what();
    output.Allocate(); // else what the device has of it would be copied to the host
    return false;
  }
}

/** Adds to a report why the host's pixels were taken of images that have others on a device. */
inline void
AddObstacle(const std::string & obstacle, cudamedian::ExecutionReport & report)
{
  report.backendReason += obstacle.empty() ? "" : "; the host's copy of the pixels was filtered: " + obstacle;
}

} // namespace CudaMedianFilterDetail

/** Has the filters know images whose type they are not told, such as the itk::CudaImage that New() of itk::Image makes
 * where itk::CudaImageFactory is registered. Call it once for each type of images in use.
 *
 * \tparam TImage itk::CudaImage, or an image with the interface of its data manager. */
template <typename TImage>
void
CudaMedianRegisterDeviceImage()
{
  static_assert(CudaMedianFilterDetail::HasDeviceManager<TImage>::value,
                "images in device memory have GetCudaDataManager(), as itk::CudaImage has");
  cudamedian::RegisterDeviceAccess(typeid(TImage), CudaMedianFilterDetail::ManagedDeviceAccess<TImage>::GetInstance());
}

} // namespace itk

#endif
