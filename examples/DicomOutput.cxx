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
#include "DicomOutput.h"

#include "DicomDerivation.h"
#include "ImageFile.h"
#include "Options.h"
#include "TemporaryFolder.h"
#include "Terminal.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <unistd.h>

namespace fs = std::filesystem;

namespace
{

[[noreturn]] void
Refuse(const std::string & path, const std::string & reason)
{
  throw UserError("cannot write '" + path + "': " + reason);
}

/** The stored value of a pixel, as little-endian bytes. \throws UserError when there is none */
void
Store(double value, const DicomSlice & slice, char * target)
{
  const unsigned int bits = slice.header.bitsStored;
  const double       stored = std::round((value - slice.intercept) / slice.slope);
  const double       least = slice.header.isSigned ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0;
  const double       most = least + std::ldexp(1.0, static_cast<int>(bits)) - 1;
  if (!(stored >= least && stored <= most))
  {
    throw UserError("a value of " + std::to_string(value) + " cannot be stored in " + std::to_string(bits) + " bits");
  }
  // Bits above those that are stored repeat the sign, so that any reader gets the same.
  const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(stored));
  for (unsigned int byte = 0; byte < slice.header.bitsAllocated / 8; ++byte)
  {
    target[byte] = static_cast<char>(number >> (8 * byte) & 0xFF);
  }
}

template <typename TPixel>
std::string
StoreAll(const void * pixels, std::size_t begin, std::size_t count, const DicomSlice & slice)
{
  const std::size_t    pixelBytes = slice.header.bitsAllocated / 8;
  std::string          stored(count * pixelBytes, '\0');
  const TPixel * const first = static_cast<const TPixel *>(pixels) + begin;
  for (std::size_t i = 0; i < count; ++i)
  {
    Store(static_cast<double>(first[i]), slice, &stored[i * pixelBytes]);
  }
  return stored;
}

/** The stored bytes of one slice. */
std::string
StoreAll(itk::IOComponentEnum type, const void * pixels, std::size_t begin, std::size_t count, const DicomSlice & slice)
{
  using ComponentEnum = itk::IOComponentEnum;
  switch (type)
  {
    case ComponentEnum::CHAR:
      return StoreAll<signed char>(pixels, begin, count, slice);
    case ComponentEnum::UCHAR:
      return StoreAll<unsigned char>(pixels, begin, count, slice);
    case ComponentEnum::SHORT:
      return StoreAll<short>(pixels, begin, count, slice);
    case ComponentEnum::USHORT:
      return StoreAll<unsigned short>(pixels, begin, count, slice);
    case ComponentEnum::INT:
      return StoreAll<int>(pixels, begin, count, slice);
    case ComponentEnum::UINT:
      return StoreAll<unsigned int>(pixels, begin, count, slice);
    case ComponentEnum::FLOAT:
      return StoreAll<float>(pixels, begin, count, slice);
    case ComponentEnum::DOUBLE:
      return StoreAll<double>(pixels, begin, count, slice);
    default:
      throw UserError("pixels of type " + itk::ImageIOBase::GetComponentTypeAsString(type) +
                      " cannot be stored in a series");
  }
}

/** \throws UserError when the series that was written is not at the place of the one that was read. */
void
CheckGeometry(const itk::ImageIOBase & given, const itk::ImageIOBase & written)
{
  constexpr double tolerance = 1e-9;
  const auto       differ = [](double one, double other) {
    return !(std::abs(one - other) <= tolerance * std::max({ 1.0, std::abs(one), std::abs(other) }));
  };
  for (unsigned int axis = 0; axis < 3; ++axis)
  {
    bool differs = given.GetDimensions(axis) != written.GetDimensions(axis) ||
                   differ(given.GetSpacing(axis), written.GetSpacing(axis)) ||
                   differ(given.GetOrigin(axis), written.GetOrigin(axis));
    for (unsigned int other = 0; other < 3; ++other)
    {
      differs = differs || differ(given.GetDirection(axis)[other], written.GetDirection(axis)[other]);
    }
    if (differs)
    {
      throw UserError("the geometry of what was written is not what is read back");
    }
  }
}

/** Compares values of different types: some compressed slices promise a wider range than their header, and so than the
 * slices that are made of them. \throws UserError when one differs */
void
CompareValues(const itk::ImageIOBase & given, const void * pixels, itk::ImageIOBase & written)
{
  std::vector<char> actual(static_cast<std::size_t>(written.GetImageSizeInBytes()));
  ReadPixels(written, actual.data(), actual.size());
  const std::size_t   row = given.GetDimensions(0);
  const std::size_t   rows = given.GetDimensions(1) * given.GetDimensions(2);
  std::vector<double> values(row);
  std::vector<double> actualValues(row);
  for (std::size_t i = 0; i < rows; ++i)
  {
    const char * const first = static_cast<const char *>(pixels) + i * row * given.GetComponentSize();
    ConvertToDouble(given.GetComponentType(), first, values.data(), row);
    ConvertToDouble(
      written.GetComponentType(), actual.data() + i * row * written.GetComponentSize(), actualValues.data(), row);
    if (values != actualValues)
    {
      throw UserError("what was written is not what is read back");
    }
  }
}

} // namespace

DicomOutput::DicomOutput(const std::string & path, const itk::ImageIOBase & imageIO, DerivationNote note)
  : m_ImageIO(imageIO)
  , m_Slices(SlicesOf(imageIO))
  , m_Note(std::move(note))
{
  std::error_code error;
  if (fs::exists(path, error))
  {
    if (!fs::is_directory(path, error))
    {
      Refuse(path, "it exists and is not a folder");
    }
    // A link to a folder, and a path such as ".", are followed.
    m_Destination = fs::canonical(path, error);
    const bool isEmpty = !error && fs::is_empty(m_Destination, error);
    if (error)
    {
      Refuse(path, error.message());
    }
    if (!isEmpty)
    {
      Refuse(path, "the folder is not empty; a new series takes a folder of its own");
    }
  }
  else
  {
    const fs::path absolute = fs::absolute(path).lexically_normal();
    m_Destination = absolute.has_filename() ? absolute : absolute.parent_path();
  }
  const fs::path parent = m_Destination.parent_path();
  if (!fs::is_directory(parent, error))
  {
    Refuse(path, "there is no directory '" + parent.string() + "'");
  }
  if (access(parent.c_str(), W_OK | X_OK) != 0)
  {
    Refuse(path, "directory '" + parent.string() + "': " + std::strerror(errno));
  }
  const DicomSlice & first = m_Slices.front();
  for (const DicomSlice & slice : m_Slices)
  {
    const unsigned int bits = slice.header.bitsAllocated;
    if (bits != 8 && bits != 16 && bits != 32)
    {
      Refuse(path, "the pixels of '" + slice.header.path + "' take " + std::to_string(bits) + " bits, not 8, 16 or 32");
    }
    if (slice.slope == 0)
    {
      Refuse(path, "'" + slice.header.path + "' has a RescaleSlope of 0");
    }
    if ((slice.slope != first.slope || slice.intercept != first.intercept) && m_Note.slicesBefore > 0)
    {
      Refuse(path,
             "the slices '" + first.header.path + "' and '" + slice.header.path +
               "' differ in RescaleSlope or RescaleIntercept, so a value of one cannot be stored in the other; use "
               "--slice-wise, or write to a file such as .nrrd");
    }
  }
  ClearAbandonedFolders(parent);
}

void
DicomOutput::Write(const void * pixels, std::size_t bytes) const
{
  const std::string     path = m_Destination.string();
  const std::size_t     count = m_ImageIO.GetDimensions(0) * m_ImageIO.GetDimensions(1);
  const TemporaryFolder folder(m_Destination.parent_path());
  try
  {
    const QuietScope      quiet;
    const DicomDerivation derivation(m_Slices, m_Note);
    for (std::size_t i = 0; i < m_Slices.size(); ++i)
    {
      const std::string stored = StoreAll(m_ImageIO.GetComponentType(), pixels, i * count, count, m_Slices[i]);
      std::string       number = std::to_string(i + 1);
      number.insert(0, std::max<std::size_t>(4, std::to_string(m_Slices.size()).size()) - number.size(), '0');
      derivation.WriteSlice(i, stored, folder.Path() / ("slice" + number + ".dcm"));
    }
    folder.Synchronize();
    const itk::ImageIOBase::Pointer written = OpenDicomSeries(folder.Path().string(), "");
    CheckGeometry(m_ImageIO, *written);
    if (HaveSamePixels(m_ImageIO, *written))
    {
      ComparePixels(*written, pixels, bytes);
    }
    else
    {
      CompareValues(m_ImageIO, pixels, *written);
    }
  }
  catch (const std::exception & error)
  {
    const std::string reason = folder.WhyFull();
    if (!reason.empty())
    {
      Refuse(path, reason);
    }
    // The name of the temporary folder says nothing to the user.
    std::string       text = error.what();
    const std::string temporary = folder.Path().string();
    for (std::size_t at = text.find(temporary); at != std::string::npos; at = text.find(temporary))
    {
      text.replace(at, temporary.size(), path);
    }
    Refuse(path, text);
  }
  folder.MoveTo(m_Destination.filename());
}
