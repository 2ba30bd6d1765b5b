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
#ifndef itkCudaRankImageFilterFactory_h
#define itkCudaRankImageFilterFactory_h

#include "itkCudaMedianFilterDetail.h"
#include "itkCudaRankImageFilter.h"
#include "itkObjectFactoryBase.h"
#include "itkVersion.h"

// As in itkCudaRankImageFilter.h.
#if __has_include("itkRankImageFilter.h")

namespace itk
{

/** \class CudaRankImageFilterFactory
 * \brief Makes itk::RankImageFilter::New() return a CudaRankImageFilter, in programs that know nothing of it.
 *
 * Covers images of two to four dimensions with pixels of type char to long long, float or double, whose output has the
 * input's type. New() of any other itk::RankImageFilter returns what it returned before.
 *
 * \sa CudaRankImageFilter
 * \ingroup CudaMedian */
class CudaRankImageFilterFactory : public ObjectFactoryBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaRankImageFilterFactory);

  /** Standard class type aliases. */
  using Self = CudaRankImageFilterFactory;
  using Superclass = ObjectFactoryBase;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkFactorylessNewMacro(Self);
#  ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaRankImageFilterFactory);
#  else
  itkTypeMacro(CudaRankImageFilterFactory, ObjectFactoryBase);
#  endif

  const char *
  GetITKSourceVersion() const override
  {
    return ITK_SOURCE_VERSION;
  }

  const char *
  GetDescription() const override
  {
    return "itk::RankImageFilter by itk::CudaRankImageFilter";
  }

  /** Registers a new factory before all others. ObjectFactoryBase::UnRegisterFactory() takes one back. */
  static void
  RegisterOneFactory()
  {
    ObjectFactoryBase::RegisterFactory(Self::New(), ObjectFactoryBase::InsertionPositionEnum::INSERT_AT_FRONT);
  }

protected:
  CudaRankImageFilterFactory()
  {
    CudaMedianFilterDetail::ForEachImage([this](auto name) { this->OverrideImage<typename decltype(name)::Image>(); });
  }
  ~CudaRankImageFilterFactory() override = default;

private:
  template <typename TImage>
  void
  OverrideImage()
  {
    this->RegisterOverride(
      typeid(RankImageFilter<TImage, TImage, FlatStructuringElement<TImage::ImageDimension>>).name(),
      typeid(CudaRankImageFilter<TImage, TImage>).name(),
      "exact rank on CUDA, or with tile programs on the CPU",
      true,
      CreateObjectFunction<CudaRankImageFilter<TImage, TImage>>::New());
  }
};

} // namespace itk

#endif // __has_include

#endif
