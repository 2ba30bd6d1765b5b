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
#include "DicomHeader.h"

#include "FileLength.h"
#include "Interruption.h"

#include <gdcmAttribute.h>
#include <gdcmMediaStorage.h>
#include <gdcmReader.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace
{

std::string
Text(const gdcm::DataSet & dataSet, const gdcm::Tag & tag)
{
  const gdcm::ByteValue * const value =
    dataSet.FindDataElement(tag) ? dataSet.GetDataElement(tag).GetByteValue() : nullptr;
  if (value == nullptr)
  {
    return "";
  }
  const std::string    text(value->GetPointer(), value->GetLength());
  constexpr const char padding[] = { ' ', '\0' };
  const std::string    blanks(padding, sizeof(padding));
  const std::size_t    first = text.find_first_not_of(blanks);
  const std::size_t    last = text.find_last_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/** As many numbers as are wanted, or none. */
std::vector<double>
Numbers(const gdcm::DataSet & dataSet, const gdcm::Tag & tag, std::size_t count)
{
  std::istringstream  stream(Text(dataSet, tag));
  std::vector<double> numbers;
  for (std::string part; std::getline(stream, part, '\\');)
  {
    char *       end = nullptr;
    const double number = std::strtod(part.c_str(), &end);
    if (end == part.c_str() || !std::isfinite(number))
    {
      return {};
    }
    numbers.push_back(number);
  }
  return numbers.size() == count ? numbers : std::vector<double>();
}

template <std::uint16_t VGroup, std::uint16_t VElement>
unsigned int
Whole(const gdcm::DataSet & dataSet)
{
  gdcm::Attribute<VGroup, VElement> attribute{};
  if (!dataSet.FindDataElement(attribute.GetTag()) || dataSet.GetDataElement(attribute.GetTag()).IsEmpty())
  {
    return 0;
  }
  attribute.SetFromDataSet(dataSet);
  return static_cast<unsigned int>(attribute.GetValue());
}

} // namespace

DicomHeader
ReadDicomHeader(const std::string & path)
{
  DicomHeader header;
  header.path = path;
  header.damage = WhyDicomHeaderIncomplete(path);
  if (!header.damage.empty())
  {
    return header;
  }
  header.damage = WhyIncomplete(path);

  const Interruption::Task task("reading '" + path + "'");
  gdcm::Reader             reader;
  reader.SetFileName(path.c_str());
  if (!reader.ReadUpToTag(gdcm::Tag(0x7FE0, 0x0010)) && header.damage.empty())
  {
    header.damage = "its header cannot be read";
  }
  const gdcm::DataSet & dataSet = reader.GetFile().GetDataSet();
  const auto            text = [&](std::uint16_t group, std::uint16_t element) {
    return Text(dataSet, gdcm::Tag(group, element));
  };
  header.classUid = text(0x0008, 0x0016);
  header.instanceUid = text(0x0008, 0x0018);
  header.modality = text(0x0008, 0x0060);
  header.description = text(0x0008, 0x103E);
  header.studyUid = text(0x0020, 0x000D);
  header.seriesUid = text(0x0020, 0x000E);
  header.seriesNumber = std::strtol(text(0x0020, 0x0011).c_str(), nullptr, 10);
  header.rows = Whole<0x0028, 0x0010>(dataSet);
  header.columns = Whole<0x0028, 0x0011>(dataSet);
  header.samples = std::max(1U, Whole<0x0028, 0x0002>(dataSet));
  header.frames = static_cast<unsigned int>(std::max(1L, std::strtol(text(0x0028, 0x0008).c_str(), nullptr, 10)));
  header.bitsAllocated = Whole<0x0028, 0x0100>(dataSet);
  header.bitsStored = Whole<0x0028, 0x0101>(dataSet);
  header.isSigned = Whole<0x0028, 0x0103>(dataSet) == 1;
  header.position = Numbers(dataSet, gdcm::Tag(0x0020, 0x0032), 3);
  header.orientation = Numbers(dataSet, gdcm::Tag(0x0020, 0x0037), 6);
  header.details = { text(0x0018, 0x0086), text(0x0018, 0x0081), text(0x0020, 0x0100), text(0x0018, 0x9087),
                     text(0x0008, 0x0008), text(0x0020, 0x0012), text(0x0018, 0x1060), text(0x0018, 0x0024) };

  const gdcm::MediaStorage::MSType type = gdcm::MediaStorage::GetMSType(header.classUid.c_str());
  const bool                       isKnown = type != gdcm::MediaStorage::MS_END;
  // Of a class that is not known, the pixels tell; of a damaged file without a class, nothing does.
  header.isImage = isKnown ? gdcm::MediaStorage::IsImage(type) : header.rows > 0 || !header.damage.empty();
  return header;
}

std::string
Printable(std::string text)
{
  for (char & letter : text)
  {
    const auto code = static_cast<unsigned char>(letter);
    letter = code < 0x20 || code == 0x7F ? ' ' : letter;
  }
  return text;
}
