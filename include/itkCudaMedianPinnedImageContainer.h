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
#ifndef itkCudaMedianPinnedImageContainer_h
#define itkCudaMedianPinnedImageContainer_h

#include "itkCudaMedianEngine.h"
#include "itkImportImageContainer.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace itk
{

/** \class CudaMedianPinnedImageContainer
 * \brief A pixel container in pinned memory, from and to which a GPU transfers without a copy in between.
 *
 * Give one to an image before it is allocated:
 * \code
 * image->SetPixelContainer(itk::CudaMedianPinnedImageContainer<itk::SizeValueType, short>::New());
 * image->SetRegions(region);
 * image->Allocate();
 * \endcode
 * Without a device, or when pinned memory runs out, the pixels lie in ordinary memory and everything works as usual.
 * Pinning takes time, some tenths of a second for a gibibyte: worth it for images that are used again.
 * \ingroup CudaMedian */
template <typename TElementIdentifier, typename TElement>
class ITK_TEMPLATE_EXPORT CudaMedianPinnedImageContainer : public ImportImageContainer<TElementIdentifier, TElement>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaMedianPinnedImageContainer);

  /** Standard class type aliases. */
  using Self = CudaMedianPinnedImageContainer;
  using Superclass = ImportImageContainer<TElementIdentifier, TElement>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaMedianPinnedImageContainer);
#else
  itkTypeMacro(CudaMedianPinnedImageContainer, ImportImageContainer);
#endif

  static_assert(std::is_arithmetic<TElement>::value, "pixels of scalar types");

protected:
  CudaMedianPinnedImageContainer() = default;
  ~CudaMedianPinnedImageContainer() override { DeallocateManagedMemory(); }

  TElement *
  AllocateElements(TElementIdentifier size, bool useDefaultConstructor = false) const override
  {
    void * const memory = cudamedian::AllocatePinnedMemory(static_cast<std::size_t>(size) * sizeof(TElement));
    if (memory == nullptr)
    {
      return Superclass::AllocateElements(size, useDefaultConstructor);
    }
    auto * const elements = static_cast<TElement *>(memory);
    m_Pinned.push_back(elements);
    if (useDefaultConstructor)
    {
      std::fill_n(elements, size, TElement{});
    }
    return elements;
  }

  void
  DeallocateManagedMemory() override
  {
    // While the container grows it has two pieces of memory, the new one first.
    const auto found = std::find(m_Pinned.begin(), m_Pinned.end(), this->GetImportPointer());
    if (found != m_Pinned.end())
    {
      if (this->GetContainerManageMemory())
      {
        cudamedian::FreePinnedMemory(*found);
      }
      m_Pinned.erase(found);
      this->SetImportPointer(nullptr);
      this->SetCapacity(0);
      this->SetSize(0);
      return;
    }
    Superclass::DeallocateManagedMemory();
  }

private:
  mutable std::vector<TElement *> m_Pinned; ///< what AllocatePinnedMemory() returned
};

} // namespace itk

#endif
