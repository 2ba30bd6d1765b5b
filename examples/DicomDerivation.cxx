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
#include "DicomDerivation.h"

#include "Options.h"

#include <gdcmDataSet.h>
#include <gdcmItem.h>
#include <gdcmReader.h>
#include <gdcmSequenceOfItems.h>
#include <gdcmWriter.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <random>

namespace
{

using gdcm::Tag;
using gdcm::VR;

/** A UID that is made of a random UUID, as the standard allows: it names no machine and no maker. */
std::string
RandomUid()
{
  std::random_device random;
  unsigned int       words[4];
  for (unsigned int & word : words)
  {
    word = random();
  }
  // The bits that mark a UUID as a random one: version 4, variant 1.
  words[1] = (words[1] & 0xFFFF0FFF) | 0x4000;
  words[2] = (words[2] & 0x3FFFFFFF) | 0x80000000;
  std::string digits;
  // As one decimal number: divided by ten until nothing is left.
  while (words[0] != 0 || words[1] != 0 || words[2] != 0 || words[3] != 0)
  {
    std::uint64_t rest = 0;
    for (unsigned int & word : words)
    {
      const std::uint64_t value = rest << 32 | word;
      word = static_cast<unsigned int>(value / 10);
      rest = value % 10;
    }
    digits += static_cast<char>('0' + rest);
  }
  std::reverse(digits.begin(), digits.end());
  return "2.25." + digits;
}

std::string
Text(const gdcm::DataSet & dataSet, const Tag & tag)
{
  const gdcm::ByteValue * const value =
    dataSet.FindDataElement(tag) ? dataSet.GetDataElement(tag).GetByteValue() : nullptr;
  std::string text = value == nullptr ? "" : std::string(value->GetPointer(), value->GetLength());
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0'))
  {
    text.pop_back();
  }
  return text;
}

void
SetText(gdcm::DataSet & dataSet, const Tag & tag, const VR & type, std::string text)
{
  if (text.size() % 2 != 0)
  {
    text += type == VR::UI ? '\0' : ' ';
  }
  gdcm::DataElement element(tag);
  element.SetVR(type);
  element.SetByteValue(text.data(), static_cast<std::uint32_t>(text.size()));
  dataSet.Replace(element);
}

/** Adds an item to a sequence, which is made if there is none. */
void
AddItem(gdcm::DataSet & dataSet, const Tag & tag, const gdcm::DataSet & content)
{
  gdcm::SmartPointer<gdcm::SequenceOfItems> items;
  if (dataSet.FindDataElement(tag))
  {
    items = dataSet.GetDataElement(tag).GetValueAsSQ();
  }
  if (!items)
  {
    items = new gdcm::SequenceOfItems;
  }
  items->SetLengthToUndefined();
  gdcm::Item item;
  item.SetVLToUndefined();
  item.SetNestedDataSet(content);
  items->AddItem(item);
  gdcm::DataElement element(tag);
  element.SetVR(VR::SQ);
  element.SetValue(*items);
  element.SetVLToUndefined();
  dataSet.Replace(element);
}

/** Adds a term of the standard's own vocabulary. */
void
AddCode(gdcm::DataSet & dataSet, const Tag & tag, const std::string & value, const std::string & meaning)
{
  gdcm::DataSet code;
  SetText(code, Tag(0x0008, 0x0100), VR::SH, value);
  SetText(code, Tag(0x0008, 0x0102), VR::SH, "DCM");
  SetText(code, Tag(0x0008, 0x0104), VR::LO, meaning);
  AddItem(dataSet, tag, code);
}

/** The text with `addition` behind it. Where that is too long, the text loses its end; where a letter may take several
 * bytes, all of it. */
std::string
Append(const std::string & text, const std::string & separator, const std::string & addition, std::size_t most)
{
  if (text.empty() || addition.size() + separator.size() >= most)
  {
    return addition;
  }
  const std::size_t room = most - addition.size() - separator.size();
  const bool        isAscii = std::all_of(
    text.begin(), text.end(), [](char letter) { return letter >= ' ' && static_cast<unsigned char>(letter) < 0x7F; });
  if (text.size() > room && !isAscii)
  {
    return addition;
  }
  return text.substr(0, room) + separator + addition;
}

/** What holds for the old pixels only, or for the file as it was. */
bool
IsOutdated(const gdcm::DataSet & dataSet, const Tag & tag)
{
  constexpr std::uint16_t lengthOfGroup = 0x0000;
  const bool              isOverlay = tag.GetGroup() >= 0x6000 && tag.GetGroup() <= 0x60FF;
  // An overlay without data of its own is in bits above the pixels', which are not kept.
  const bool isInPixels = isOverlay && !dataSet.FindDataElement(Tag(tag.GetGroup(), 0x3000));
  return tag.GetElement() == lengthOfGroup || isInPixels || tag == Tag(0x0008, 0x0014) || // InstanceCreatorUID
         tag == Tag(0x0028, 0x0106) || tag == Tag(0x0028, 0x0107) ||                      // extremes of the image
         tag == Tag(0x0028, 0x0108) || tag == Tag(0x0028, 0x0109) ||                      // extremes of the series
         tag == Tag(0x0060, 0x3000) ||                                                    // HistogramSequence
         tag == Tag(0x0088, 0x0200) ||                                                    // IconImageSequence
         tag == Tag(0x0008, 0x2112) ||                                                    // SourceImageSequence
         tag == Tag(0x4FFE, 0x0001) || tag == Tag(0xFFFA, 0xFFFA) ||                      // signatures
         tag == Tag(0xFFFC, 0xFFFC);                                                      // padding
}

/** Sets date and time of the content, in the time zone that the file names, else in that of the machine. */
void
SetContentTime(gdcm::DataSet & dataSet)
{
  std::time_t       now = std::time(nullptr);
  const std::string zone = Text(dataSet, Tag(0x0008, 0x0201));
  std::tm           parts = {};
  if (zone.size() == 5)
  {
    const long number = std::strtol(zone.c_str(), nullptr, 10);
    now += (number / 100 * 60 + number % 100) * 60;
    gmtime_r(&now, &parts);
  }
  else
  {
    localtime_r(&now, &parts);
  }
  char date[16];
  char time[16];
  std::strftime(date, sizeof(date), "%Y%m%d", &parts);
  std::strftime(time, sizeof(time), "%H%M%S", &parts);
  SetText(dataSet, Tag(0x0008, 0x0012), VR::DA, date); // InstanceCreationDate
  SetText(dataSet, Tag(0x0008, 0x0013), VR::TM, time); // InstanceCreationTime
  SetText(dataSet, Tag(0x0008, 0x0023), VR::DA, date); // ContentDate
  SetText(dataSet, Tag(0x0008, 0x0033), VR::TM, time); // ContentTime
}

void
SetPixels(gdcm::DataSet & dataSet, const DicomHeader & header, const std::string & pixels)
{
  const auto        highBit = static_cast<std::uint16_t>(header.bitsStored - 1);
  const char        highBitBytes[] = { static_cast<char>(highBit & 0xFF), static_cast<char>(highBit >> 8) };
  gdcm::DataElement high(Tag(0x0028, 0x0102));
  high.SetVR(VR::US);
  high.SetByteValue(highBitBytes, sizeof(highBitBytes));
  dataSet.Replace(high);

  const std::string padded = pixels.size() % 2 == 0 ? pixels : pixels + '\0';
  gdcm::DataElement element(Tag(0x7FE0, 0x0010));
  element.SetVR(header.bitsAllocated > 8 ? VR::OW : VR::OB);
  element.SetByteValue(padded.data(), static_cast<std::uint32_t>(padded.size()));
  dataSet.Replace(element);
}

void
AppendText(gdcm::DataSet &     dataSet,
           const Tag &         tag,
           const VR &          type,
           const std::string & separator,
           const std::string & addition,
           std::size_t         most)
{
  SetText(dataSet, tag, type, Append(Text(dataSet, tag), separator, addition, most));
}

void
RemoveOutdated(gdcm::DataSet & dataSet)
{
  std::vector<Tag> outdated;
  for (const gdcm::DataElement & element : dataSet.GetDES())
  {
    if (IsOutdated(dataSet, element.GetTag()))
    {
      outdated.push_back(element.GetTag());
    }
  }
  for (const Tag & tag : outdated)
  {
    dataSet.Remove(tag);
  }
}

/** DERIVED and SECONDARY, and what the input said behind those two. */
void
SetImageType(gdcm::DataSet & dataSet)
{
  const std::string imageType = Text(dataSet, Tag(0x0008, 0x0008));
  const std::size_t second = imageType.find('\\');
  const std::size_t third = second == std::string::npos ? second : imageType.find('\\', second + 1);
  SetText(dataSet,
          Tag(0x0008, 0x0008),
          VR::CS,
          "DERIVED\\SECONDARY" + (third == std::string::npos ? "" : imageType.substr(third)));
}

void
AddEquipment(gdcm::DataSet & dataSet)
{
  gdcm::DataSet equipment;
  AddCode(equipment, Tag(0x0040, 0xA170), "109102", "Processing Equipment");
  SetText(equipment, Tag(0x0008, 0x0070), VR::LO, "CudaMedian");
  SetText(equipment, Tag(0x0008, 0x1090), VR::LO, "CudaMedianImageFilter");
  AddItem(dataSet, Tag(0x0018, 0xA001), equipment);
}

/** \returns whether the file could be written */
bool
WriteDataSet(const gdcm::DataSet & dataSet, const gdcm::TransferSyntax & source, const std::string & path)
{
  // A new head: that of the input names the program that wrote it.
  gdcm::FileMetaInformation head;
  // Without pixels in a compressed form, what remains is whether the elements say their types.
  head.SetDataSetTransferSyntax(source.IsImplicit() ? gdcm::TransferSyntax::ImplicitVRLittleEndian
                                                    : gdcm::TransferSyntax::ExplicitVRLittleEndian);
  gdcm::Writer writer;
  writer.GetFile().SetHeader(head);
  writer.GetFile().SetDataSet(dataSet);
  writer.SetFileName(path.c_str());
  return writer.Write();
}

} // namespace

DicomDerivation::DicomDerivation(const std::vector<DicomSlice> & slices, const DerivationNote & note)
  : m_Slices(slices)
  , m_Note(note)
  , m_SeriesUid(RandomUid())
{
  for (std::size_t i = 0; i < slices.size(); ++i)
  {
    m_InstanceUids.push_back(RandomUid());
  }
}

void
DicomDerivation::SetIdentity(std::size_t number, gdcm::DataSet & dataSet) const
{
  SetImageType(dataSet);
  SetText(dataSet, Tag(0x0008, 0x0018), VR::UI, m_InstanceUids[number]);
  SetText(dataSet, Tag(0x0020, 0x000E), VR::UI, m_SeriesUid);
  SetText(dataSet, Tag(0x0020, 0x0013), VR::IS, std::to_string(number + 1)); // InstanceNumber
  constexpr long apart = 1000;
  const long     seriesNumber = m_Slices.front().header.seriesNumber;
  const bool     fits = seriesNumber >= 0 && seriesNumber <= std::numeric_limits<std::int32_t>::max() - apart;
  SetText(dataSet, Tag(0x0020, 0x0011), VR::IS, std::to_string(fits ? seriesNumber + apart : apart));
  constexpr std::size_t mostOfLong = 64; // letters of type LO, of SH and of ST
  constexpr std::size_t mostOfText = 1024;
  AppendText(dataSet, Tag(0x0008, 0x103E), VR::LO, " ", m_Note.name, mostOfLong);
  SetContentTime(dataSet);
  AppendText(dataSet, Tag(0x0008, 0x2111), VR::ST, "; ", m_Note.description, mostOfText);
  if (m_Note.isSmoothing)
  {
    AddCode(dataSet, Tag(0x0008, 0x9215), "113087", "Smoothing");
  }
}

void
DicomDerivation::AddSourceImages(std::size_t number, gdcm::DataSet & dataSet) const
{
  const auto        count = m_Slices.size();
  std::vector<bool> isSource(count, false);
  const auto        before = static_cast<std::size_t>(std::min<std::uint64_t>(count, m_Note.slicesBefore));
  const auto        behind = static_cast<std::size_t>(std::min<std::uint64_t>(count, m_Note.slicesBehind));
  // From zero, so that no number is below it. What is mirrored or repeated is among those that the window spans.
  for (std::size_t i = number + count - before; i <= number + count + behind; ++i)
  {
    if (m_Note.wraps || (i >= count && i < 2 * count))
    {
      isSource[i % count] = true;
    }
  }
  for (std::size_t i = 0; i < count; ++i)
  {
    if (!isSource[i])
    {
      continue;
    }
    gdcm::DataSet sourceImage;
    SetText(sourceImage, Tag(0x0008, 0x1150), VR::UI, m_Slices[i].header.classUid);
    SetText(sourceImage, Tag(0x0008, 0x1155), VR::UI, m_Slices[i].header.instanceUid);
    AddCode(sourceImage, Tag(0x0040, 0xA170), "121322", "Source image for image processing operation");
    AddItem(dataSet, Tag(0x0008, 0x2112), sourceImage);
  }
}

void
DicomDerivation::WriteSlice(std::size_t number, const std::string & pixels, const std::string & path) const
{
  const DicomHeader & header = m_Slices[number].header;
  gdcm::Reader        reader;
  reader.SetFileName(header.path.c_str());
  if (!reader.Read())
  {
    throw UserError("'" + header.path + "' cannot be read a second time");
  }
  gdcm::DataSet dataSet = reader.GetFile().GetDataSet();
  RemoveOutdated(dataSet);
  SetIdentity(number, dataSet);
  AddSourceImages(number, dataSet);
  AddEquipment(dataSet);
  SetPixels(dataSet, header, pixels);
  if (!WriteDataSet(dataSet, reader.GetFile().GetHeader().GetDataSetTransferSyntax(), path))
  {
    throw UserError("slice " + std::to_string(number + 1) + " cannot be written");
  }
}
