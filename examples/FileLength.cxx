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
#include "FileLength.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

#include <itk_zlib.h>

namespace fs = std::filesystem;

namespace
{

constexpr std::uint64_t Most = std::numeric_limits<std::uint64_t>::max();

/** a * b + c, or the largest number there is if that is larger. */
std::uint64_t
MultiplyAdd(std::uint64_t a, std::uint64_t b, std::uint64_t c)
{
  return b != 0 && a > (Most - c) / b ? Most : a * b + c;
}

bool
EndsWith(const std::string & text, const std::string & end)
{
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string
Ends(std::uint64_t size, std::uint64_t needed)
{
  return "the file ends after " + std::to_string(size) + " of " + std::to_string(needed) + " bytes";
}

/** Bytes of a file by position, as numbers of either byte order. */
class Bytes
{
public:
  explicit Bytes(const std::string & path)
    : m_Stream(path, std::ios::binary)
  {
    std::error_code error;
    m_Size = fs::file_size(path, error);
    if (error)
    {
      m_Size = 0;
    }
  }

  /** Bytes that were read already: the begin of a file of `size` bytes. */
  Bytes(std::vector<unsigned char> begin, std::uint64_t size)
    : m_Window(std::move(begin))
    , m_Size(size)
  {}

  std::uint64_t
  Size() const
  {
    return m_Size;
  }

  /** The byte at a position, or 0 beyond the end. */
  unsigned char
  At(std::uint64_t position)
  {
    if (position < m_Begin || position - m_Begin >= m_Window.size())
    {
      if (position >= m_Size || !m_Stream.is_open())
      {
        return 0;
      }
      constexpr std::size_t windowBytes = 1 << 16;
      m_Begin = position;
      m_Window.assign(static_cast<std::size_t>(std::min<std::uint64_t>(windowBytes, m_Size - position)), 0);
      m_Stream.clear();
      m_Stream.seekg(static_cast<std::streamoff>(position));
      m_Stream.read(reinterpret_cast<char *>(m_Window.data()), static_cast<std::streamsize>(m_Window.size()));
    }
    return m_Window[static_cast<std::size_t>(position - m_Begin)];
  }

  void
  SetBigEndian(bool bigEndian)
  {
    m_BigEndian = bigEndian;
  }

  std::uint64_t
  Number(std::uint64_t position, unsigned int bytes)
  {
    std::uint64_t value = 0;
    for (unsigned int i = 0; i < bytes; ++i)
    {
      const std::uint64_t byte = this->At(position + i);
      value = m_BigEndian ? (value << 8 | byte) : (value | byte << (8 * i));
    }
    return value;
  }

  bool
  Matches(std::uint64_t position, const char * text, std::size_t length)
  {
    for (std::size_t i = 0; i < length; ++i)
    {
      if (this->At(position + i) != static_cast<unsigned char>(text[i]))
      {
        return false;
      }
    }
    return true;
  }

private:
  std::ifstream              m_Stream;
  std::vector<unsigned char> m_Window;
  std::uint64_t              m_Begin{ 0 };
  std::uint64_t              m_Size{ 0 };
  bool                       m_BigEndian{ false };
};

/** What a file holds once it is unpacked, which it may not have to be. */
struct Content
{
  std::uint64_t              size{ 0 };
  std::vector<unsigned char> begin; ///< enough for a header
  std::string                error;
};

bool
IsGzip(Bytes & bytes)
{
  return bytes.Matches(0, "\x1f\x8b", 2);
}

/** Reads a file to its end: also of one that is long enough a part may not be readable. */
Content
ReadContent(const std::string & path)
{
  constexpr unsigned int     headerBytes = 1024;
  constexpr unsigned int     blockBytes = 1 << 18;
  Content                    content;
  std::vector<unsigned char> block(blockBytes);
  // Reads files that are not compressed as they are.
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr)
  {
    content.error = "it cannot be opened";
    return content;
  }
  gzbuffer(file, blockBytes);
  int count = 0;
  do
  {
    errno = 0;
    count = gzread(file, block.data(), blockBytes);
    if (count > 0)
    {
      const std::size_t kept = std::min<std::size_t>(headerBytes - content.begin.size(), count);
      content.begin.insert(content.begin.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(kept));
      content.size += static_cast<std::uint64_t>(count);
    }
  } while (count > 0);
  const int systemError = errno;
  int       error = Z_OK;
  gzerror(file, &error);
  if (count < 0 && error == Z_ERRNO)
  {
    content.error = std::strerror(systemError);
  }
  else if (error == Z_BUF_ERROR)
  {
    content.error = "its compressed data ends too early";
  }
  else if (error != Z_OK)
  {
    content.error = "its compressed data is damaged";
  }
  if (gzclose_r(file) == Z_BUF_ERROR && content.error.empty())
  {
    content.error = "its compressed data ends too early";
  }
  return content;
}

/** Of an image of NIfTI or Analyze: where its pixels begin and end in the file that holds them. */
struct NiftiExtent
{
  bool          isNifti{ false };
  bool          inOtherFile{ false };
  std::uint64_t end{ 0 };
};

NiftiExtent
ReadNiftiExtent(const Content & content)
{
  Bytes       bytes(content.begin, content.size);
  NiftiExtent extent;
  bool        second = false;
  for (const bool bigEndian : { false, true })
  {
    bytes.SetBigEndian(bigEndian);
    const std::uint64_t headerBytes = bytes.Number(0, 4);
    if (headerBytes == 348 || headerBytes == 540)
    {
      extent.isNifti = true;
      second = headerBytes == 540;
      break;
    }
  }
  if (!extent.isNifti)
  {
    return extent;
  }
  const std::uint64_t type = second ? bytes.Number(12, 2) : bytes.Number(70, 2);
  const std::uint64_t bits = second ? bytes.Number(14, 2) : bytes.Number(72, 2);
  // The reader goes by the type, and takes the bits only on trust.
  std::uint64_t pixelBytes = bits / 8;
  switch (type)
  {
    case 2:   // unsigned char
    case 256: // signed char
      pixelBytes = 1;
      break;
    case 4:   // short
    case 512: // unsigned short
      pixelBytes = 2;
      break;
    case 8:   // int
    case 16:  // float
    case 768: // unsigned int
      pixelBytes = 4;
      break;
    case 64:   // double
    case 1024: // 64-bit integer
    case 1280: // unsigned 64-bit integer
      pixelBytes = 8;
      break;
    default:
      break;
  }
  const auto dimension = [&](unsigned int i) {
    return second ? static_cast<std::int64_t>(bytes.Number(16 + 8 * i, 8))
                  : static_cast<std::int16_t>(bytes.Number(40 + 2 * i, 2));
  };
  std::uint64_t count = 1;
  for (std::int64_t axis = 1; axis <= std::min<std::int64_t>(dimension(0), 7); ++axis)
  {
    count = MultiplyAdd(count, static_cast<std::uint64_t>(std::max<std::int64_t>(dimension(axis), 1)), 0);
  }
  std::uint64_t offset = 0;
  if (second)
  {
    offset = bytes.Number(168, 8);
    extent.inOtherFile = bytes.Matches(4, "ni2", 3);
  }
  else
  {
    const auto number = static_cast<std::uint32_t>(bytes.Number(108, 4));
    float      value = 0;
    std::memcpy(&value, &number, sizeof(value));
    // Below 2^63 every such float is a whole number of this type.
    offset = value >= 0 && value < 9e18F ? static_cast<std::uint64_t>(value) : 0;
    extent.inOtherFile = !bytes.Matches(344, "n+1", 3);
  }
  if (!extent.inOtherFile)
  {
    offset = std::max<std::uint64_t>(offset, second ? 540 : 348);
  }
  extent.end = MultiplyAdd(count, pixelBytes, offset);
  return extent;
}

std::string
WhyNiftiIncomplete(const std::string & path, const Content & content)
{
  std::string headerPath = path;
  std::string stem = path;
  for (const std::string extension : { ".img.gz", ".hdr.gz", ".img", ".hdr" })
  {
    if (EndsWith(path, extension))
    {
      stem = path.substr(0, path.size() - extension.size());
      if (extension[1] == 'i')
      {
        headerPath = fs::exists(stem + ".hdr") ? stem + ".hdr" : stem + ".hdr.gz";
      }
      break;
    }
  }
  const Content header = headerPath == path ? content : ReadContent(headerPath);
  if (!header.error.empty())
  {
    return "of its header '" + headerPath + "' " + header.error;
  }
  const NiftiExtent extent = ReadNiftiExtent(header);
  if (!extent.isNifti)
  {
    return "";
  }
  if (!extent.inOtherFile)
  {
    return header.size < extent.end ? Ends(header.size, extent.end) : "";
  }
  const std::string dataPath = fs::exists(stem + ".img") ? stem + ".img" : stem + ".img.gz";
  if (!fs::exists(dataPath))
  {
    return "there is no '" + dataPath + "' with its pixels";
  }
  const Content data = dataPath == path ? content : ReadContent(dataPath);
  if (!data.error.empty())
  {
    return "of '" + dataPath + "' " + data.error;
  }
  return data.size < extent.end ? "in '" + dataPath + "' " + Ends(data.size, extent.end) : "";
}

std::string
WhyTiffIncomplete(Bytes & bytes)
{
  bytes.SetBigEndian(bytes.At(0) == 'M');
  const bool          big = bytes.Number(2, 2) == 43;
  const unsigned int  offsetBytes = big ? 8 : 4;
  const unsigned int  countBytes = big ? 8 : 2;
  const std::uint64_t entryBytes = big ? 20 : 12;
  // Strips or tiles: where each begins, and how long it is.
  struct Table
  {
    std::uint64_t position{ 0 };
    std::uint64_t count{ 0 };
    unsigned int  bytes{ 0 };
  };
  std::uint64_t directory = bytes.Number(big ? 8 : 4, offsetBytes);
  for (std::uint64_t visited = 0; directory != 0; ++visited)
  {
    // Every directory takes room, so there are no more of them unless they go round in a circle.
    if (visited > bytes.Size() / entryBytes)
    {
      return "its directories go round in a circle";
    }
    const std::uint64_t entries = bytes.Number(directory, countBytes);
    const std::uint64_t next = MultiplyAdd(entries, entryBytes, directory + countBytes);
    if (directory >= bytes.Size() || next > bytes.Size() - std::min<std::uint64_t>(bytes.Size(), offsetBytes))
    {
      return "a directory lies beyond the end of the file";
    }
    Table begins;
    Table lengths;
    for (std::uint64_t i = 0; i < entries; ++i)
    {
      const std::uint64_t     entry = directory + countBytes + i * entryBytes;
      const std::uint64_t     tag = bytes.Number(entry, 2);
      const std::uint64_t     type = bytes.Number(entry + 2, 2);
      const std::uint64_t     count = bytes.Number(entry + 4, offsetBytes);
      constexpr unsigned char typeBytes[] = { 0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8 };
      const unsigned int      valueBytes = type < sizeof(typeBytes) ? typeBytes[type] : 0;
      const std::uint64_t     length = MultiplyAdd(count, valueBytes, 0);
      std::uint64_t           position = entry + 4 + offsetBytes;
      if (length > offsetBytes)
      {
        position = bytes.Number(position, offsetBytes);
      }
      if (length > bytes.Size() || position > bytes.Size() - length)
      {
        return "the value of tag " + std::to_string(tag) + " lies beyond the end of the file";
      }
      if (tag == 273 || tag == 324)
      {
        begins = { position, count, valueBytes };
      }
      else if (tag == 279 || tag == 325)
      {
        lengths = { position, count, valueBytes };
      }
    }
    for (std::uint64_t i = 0; i < std::min(begins.count, lengths.count); ++i)
    {
      const std::uint64_t begin = bytes.Number(begins.position + i * begins.bytes, begins.bytes);
      const std::uint64_t length = bytes.Number(lengths.position + i * lengths.bytes, lengths.bytes);
      if (length > bytes.Size() || begin > bytes.Size() - length)
      {
        return Ends(bytes.Size(), MultiplyAdd(1, begin, length));
      }
    }
    directory = bytes.Number(next, offsetBytes);
  }
  return "";
}

std::string
WhyJpegIncomplete(Bytes & bytes)
{
  constexpr unsigned char end = 0xD9;
  bytes.SetBigEndian(true);
  std::uint64_t position = 2;
  while (position + 1 < bytes.Size())
  {
    const unsigned char marker = bytes.At(position + 1);
    if (bytes.At(position) != 0xFF || marker == 0xFF || marker == 0x00 || (marker >= 0xD0 && marker <= 0xD7))
    {
      // Data of a scan: fill bytes, stuffed bytes and restarts are no markers of their own.
      ++position;
    }
    else if (marker == end)
    {
      return "";
    }
    else
    {
      position += 2 + bytes.Number(position + 2, 2);
    }
  }
  return "the file ends before the end of its image";
}

std::string
WhyBmpIncomplete(Bytes & bytes)
{
  const std::uint64_t fileBytes = bytes.Number(2, 4);
  const std::uint64_t offset = bytes.Number(10, 4);
  const bool          isOld = bytes.Number(14, 4) == 12;
  const auto          width = isOld ? bytes.Number(18, 2) : bytes.Number(18, 4);
  const auto          height =
    isOld ? static_cast<std::int32_t>(bytes.Number(20, 2)) : static_cast<std::int32_t>(bytes.Number(22, 4));
  const std::uint64_t bits = isOld ? bytes.Number(24, 2) : bytes.Number(28, 2);
  const std::uint64_t compression = isOld ? 0 : bytes.Number(30, 4);
  const std::uint64_t rowBytes = MultiplyAdd(width, bits, 31) / 32 * 4;
  const std::uint64_t rows = static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(height)));
  // The pixels of run lengths take as many bytes as they take.
  const bool          isPacked = compression == 1 || compression == 2;
  const std::uint64_t needed = isPacked ? fileBytes : MultiplyAdd(rowBytes, rows, offset);
  return bytes.Size() < needed ? Ends(bytes.Size(), needed) : "";
}

// What follows walks through the data elements of a DICOM file. GDCM takes a file that ends too early without a word.

constexpr std::uint64_t DicomUndefinedLength = 0xFFFFFFFF;
constexpr std::uint64_t DicomItem = 0xFFFEE000;
constexpr std::uint64_t DicomItemEnd = 0xFFFEE00D;
constexpr std::uint64_t DicomSequenceEnd = 0xFFFEE0DD;
/** Of a walk: the file ends before, or it holds what this walk does not know and leaves to the reader. */
constexpr std::uint64_t DicomEndsEarly = Most;
constexpr std::uint64_t DicomIsUnknown = Most - 1;

struct DicomElement
{
  std::uint64_t tag{ 0 };
  std::string   type; ///< its value representation, two letters; empty where the file does not say it
  std::uint64_t value{ 0 };
  std::uint64_t length{ 0 };

  std::uint64_t
  End() const
  {
    return MultiplyAdd(1, value, length);
  }
};

/** Reads the head of the data element at a position. \returns whether it is one */
bool
ReadDicomElement(Bytes & bytes, std::uint64_t position, bool isExplicit, DicomElement & element)
{
  element.tag = bytes.Number(position, 2) << 16 | bytes.Number(position + 2, 2);
  element.type.clear();
  constexpr std::uint64_t delimiters = 0xFFFE;
  if (!isExplicit || element.tag >> 16 == delimiters)
  {
    element.length = bytes.Number(position + 4, 4);
    element.value = position + 8;
    return true;
  }
  element.type = { static_cast<char>(bytes.At(position + 4)), static_cast<char>(bytes.At(position + 5)) };
  for (const char letter : element.type)
  {
    if (letter < 'A' || letter > 'Z')
    {
      return false;
    }
  }
  const std::string longTypes = "OB OD OF OL OV OW SQ SV UC UN UR UT UV";
  const bool        isLong = longTypes.find(element.type) != std::string::npos;
  element.length = isLong ? bytes.Number(position + 8, 4) : bytes.Number(position + 6, 2);
  element.value = position + (isLong ? 12 : 8);
  return true;
}

/** The position behind the delimiter `end` of the elements that begin at a position, or one of the two above. */
std::uint64_t
SkipDicomElements(Bytes & bytes, std::uint64_t position, bool isExplicit, std::uint64_t end, unsigned int depth = 0)
{
  constexpr unsigned int deepest = 64;
  while (position < bytes.Size() && bytes.Size() - position >= 8)
  {
    DicomElement element;
    if (depth > deepest || !ReadDicomElement(bytes, position, isExplicit, element))
    {
      return DicomIsUnknown;
    }
    if (element.tag == end)
    {
      return element.value;
    }
    if (element.length != DicomUndefinedLength)
    {
      position = element.End();
      continue;
    }
    // What is of unknown type is written without types inside.
    position = SkipDicomElements(bytes,
                                 element.value,
                                 isExplicit && element.type != "UN",
                                 element.tag == DicomItem ? DicomItemEnd : DicomSequenceEnd,
                                 depth + 1);
    if (position >= DicomIsUnknown)
    {
      return position;
    }
  }
  return DicomEndsEarly;
}

/** Where the data elements of a DICOM file begin: behind its mark, or at 0 in files of before there was a mark; the
 * largest number there is when it is no DICOM file. */
std::uint64_t
BeginOfDicom(Bytes & bytes)
{
  if (bytes.Matches(128, "DICM", 4))
  {
    return 132;
  }
  // The first element is one of group 8, or of group 2 with its length.
  const std::uint64_t group = bytes.Number(0, 2);
  const std::uint64_t element = bytes.Number(2, 2);
  if (group == 2 && element == 0 && bytes.Matches(4, "UL", 2))
  {
    return 0;
  }
  const bool hasType = bytes.Matches(4, "UL", 2) || bytes.Matches(4, "CS", 2) || bytes.Matches(4, "UI", 2) ||
                       bytes.Matches(4, "LO", 2) || bytes.Matches(4, "DA", 2);
  const bool hasLength = bytes.Number(4, 4) <= 64 && bytes.Number(8 + bytes.Number(4, 4), 2) == 8;
  return group == 8 && element < 0x20 && (hasType || hasLength) ? 0 : Most;
}

/** Reads a short text. */
std::string
ReadDicomText(Bytes & bytes, const DicomElement & element)
{
  std::string value;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(element.length, 64); ++i)
  {
    const char letter = static_cast<char>(bytes.At(element.value + i));
    value += letter == '\0' || letter == ' ' ? "" : std::string(1, letter);
  }
  return value;
}

/** How a DICOM file writes its data elements. */
struct DicomSyntax
{
  std::string uid;
  bool        isExplicit{ true }; ///< elements say their types
  bool        isNative{ true };   ///< pixels are not compressed
};

/** Reads the elements about the file itself, moves behind them, and sets the order of bytes of the others.
 * \returns why the file is incomplete, or nothing where it can be told already; no value where the others tell */
std::optional<std::string>
ReadDicomSyntax(Bytes & bytes, std::uint64_t & position, DicomSyntax & syntax)
{
  constexpr std::uint64_t transferSyntax = 0x00020010;
  // These elements are little endian with types, whatever the others are.
  bytes.SetBigEndian(false);
  while (position < bytes.Size() && bytes.Number(position, 2) == 2)
  {
    DicomElement element;
    if (!ReadDicomElement(bytes, position, true, element) || element.length == DicomUndefinedLength)
    {
      return "";
    }
    if (element.End() > bytes.Size())
    {
      return Ends(bytes.Size(), element.End());
    }
    syntax.uid = element.tag == transferSyntax ? ReadDicomText(bytes, element) : syntax.uid;
    position = element.End();
  }
  const bool isDeflated = syntax.uid == "1.2.840.10008.1.2.1.99";
  if (isDeflated)
  {
    return "";
  }
  const bool isBigEndian = syntax.uid == "1.2.840.10008.1.2.2";
  const bool isImplicit = syntax.uid == "1.2.840.10008.1.2" || syntax.uid == "1.2.840.113619.5.2";
  syntax.isNative = isImplicit || isBigEndian || syntax.uid == "1.2.840.10008.1.2.1" || syntax.uid.empty();
  syntax.isExplicit = syntax.uid.empty() ? bytes.At(position + 4) >= 'A' && bytes.At(position + 5) >= 'A' : !isImplicit;
  bytes.SetBigEndian(isBigEndian);
  return std::nullopt;
}

constexpr std::uint64_t DicomPixels = 0x7FE00010;

/** Moves behind an element. \returns what ReadDicomSyntax() does */
std::optional<std::string>
SkipDicomElement(Bytes & bytes, const DicomElement & element, bool isExplicit, std::uint64_t & position)
{
  if (element.length != DicomUndefinedLength)
  {
    position = element.End();
    return position > bytes.Size() ? std::optional(Ends(bytes.Size(), position)) : std::nullopt;
  }
  position = SkipDicomElements(bytes, element.value, isExplicit && element.type != "UN", DicomSequenceEnd);
  if (position == DicomIsUnknown)
  {
    return "";
  }
  if (position > bytes.Size())
  {
    return element.tag == DicomPixels ? "the file ends within its compressed pixels"
                                      : "the file ends within its header";
  }
  return std::nullopt;
}

/** What the data elements say of the pixels. */
class DicomPixelCount
{
public:
  void
  Take(Bytes & bytes, const DicomElement & element)
  {
    switch (element.tag)
    {
      case 0x00280002:
        m_Samples = bytes.Number(element.value, 2);
        break;
      case 0x00280008: // NumberOfFrames
        m_Frames =
          static_cast<std::uint64_t>(std::max(1L, std::strtol(ReadDicomText(bytes, element).c_str(), nullptr, 10)));
        break;
      case 0x00280010: // Rows
      case 0x00280011: // Columns
        m_Count *= bytes.Number(element.value, 2);
        break;
      case 0x00280100:
        m_Bits = bytes.Number(element.value, 2);
        break;
      default:
        break;
    }
  }

  /** Why `length` bytes are too few for pixels that are not compressed, or nothing. */
  std::string
  WhyShort(std::uint64_t length) const
  {
    const std::uint64_t needed = MultiplyAdd(MultiplyAdd(m_Count, m_Frames, 0), m_Bits, 7) / 8;
    // Some forms of colours take less than their samples.
    const bool isShort = m_Samples == 1 && length < needed;
    return isShort ? "it holds " + std::to_string(length) + " of " + std::to_string(needed) + " bytes of its pixels"
                   : "";
  }

private:
  std::uint64_t m_Samples{ 1 };
  std::uint64_t m_Frames{ 1 };
  std::uint64_t m_Count{ 1 };
  std::uint64_t m_Bits{ 0 };
};

/** Looks at the data elements up to the pixels, and at these if they are wanted. */
std::string
WhyDicomIncomplete(Bytes & bytes, std::uint64_t position, bool withPixels)
{
  DicomSyntax syntax;
  if (const auto why = ReadDicomSyntax(bytes, position, syntax))
  {
    return *why;
  }
  DicomPixelCount pixels;
  while (position < bytes.Size())
  {
    if (bytes.Size() - position < 8)
    {
      return Ends(bytes.Size(), position + 8);
    }
    DicomElement element;
    const bool   isElement = ReadDicomElement(bytes, position, syntax.isExplicit, element);
    if (!isElement || (element.tag == DicomPixels && !withPixels))
    {
      return "";
    }
    if (const auto why = SkipDicomElement(bytes, element, syntax.isExplicit, position))
    {
      return *why;
    }
    if (element.tag == DicomPixels)
    {
      return syntax.isNative ? pixels.WhyShort(element.length) : "";
    }
    pixels.Take(bytes, element);
  }
  return "";
}

} // namespace

bool
IsDicom(const std::string & path)
{
  Bytes bytes(path);
  return BeginOfDicom(bytes) != Most;
}

std::string
WhyIncomplete(const std::string & path)
{
  Bytes bytes(path);
  if (bytes.Size() == 0)
  {
    return "it is empty";
  }
  // A DICOM file may begin as a TIFF file does.
  const std::uint64_t dicom = BeginOfDicom(bytes);
  if (dicom != Most)
  {
    return WhyDicomIncomplete(bytes, dicom, true);
  }
  if (bytes.Matches(0, "II*\0", 4) || bytes.Matches(0, "MM\0*", 4) || bytes.Matches(0, "II+\0", 4) ||
      bytes.Matches(0, "MM\0+", 4))
  {
    return WhyTiffIncomplete(bytes);
  }
  if (bytes.Matches(0, "\xFF\xD8\xFF", 3))
  {
    return WhyJpegIncomplete(bytes);
  }
  if (bytes.Matches(0, "BM", 2) && (EndsWith(path, ".bmp") || EndsWith(path, ".BMP")))
  {
    return WhyBmpIncomplete(bytes);
  }
  const bool isNiftiName = EndsWith(path, ".nii") || EndsWith(path, ".nii.gz") || EndsWith(path, ".hdr") ||
                           EndsWith(path, ".hdr.gz") || EndsWith(path, ".img") || EndsWith(path, ".img.gz");
  if (isNiftiName || IsGzip(bytes))
  {
    const Content content = ReadContent(path);
    if (!content.error.empty())
    {
      return content.error;
    }
    return isNiftiName ? WhyNiftiIncomplete(path, content) : "";
  }
  return "";
}

std::string
WhyDicomHeaderIncomplete(const std::string & path)
{
  Bytes               bytes(path);
  const std::uint64_t begin = BeginOfDicom(bytes);
  return begin == Most ? "it is no DICOM file" : WhyDicomIncomplete(bytes, begin, false);
}
