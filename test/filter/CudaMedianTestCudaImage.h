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
#ifndef CudaMedianTestCudaImage_h
#define CudaMedianTestCudaImage_h

#include "itkImage.h"

#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace cudamediantest
{

/** Pixels of an image on the host and on a device, of which one side or both are as they should be: a stand-in for the
 * data manager of ITKCudaCommon, which counts what it does. */
class PixelManager
{
public:
  PixelManager() = default;
  ~PixelManager() { this->Free(); }
  PixelManager(const PixelManager &) = delete;
  PixelManager &
  operator=(const PixelManager &) = delete;

  /** After an allocation neither side has been written to. */
  void
  Reset(void * host, std::size_t bytes)
  {
    this->Free();
    m_Host = host;
    m_Bytes = bytes;
    m_IsHostStale = true;
    m_IsDeviceStale = true;
  }

  bool
  IsCPUBufferDirty() const
  {
    return m_IsHostStale;
  }

  bool
  IsGPUBufferDirty() const
  {
    return m_IsDeviceStale;
  }

  void
  SetCPUDirtyFlag(bool isStale)
  {
    m_IsHostStale = isStale;
  }

  /** For whoever writes there: the host's side is out of date then, whatever the caller does. */
  void *
  GetGPUBufferPointer()
  {
    if (m_Device == nullptr && m_Bytes > 0)
    {
      EXPECT_EQ(cudaMalloc(&m_Device, m_Bytes), cudaSuccess);
    }
    if (m_IsDeviceStale && !m_IsHostStale)
    {
      ++uploads;
      EXPECT_EQ(cudaMemcpy(m_Device, m_Host, m_Bytes, cudaMemcpyHostToDevice), cudaSuccess);
    }
    m_IsDeviceStale = false;
    m_IsHostStale = true;
    return m_Device;
  }

  /** For whoever reads or writes on the host, in any thread: the device's side is given up. */
  void
  TakeToHost()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    ++hostAccesses;
    if (m_IsHostStale && !m_IsDeviceStale)
    {
      ++downloads;
      EXPECT_EQ(cudaMemcpy(m_Host, m_Device, m_Bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    }
    m_IsHostStale = false;
    m_IsDeviceStale = true;
    this->Free();
  }

  void
  ForgetCounts()
  {
    uploads = 0;
    downloads = 0;
    hostAccesses = 0;
  }

  int uploads{ 0 };
  int downloads{ 0 };
  int hostAccesses{ 0 };

private:
  void
  Free()
  {
    EXPECT_EQ(cudaFree(m_Device), cudaSuccess);
    m_Device = nullptr;
  }

  std::mutex  m_Mutex;
  void *      m_Host{ nullptr };
  void *      m_Device{ nullptr };
  std::size_t m_Bytes{ 0 };
  bool        m_IsHostStale{ false };
  bool        m_IsDeviceStale{ false };
};

/** A stand-in for itk::CudaImage of ITKCudaCommon, which ITK 5.2 is too old for. */
template <typename TPixel, unsigned int VDimension>
class CudaImage : public itk::Image<TPixel, VDimension>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaImage);

  using Self = CudaImage;
  using Superclass = itk::Image<TPixel, VDimension>;
  using Pointer = itk::SmartPointer<Self>;
  using ConstPointer = itk::SmartPointer<const Self>;
  using RegionType = typename Superclass::RegionType;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaImage);
#else
  itkTypeMacro(CudaImage, Image);
#endif

  std::shared_ptr<PixelManager>
  GetCudaDataManager() const
  {
    return m_Manager;
  }

  void
  Allocate(bool initialize = false) override
  {
    Superclass::Allocate(initialize);
    m_Manager->Reset(Superclass::GetBufferPointer(), this->GetBufferedRegion().GetNumberOfPixels() * sizeof(TPixel));
    m_Manager->SetCPUDirtyFlag(!initialize);
  }

  void
  Initialize() override
  {
    Superclass::Initialize();
    m_Manager = std::make_shared<PixelManager>();
  }

  TPixel *
  GetBufferPointer() override
  {
    m_Manager->TakeToHost();
    return Superclass::GetBufferPointer();
  }

  const TPixel *
  GetBufferPointer() const override
  {
    m_Manager->TakeToHost();
    return Superclass::GetBufferPointer();
  }

protected:
  CudaImage() = default;
  ~CudaImage() override = default;

  using Superclass::Graft;

  void
  Graft(const itk::DataObject * data) override
  {
    Superclass::Graft(data);
    m_Manager = dynamic_cast<const Self &>(*data).GetCudaDataManager();
  }

private:
  std::shared_ptr<PixelManager> m_Manager{ std::make_shared<PixelManager>() };
};

} // namespace cudamediantest

#endif
