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
#include "ImageFile.h"

#include "FileLength.h"
#include "Interruption.h"
#include "Options.h"
#include "Terminal.h"

#include "itkImageIOFactory.h"

// Registers the image formats this program is built with.
#include "itkImageFileReader.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include <unistd.h>

namespace
{

[[noreturn]] void
Refuse(const std::string & path, const std::string & reason)
{
  throw UserError("cannot read '" + path + "': " + reason);
}

/** Whether an image library's text tells of a damaged file. Some libraries comment on harmless matters too. */
bool
TellsOfDamage(std::string text)
{
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  for (const char * const sign : { "not read completely",
                                   "incomplete",
                                   "truncat",
                                   "premature",
                                   "unexpected end",
                                   "corrupt",
                                   "damaged",
                                   "error",
                                   "fail",
                                   "can not read",
                                   "cannot read" })
  {
    if (text.find(sign) != std::string::npos)
    {
      return true;
    }
  }
  return false;
}

itk::ImageIORegion
WholeRegion(const itk::ImageIOBase & imageIO)
{
  itk::ImageIORegion region(imageIO.GetNumberOfDimensions());
  for (unsigned int axis = 0; axis < imageIO.GetNumberOfDimensions(); ++axis)
  {
    region.SetIndex(axis, 0);
    region.SetSize(axis, imageIO.GetDimensions(axis));
  }
  return region;
}

/** Reads all pixels into a buffer that is filled already. \returns what was printed that is harmless */
std::string
ReadInto(itk::ImageIOBase & imageIO, void * buffer)
{
  const std::string path = imageIO.GetFileName();
  std::string       messages;
  try
  {
    const Interruption::Task task("reading '" + path + "'");
    const QuietScope         quiet;
    imageIO.SetIORegion(WholeRegion(imageIO));
    imageIO.Read(buffer);
    messages = quiet.Text();
  }
  catch (const itk::ExceptionObject & error)
  {
    Refuse(path, Description(error));
  }
  if (TellsOfDamage(messages))
  {
    Refuse(path, messages);
  }
  return messages;
}

void
CheckSize(const itk::ImageIOBase & imageIO, std::size_t bytes)
{
  if (static_cast<std::size_t>(imageIO.GetImageSizeInBytes()) != bytes)
  {
    Refuse(imageIO.GetFileName(),
           "its header promises " + std::to_string(imageIO.GetImageSizeInBytes()) + " bytes of pixels, not " +
             std::to_string(bytes));
  }
}

bool
IsSigned(itk::IOComponentEnum type)
{
  switch (type)
  {
    case itk::IOComponentEnum::CHAR:
    case itk::IOComponentEnum::SHORT:
    case itk::IOComponentEnum::INT:
    case itk::IOComponentEnum::LONG:
    case itk::IOComponentEnum::LONGLONG:
      return true;
    default:
      return false;
  }
}

bool
IsFloat(itk::IOComponentEnum type)
{
  return type == itk::IOComponentEnum::FLOAT || type == itk::IOComponentEnum::DOUBLE;
}

/** A number that other bytes are most unlikely to have. */
std::uint64_t
Checksum(const unsigned char * bytes, std::size_t count)
{
  std::uint64_t sum = count;
  for (std::size_t i = 0; i < count; i += sizeof(std::uint64_t))
  {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min(sizeof(word), count - i));
    // The multiplier of Fowler, Noll and Vo, and a shift that brings the high bits down.
    sum = (sum ^ word) * 0x100000001B3ULL;
    sum ^= sum >> 29;
  }
  return sum;
}

bool
IsNamed(const itk::ImageIOBase & imageIO, const char * name)
{
  return std::strcmp(imageIO.GetNameOfClass(), name) == 0;
}

} // namespace

itk::ImageIOBase::Pointer
OpenImage(const std::string & path)
{
  std::error_code error;
  if (!std::filesystem::exists(path, error))
  {
    Refuse(path, "there is no such file");
  }
  // Only files: some formats take a directory as an image, and ITK reads one as text.
  if (!std::filesystem::is_regular_file(path, error))
  {
    Refuse(path, "it is not an ordinary file");
  }
  if (access(path.c_str(), R_OK) != 0)
  {
    Refuse(path, std::strerror(errno));
  }
  // Before any reader sees the file: some crash on what they do not expect.
  const std::string reason = WhyIncomplete(path);
  if (!reason.empty())
  {
    Refuse(path, reason);
  }
  const Interruption::Task task("reading '" + path + "'");
  const QuietScope         quiet;
  try
  {
    const itk::ImageIOBase::Pointer imageIO =
      itk::ImageIOFactory::CreateImageIO(path.c_str(), itk::ImageIOFactory::IOFileModeEnum::ReadMode);
    if (imageIO.IsNull())
    {
      Refuse(path, "it is not an image of a known format");
    }
    imageIO->SetFileName(path);
    imageIO->ReadImageInformation();
    if (TellsOfDamage(quiet.Text()))
    {
      Refuse(path, quiet.Text());
    }
    return imageIO;
  }
  catch (const itk::ExceptionObject & exception)
  {
    Refuse(path, Description(exception));
  }
}

std::string
ReadPixels(itk::ImageIOBase & imageIO, void * buffer, std::size_t bytes)
{
  CheckSize(imageIO, bytes);
  // Neither is a value that many images hold.
  constexpr unsigned char firstFill = 0xB7;
  constexpr unsigned char secondFill = 0x49;
  auto * const            begin = static_cast<unsigned char *>(buffer);
  auto * const            end = begin + bytes;
  const std::size_t       pixelBytes = imageIO.GetComponentSize();

  std::memset(buffer, firstFill, bytes);
  const std::string messages = ReadInto(imageIO, buffer);

  // NIfTI's reader sets to 0 what it could not read, JPEG's continues what it has, and BMP's repeats a row.
  const bool isFilledUp =
    IsNamed(imageIO, "NiftiImageIO") || IsNamed(imageIO, "JPEGImageIO") || IsNamed(imageIO, "BMPImageIO");
  // A file may end within a pixel, but then none after it was read, or it is the last.
  const bool lastIsWhole = bytes < pixelBytes || std::find(end - pixelBytes, end, firstFill) == end;
  bool       isDoubtful = !lastIsWhole || isFilledUp;
  for (const unsigned char * pixel = begin; pixel != end && !isDoubtful; pixel += pixelBytes)
  {
    isDoubtful = *pixel == firstFill &&
                 std::all_of(pixel, pixel + pixelBytes, [](unsigned char byte) { return byte == firstFill; });
  }
  if (isDoubtful)
  {
    const auto          firstCount = std::count(begin, end, firstFill);
    const std::uint64_t firstSum = isFilledUp ? Checksum(begin, bytes) : 0;
    std::memset(buffer, secondFill, bytes);
    // A series opens its files each time that it is read.
    const bool isSeries = std::filesystem::is_directory(imageIO.GetFileName());
    ReadInto(isSeries ? imageIO : *OpenImage(imageIO.GetFileName()), buffer);
    const auto secondCount = std::count(begin, end, firstFill);
    if (firstCount != secondCount)
    {
      Refuse(imageIO.GetFileName(),
             "it does not hold " + std::to_string(std::abs(firstCount - secondCount)) + " of " + std::to_string(bytes) +
               " bytes of its pixels");
    }
    if (isFilledUp && firstSum != Checksum(begin, bytes))
    {
      Refuse(imageIO.GetFileName(), "it was not the same when it was read a second time");
    }
  }
  return messages;
}

bool
HaveSamePixels(const itk::ImageIOBase & one, const itk::ImageIOBase & other)
{
  return one.GetNumberOfComponents() == other.GetNumberOfComponents() &&
         one.GetComponentSize() == other.GetComponentSize() &&
         IsSigned(one.GetComponentType()) == IsSigned(other.GetComponentType()) &&
         IsFloat(one.GetComponentType()) == IsFloat(other.GetComponentType());
}

itk::ImageIOBase::Pointer
CopyHeader(const itk::ImageIOBase & imageIO)
{
  const itk::LightObject::Pointer another = imageIO.CreateAnother();
  const itk::ImageIOBase::Pointer copy = dynamic_cast<itk::ImageIOBase *>(another.GetPointer());
  copy->SetNumberOfDimensions(imageIO.GetNumberOfDimensions());
  for (unsigned int axis = 0; axis < imageIO.GetNumberOfDimensions(); ++axis)
  {
    copy->SetDimensions(axis, imageIO.GetDimensions(axis));
    copy->SetSpacing(axis, imageIO.GetSpacing(axis));
    copy->SetOrigin(axis, imageIO.GetOrigin(axis));
    copy->SetDirection(axis, imageIO.GetDirection(axis));
  }
  copy->SetPixelType(imageIO.GetPixelType());
  copy->SetComponentType(imageIO.GetComponentType());
  copy->SetNumberOfComponents(imageIO.GetNumberOfComponents());
  return copy;
}

void
ComparePixels(itk::ImageIOBase & imageIO, const void * expected, std::size_t bytes)
{
  if (IsNamed(imageIO, "JPEGImageIO"))
  {
    std::vector<unsigned char> near(bytes);
    ReadPixels(imageIO, near.data(), bytes);
    return;
  }
  CheckSize(imageIO, bytes);
  // What is not read cannot equal what is expected.
  std::vector<unsigned char> actual(bytes);
  const auto *               first = static_cast<const unsigned char *>(expected);
  std::transform(
    first, first + bytes, actual.begin(), [](unsigned char byte) { return static_cast<unsigned char>(~byte); });
  ReadInto(imageIO, actual.data());
  if (std::memcmp(actual.data(), expected, bytes) != 0)
  {
    throw UserError("what was written is not what is read back");
  }
}

std::string
LostGeometry(const itk::ImageIOBase & given, const itk::ImageIOBase & written)
{
  const bool isNifti = IsNamed(written, "NiftiImageIO");
  if (!isNifti && !IsNamed(written, "MetaImageIO") && !IsNamed(written, "NrrdImageIO") &&
      !IsNamed(written, "HDF5ImageIO"))
  {
    return "";
  }
  // NIfTI has numbers of 32 bits, turns as quaternions that are least exact at half a turn, and no place for the origin
  // of a fourth axis.
  const double       tolerance = isNifti ? 1e-5 : 1e-9;
  const double       turnTolerance = isNifti ? 2e-3 : 1e-9;
  const unsigned int axes = std::min(
    { given.GetNumberOfDimensions(), written.GetNumberOfDimensions(), isNifti ? 3U : given.GetNumberOfDimensions() });
  const auto differ = [](double one, double other, double allowed) { return !(std::abs(one - other) <= allowed); };
  double     largest = 0;
  for (unsigned int axis = 0; axis < axes; ++axis)
  {
    const double extent = given.GetSpacing(axis) * static_cast<double>(given.GetDimensions(axis));
    largest = std::max({ largest, std::abs(given.GetOrigin(axis)), std::abs(extent) });
  }
  for (unsigned int axis = 0; axis < axes; ++axis)
  {
    if (given.GetDimensions(axis) != written.GetDimensions(axis))
    {
      return "size";
    }
    if (differ(given.GetSpacing(axis), written.GetSpacing(axis), tolerance * std::abs(given.GetSpacing(axis))))
    {
      return "spacing";
    }
    if (differ(given.GetOrigin(axis), written.GetOrigin(axis), tolerance * largest))
    {
      return "origin";
    }
    const std::vector<double> givenDirection = given.GetDirection(axis);
    const std::vector<double> writtenDirection = written.GetDirection(axis);
    for (unsigned int other = 0; other < axes; ++other)
    {
      if (differ(givenDirection[other], writtenDirection[other], turnTolerance))
      {
        return "direction";
      }
    }
  }
  return "";
}

itk::ImageIOBase::SizeType
NumberOfPixels(const itk::ImageIOBase & imageIO)
{
  itk::ImageIOBase::SizeType count = 1;
  for (unsigned int axis = 0; axis < imageIO.GetNumberOfDimensions(); ++axis)
  {
    count *= imageIO.GetDimensions(axis);
  }
  return count;
}

std::vector<double>
GetSpacing(const itk::ImageIOBase & imageIO)
{
  std::vector<double> spacing;
  for (unsigned int axis = 0; axis < imageIO.GetNumberOfDimensions(); ++axis)
  {
    spacing.push_back(std::abs(imageIO.GetSpacing(axis)));
  }
  return spacing;
}
