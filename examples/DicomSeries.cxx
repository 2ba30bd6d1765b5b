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
#include "DicomSeries.h"

#include "DicomFolder.h"
#include "DicomStack.h"
#include "Interruption.h"
#include "Options.h"
#include "Terminal.h"

#include "itkGDCMImageIO.h"

#include <gdcmTrace.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>

namespace
{

[[noreturn]] void
Refuse(const std::string & path, const std::string & reason)
{
  throw UserError("cannot read '" + path + "': " + reason);
}

/** GDCM remarks on much that is harmless, for every slice. */
void
SilenceRemarks()
{
  gdcm::Trace::DebugOff();
  gdcm::Trace::WarningOff();
}

itk::GDCMImageIO::Pointer
OpenSlice(const std::string & path)
{
  const Interruption::Task task("reading '" + path + "'");
  const auto               slice = itk::GDCMImageIO::New();
  slice->SetFileName(path);
  try
  {
    slice->ReadImageInformation();
  }
  catch (const itk::ExceptionObject & error)
  {
    Refuse(path, "it has no pixels that can be read (" + Description(error) + ")");
  }
  return slice;
}

template <typename TFrom>
void
ConvertFrom(const void * from, double * to, std::size_t count)
{
  const auto * const values = static_cast<const TFrom *>(from);
  std::copy(values, values + count, to);
}

/** \class DicomSeriesImageIO
 * A series of slices in the place of an image file. It only reads. */
class DicomSeriesImageIO : public itk::ImageIOBase
{
public:
  using Self = DicomSeriesImageIO;
  using Superclass = itk::ImageIOBase;
  using Pointer = itk::SmartPointer<Self>;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(DicomSeriesImageIO);
#else
  itkTypeMacro(DicomSeriesImageIO, itk::ImageIOBase);
#endif

  /** \throws UserError */
  void
  Open(const std::string & folder, std::vector<DicomHeader> headers);

  const std::vector<DicomSlice> &
  GetSlices() const
  {
    return m_Slices;
  }

  bool
  CanReadFile(const char *) override
  {
    return false;
  }
  /** Open() has it. */
  void
  ReadImageInformation() override
  {}
  void
  Read(void * buffer) override;
  bool
  CanWriteFile(const char *) override
  {
    return false;
  }
  void
  WriteImageInformation() override
  {
    itkExceptionMacro("a series of slices is only read");
  }
  void
  Write(const void *) override
  {
    itkExceptionMacro("a series of slices is only read");
  }

private:
  std::vector<DicomSlice> m_Slices;
};

void
DicomSeriesImageIO::Open(const std::string & folder, std::vector<DicomHeader> headers)
{
  const double distance = OrderSlices(headers);
  this->SetFileName(folder);
  itk::GDCMImageIO::Pointer first;
  for (const DicomHeader & header : headers)
  {
    const itk::GDCMImageIO::Pointer slice = OpenSlice(header.path);
    m_Slices.push_back({ header, slice->GetRescaleSlope(), slice->GetRescaleIntercept() });
    if (first.IsNull())
    {
      first = slice;
      this->SetNumberOfDimensions(3);
      this->SetPixelType(slice->GetPixelType());
      this->SetComponentType(slice->GetComponentType());
      this->SetNumberOfComponents(slice->GetNumberOfComponents());
      for (unsigned int axis = 0; axis < 3; ++axis)
      {
        this->SetDimensions(axis, axis < 2 ? slice->GetDimensions(axis) : headers.size());
        this->SetSpacing(axis, axis < 2 || headers.size() == 1 ? slice->GetSpacing(axis) : distance);
        this->SetOrigin(axis, slice->GetOrigin(axis));
        this->SetDirection(axis, slice->GetDirection(axis));
      }
    }
    if (slice->GetNumberOfComponents() != 1)
    {
      Refuse(header.path,
             "its pixels have " + std::to_string(slice->GetNumberOfComponents()) +
               " components; series of one are taken");
    }
    for (unsigned int axis = 0; axis < 2; ++axis)
    {
      if (slice->GetDimensions(axis) != first->GetDimensions(axis))
      {
        Refuse(header.path, "its pixels are of another size than its header says");
      }
      constexpr double tolerance = 1e-4;
      if (!(std::abs(slice->GetSpacing(axis) - first->GetSpacing(axis)) <= tolerance * first->GetSpacing(axis)))
      {
        std::ostringstream text;
        text << "its slices differ in spacing: '" << headers.front().path << "' has " << first->GetSpacing(0) << "x"
             << first->GetSpacing(1) << " mm, '" << header.path << "' has " << slice->GetSpacing(0) << "x"
             << slice->GetSpacing(1) << " mm";
        Refuse(folder, text.str());
      }
    }
    if (slice->GetComponentType() != this->GetComponentType())
    {
      // The values after rescaling: of at most 32 bits before it, so a double holds each of them.
      this->SetComponentType(itk::IOComponentEnum::DOUBLE);
    }
  }
}

void
DicomSeriesImageIO::Read(void * buffer)
{
  const std::size_t pixels = this->GetDimensions(0) * this->GetDimensions(1);
  auto *            target = static_cast<char *>(buffer);
  std::vector<char> own;
  for (const DicomSlice & known : m_Slices)
  {
    const itk::GDCMImageIO::Pointer slice = OpenSlice(known.header.path);
    if (static_cast<std::size_t>(slice->GetImageSizeInPixels()) != pixels)
    {
      Refuse(known.header.path, "it was not the same when it was read a second time");
    }
    itk::ImageIORegion region(3);
    for (unsigned int axis = 0; axis < 3; ++axis)
    {
      region.SetSize(axis, slice->GetDimensions(axis));
    }
    slice->SetIORegion(region);
    const bool isDirect = slice->GetComponentType() == this->GetComponentType();
    own.resize(isDirect ? 0 : static_cast<std::size_t>(slice->GetImageSizeInBytes()));
    const Interruption::Task task("reading '" + known.header.path + "'");
    try
    {
      slice->Read(isDirect ? target : own.data());
    }
    catch (const itk::ExceptionObject & error)
    {
      Refuse(known.header.path, "its pixels cannot be read (" + Description(error) + ")");
    }
    if (!isDirect)
    {
      ConvertToDouble(slice->GetComponentType(), own.data(), reinterpret_cast<double *>(target), pixels);
    }
    target += pixels * this->GetComponentSize();
  }
}

} // namespace

itk::ImageIOBase::Pointer
OpenDicomSeries(const std::string & folder, const std::string & choice)
{
  const QuietScope quiet;
  SilenceRemarks();
  const std::vector<DicomFiles> all = FindDicomFiles(folder);
  const auto                    imageIO = DicomSeriesImageIO::New();
  imageIO->Open(folder, ChooseDicomFiles(all, folder, choice).slices);
  return imageIO.GetPointer();
}

void
ListDicomSeries(const std::string & folder, std::ostream & stream)
{
  std::vector<DicomFiles> all;
  {
    const QuietScope quiet;
    SilenceRemarks();
    all = FindDicomFiles(folder);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
  {
    stream << i + 1 << "  " << Describe(all[i]) << '\n';
  }
}

void
ConvertToDouble(itk::IOComponentEnum type, const void * from, double * to, std::size_t count)
{
  using ComponentEnum = itk::IOComponentEnum;
  switch (type)
  {
    case ComponentEnum::CHAR:
      return ConvertFrom<signed char>(from, to, count);
    case ComponentEnum::UCHAR:
      return ConvertFrom<unsigned char>(from, to, count);
    case ComponentEnum::SHORT:
      return ConvertFrom<short>(from, to, count);
    case ComponentEnum::USHORT:
      return ConvertFrom<unsigned short>(from, to, count);
    case ComponentEnum::INT:
      return ConvertFrom<int>(from, to, count);
    case ComponentEnum::UINT:
      return ConvertFrom<unsigned int>(from, to, count);
    case ComponentEnum::FLOAT:
      return ConvertFrom<float>(from, to, count);
    default:
      return ConvertFrom<double>(from, to, count);
  }
}

std::vector<DicomSlice>
SlicesOf(const itk::ImageIOBase & imageIO)
{
  const auto * const series = dynamic_cast<const DicomSeriesImageIO *>(&imageIO);
  return series == nullptr ? std::vector<DicomSlice>() : series->GetSlices();
}
