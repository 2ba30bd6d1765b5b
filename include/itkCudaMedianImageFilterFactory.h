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
#ifndef itkCudaMedianImageFilterFactory_h
#define itkCudaMedianImageFilterFactory_h

#include "itkCudaMedianFilterDetail.h"
#include "itkCudaMedianImageFilter.h"
#include "itkObjectFactoryBase.h"
#include "itkVersion.h"

namespace itk
{

/** \class CudaMedianImageFilterFactory
 * \brief Makes itk::MedianImageFilter::New() return a CudaMedianImageFilter, in programs that know nothing of it.
 *
 * Covers images of two to four dimensions with pixels of type char to long long, float or double, whose output has the
 * input's type. New() of any other itk::MedianImageFilter returns what it returned before.
 *
 * \sa CudaMedianImageFilter
 * \ingroup CudaMedian */
class CudaMedianImageFilterFactory : public ObjectFactoryBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaMedianImageFilterFactory);

  /** Standard class type aliases. */
  using Self = CudaMedianImageFilterFactory;
  using Superclass = ObjectFactoryBase;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkFactorylessNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaMedianImageFilterFactory);
#else
  itkTypeMacro(CudaMedianImageFilterFactory, ObjectFactoryBase);
#endif

  const char *
  GetITKSourceVersion() const override
  {
    return ITK_SOURCE_VERSION;
  }

  const char *
  GetDescription() const override
  {
    return "itk::MedianImageFilter by itk::CudaMedianImageFilter";
  }

  /** Registers a new factory before all others. ObjectFactoryBase::UnRegisterFactory() takes one back. */
  static void
  RegisterOneFactory()
  {
    ObjectFactoryBase::RegisterFactory(Self::New(), ObjectFactoryBase::InsertionPositionEnum::INSERT_AT_FRONT);
  }

protected:
  CudaMedianImageFilterFactory()
  {
    CudaMedianFilterDetail::ForEachImage([this](auto name) { this->OverrideImage<typename decltype(name)::Image>(); });
  }
  ~CudaMedianImageFilterFactory() override = default;

private:
  template <typename TImage>
  void
  OverrideImage()
  {
    this->RegisterOverride(typeid(MedianImageFilter<TImage, TImage>).name(),
                           typeid(CudaMedianImageFilter<TImage, TImage>).name(),
                           "exact median on CUDA, or with tile programs on the CPU",
                           true,
                           CreateObjectFunction<CudaMedianImageFilter<TImage, TImage>>::New());
  }
};

} // namespace itk

#endif
