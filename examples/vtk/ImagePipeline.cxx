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
#include "ImagePipeline.h"

#include "../ImageFile.h"
#include "../Options.h"
#include "../Terminal.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkSubtractImageFilter.h"
#include "itkVTKImageExport.h"

#include <vtkImageImport.h>
#include <vtkNew.h>

#include <algorithm>
#include <cmath>

namespace
{

/** An ITK image as the output of a VTK filter, without a copy. */
template <typename TImage>
class Connection
{
public:
  Connection()
  {
    m_Import->SetUpdateInformationCallback(m_Export->GetUpdateInformationCallback());
    m_Import->SetPipelineModifiedCallback(m_Export->GetPipelineModifiedCallback());
    m_Import->SetWholeExtentCallback(m_Export->GetWholeExtentCallback());
    m_Import->SetSpacingCallback(m_Export->GetSpacingCallback());
    m_Import->SetOriginCallback(m_Export->GetOriginCallback());
    m_Import->SetDirectionCallback(m_Export->GetDirectionCallback());
    m_Import->SetScalarTypeCallback(m_Export->GetScalarTypeCallback());
    m_Import->SetNumberOfComponentsCallback(m_Export->GetNumberOfComponentsCallback());
    m_Import->SetPropagateUpdateExtentCallback(m_Export->GetPropagateUpdateExtentCallback());
    m_Import->SetUpdateDataCallback(m_Export->GetUpdateDataCallback());
    m_Import->SetDataExtentCallback(m_Export->GetDataExtentCallback());
    m_Import->SetBufferPointerCallback(m_Export->GetBufferPointerCallback());
    m_Import->SetCallbackUserData(m_Export->GetCallbackUserData());
  }

  void
  Set(TImage * image)
  {
    m_Export->SetInput(image);
    m_Import->Modified();
  }

  vtkAlgorithmOutput *
  Output()
  {
    return m_Import->GetOutputPort();
  }

private:
  typename itk::VTKImageExport<TImage>::Pointer m_Export{ itk::VTKImageExport<TImage>::New() };
  vtkNew<vtkImageImport>                        m_Import;
};

template <typename TPixel>
class PipelineOf : public ImagePipeline
{
public:
  using ImageType = itk::Image<TPixel, 3>;

  PipelineOf(itk::ImageIOBase * imageIO)
    : m_Dimension(imageIO->GetNumberOfDimensions())
  {
    const std::string path = imageIO->GetFileName();
    const auto        type = imageIO->GetComponentType();
    try
    {
      const QuietScope quiet;
      const auto       reader = itk::ImageFileReader<ImageType>::New();
      reader->SetImageIO(imageIO);
      reader->SetFileName(path);
      reader->Update();
      m_Image = reader->GetOutput();
      m_Image->DisconnectPipeline();
    }
    catch (const itk::ExceptionObject & error)
    {
      throw UserError("cannot read '" + path + "': " + Description(error));
    }
    if (type != itk::IOComponentEnum::FLOAT && type != itk::IOComponentEnum::DOUBLE)
    {
      constexpr double         largest = 9007199254740992.0; // 2^53: beyond it not every integer is a double
      const TPixel * const     begin = m_Image->GetBufferPointer();
      const itk::SizeValueType count = m_Image->GetBufferedRegion().GetNumberOfPixels();
      if (std::any_of(begin, begin + count, [](TPixel value) { return std::abs(value) >= largest; }))
      {
        throw UserError("'" + path + "' has pixels of 2^53 or beyond, which the viewer cannot show exactly");
      }
    }
    m_Connections[0].Set(m_Image);
  }

  void
  Apply(const std::vector<std::uint64_t> & radius, const std::function<void(float)> & progress) override
  {
    const auto   perAxis = RadiusPerAxis(radius, m_Dimension);
    itk::Size<3> size{ { 0, 0, 0 } };
    std::copy(perAxis.begin(), perAxis.end(), size.begin());
    const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
    filter->SetInput(m_Image);
    filter->SetRadius(size);
    filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { progress(filter->GetProgress()); });
    filter->Update();
    const auto subtract = itk::SubtractImageFilter<ImageType, ImageType, ImageType>::New();
    subtract->SetInput1(m_Image);
    subtract->SetInput2(filter->GetOutput());
    subtract->Update();
    Keep(1, filter->GetOutput());
    Keep(2, subtract->GetOutput());
  }

  vtkAlgorithmOutput *
  Original() override
  {
    return m_Connections[0].Output();
  }

  vtkAlgorithmOutput *
  Median() override
  {
    return m_Connections[1].Output();
  }

  vtkAlgorithmOutput *
  Difference() override
  {
    return m_Connections[2].Output();
  }

  unsigned int
  Dimension() const override
  {
    return m_Dimension;
  }

  std::array<int, 3>
  Size() const override
  {
    const auto size = m_Image->GetLargestPossibleRegion().GetSize();
    return { static_cast<int>(size[0]), static_cast<int>(size[1]), static_cast<int>(size[2]) };
  }

  std::array<double, 3>
  Spacing() const override
  {
    const auto spacing = m_Image->GetSpacing();
    return { spacing[0], spacing[1], spacing[2] };
  }

  std::array<double, 3>
  Center() const override
  {
    const auto                      size = Size();
    itk::ContinuousIndex<double, 3> index;
    for (unsigned int axis = 0; axis < 3; ++axis)
    {
      index[axis] = (size[axis] - 1) / 2.0;
    }
    itk::Point<double, 3> point;
    m_Image->TransformContinuousIndexToPhysicalPoint(index, point);
    return { point[0], point[1], point[2] };
  }

  std::array<double, 3>
  AxisDirection(unsigned int axis) const override
  {
    const auto & direction = m_Image->GetDirection();
    return { direction(0, axis), direction(1, axis), direction(2, axis) };
  }

private:
  /** Takes a filter's output from it, so that VTK never makes ITK filter again. */
  void
  Keep(unsigned int number, typename ImageType::Pointer image)
  {
    image->DisconnectPipeline();
    m_Connections[number].Set(image);
  }

  unsigned int                         m_Dimension;
  typename ImageType::Pointer          m_Image;
  std::array<Connection<ImageType>, 3> m_Connections;
};

} // namespace

std::unique_ptr<ImagePipeline>
ImagePipeline::Read(const std::string & path)
{
  const auto imageIO = OpenImage(path);
  if (imageIO->GetNumberOfComponents() != 1)
  {
    throw UserError("'" + path + "' has pixels with " + std::to_string(imageIO->GetNumberOfComponents()) +
                    " components; the viewer shows scalar pixels only");
  }
  if (imageIO->GetNumberOfDimensions() != 2 && imageIO->GetNumberOfDimensions() != 3)
  {
    throw UserError("'" + path + "' has " + std::to_string(imageIO->GetNumberOfDimensions()) +
                    " dimensions; the viewer shows images of 2 and 3");
  }
  if (imageIO->GetComponentSize() <= 2 || imageIO->GetComponentType() == itk::IOComponentEnum::FLOAT)
  {
    return std::make_unique<PipelineOf<float>>(imageIO);
  }
  return std::make_unique<PipelineOf<double>>(imageIO);
}
