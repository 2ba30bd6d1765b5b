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
#include "DicomSlices.h"

#include <gdcmImageChangeTransferSyntax.h>
#include <gdcmImageReader.h>
#include <gdcmImageWriter.h>
#include <gdcmReader.h>
#include <gdcmSequenceOfItems.h>
#include <gdcmWriter.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>
#include <stdexcept>

namespace cudamediantest
{

namespace
{

constexpr double Distance = 2.5;

std::string
Decimal(double value)
{
  std::ostringstream text;
  text.precision(12);
  text << value;
  return text.str();
}

template <typename TNumbers>
std::string
Decimals(const TNumbers & numbers)
{
  std::string text;
  for (const double number : numbers)
  {
    text += (text.empty() ? "" : "\\") + Decimal(number);
  }
  return text;
}

void
Set(gdcm::DataSet & dataSet, const DicomTag & tag, const gdcm::VR & type, std::string bytes)
{
  if (bytes.size() % 2 != 0)
  {
    bytes += type == gdcm::VR::UI ? '\0' : ' ';
  }
  gdcm::DataElement element(gdcm::Tag(tag.first, tag.second));
  element.SetVR(type);
  element.SetByteValue(bytes.data(), static_cast<std::uint32_t>(bytes.size()));
  dataSet.Replace(element);
}

void
SetNumber(gdcm::DataSet & dataSet, const DicomTag & tag, unsigned int number)
{
  Set(dataSet, tag, gdcm::VR::US, { static_cast<char>(number & 0xFF), static_cast<char>(number >> 8) });
}

/** The types of the elements of text that the tests use. */
gdcm::VR
TypeOf(const DicomTag & tag)
{
  const std::map<DicomTag, gdcm::VR::VRType> types = {
    { { 0x0008, 0x0008 }, gdcm::VR::CS }, { { 0x0008, 0x0016 }, gdcm::VR::UI }, { { 0x0008, 0x0018 }, gdcm::VR::UI },
    { { 0x0008, 0x0060 }, gdcm::VR::CS }, { { 0x0010, 0x0010 }, gdcm::VR::PN }, { { 0x0018, 0x0050 }, gdcm::VR::DS },
    { { 0x0018, 0x0081 }, gdcm::VR::DS }, { { 0x0020, 0x000D }, gdcm::VR::UI }, { { 0x0020, 0x000E }, gdcm::VR::UI },
    { { 0x0020, 0x0011 }, gdcm::VR::IS }, { { 0x0020, 0x0013 }, gdcm::VR::IS }, { { 0x0020, 0x0052 }, gdcm::VR::UI },
    { { 0x0028, 0x0004 }, gdcm::VR::CS }, { { 0x0028, 0x0008 }, gdcm::VR::IS }, { { 0x0028, 0x0030 }, gdcm::VR::DS },
    { { 0x0020, 0x0032 }, gdcm::VR::DS }, { { 0x0020, 0x0037 }, gdcm::VR::DS },
  };
  const auto found = types.find(tag);
  return found == types.end() ? gdcm::VR::LO : found->second;
}

std::string
TextOf(const gdcm::DataElement & element)
{
  const gdcm::SmartPointer<gdcm::SequenceOfItems> items = element.GetValueAsSQ();
  if (items)
  {
    std::string text;
    for (gdcm::SequenceOfItems::SizeType i = 1; i <= items->GetNumberOfItems(); ++i)
    {
      for (const gdcm::DataElement & nested : items->GetItem(i).GetNestedDataSet().GetDES())
      {
        text += (text.empty() ? "" : "|") + TextOf(nested);
      }
    }
    return text;
  }
  const gdcm::ByteValue * const value = element.GetByteValue();
  std::string                   text = value == nullptr ? "" : std::string(value->GetPointer(), value->GetLength());
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0'))
  {
    text.pop_back();
  }
  return text;
}

void
WriteSlice(const std::string & folder, const TestSlice & slice)
{
  gdcm::Writer                    writer;
  gdcm::DataSet &                 dataSet = writer.GetFile().GetDataSet();
  std::map<DicomTag, std::string> texts = {
    { { 0x0020, 0x0032 }, Decimals(slice.position) },
    { { 0x0020, 0x0037 }, Decimals(slice.orientation) },
    { { 0x0028, 0x0004 }, slice.samples == 1 ? "MONOCHROME2" : "RGB" },
    { { 0x0028, 0x1052 }, Decimal(slice.intercept) },
    { { 0x0028, 0x1053 }, Decimal(slice.slope) },
    { { 0x0028, 0x0030 }, "0.75\\0.5" }, // between rows, then between columns
  };
  for (const auto & [tag, text] : slice.texts)
  {
    texts[tag] = text;
  }
  for (const auto & [tag, text] : texts)
  {
    if (!text.empty())
    {
      const bool isDecimal = tag.first == 0x0028 && tag.second > 0x1000;
      Set(dataSet, tag, isDecimal ? gdcm::VR(gdcm::VR::DS) : TypeOf(tag), text);
    }
  }
  SetNumber(dataSet, { 0x0028, 0x0002 }, slice.samples);
  if (slice.samples > 1)
  {
    SetNumber(dataSet, { 0x0028, 0x0006 }, 0);
  }
  SetNumber(dataSet, { 0x0028, 0x0010 }, slice.rows);
  SetNumber(dataSet, { 0x0028, 0x0011 }, slice.columns);
  SetNumber(dataSet, { 0x0028, 0x0100 }, slice.bitsAllocated);
  SetNumber(dataSet, { 0x0028, 0x0101 }, slice.bitsStored);
  SetNumber(dataSet, { 0x0028, 0x0102 }, slice.bitsStored - 1);
  SetNumber(dataSet, { 0x0028, 0x0103 }, slice.isSigned ? 1 : 0);
  std::string pixels;
  for (const long value : slice.stored)
  {
    for (unsigned int byte = 0; byte < slice.bitsAllocated / 8; ++byte)
    {
      pixels += static_cast<char>(value >> (8 * byte) & 0xFF);
    }
  }
  Set(dataSet, { 0x7FE0, 0x0010 }, slice.bitsAllocated > 8 ? gdcm::VR::OW : gdcm::VR::OB, pixels);
  gdcm::FileMetaInformation head;
  head.SetDataSetTransferSyntax(slice.isImplicit ? gdcm::TransferSyntax::ImplicitVRLittleEndian
                                                 : gdcm::TransferSyntax::ExplicitVRLittleEndian);
  writer.GetFile().SetHeader(head);
  writer.SetFileName((folder + "/" + slice.name).c_str());
  if (!writer.Write())
  {
    throw std::runtime_error("cannot write " + slice.name);
  }
}

} // namespace

std::vector<TestSlice>
MakeSlices(std::size_t count, const TestSlice & pattern)
{
  std::mt19937                random(count);
  const auto &                o = pattern.orientation;
  const std::array<double, 3> normal = { o[1] * o[5] - o[2] * o[4],
                                         o[2] * o[3] - o[0] * o[5],
                                         o[0] * o[4] - o[1] * o[3] };
  std::vector<TestSlice>      slices;
  for (std::size_t i = 0; i < count; ++i)
  {
    TestSlice slice = pattern;
    // 7 has no common divisor with the counts that are used: every number comes once, in another order.
    const std::string shuffled = std::to_string((i * 7 + 3) % count);
    slice.name = pattern.name + "IM" + shuffled;
    for (unsigned int axis = 0; axis < 3; ++axis)
    {
      slice.position[axis] = pattern.position[axis] + Distance * static_cast<double>(i) * normal[axis];
    }
    const std::map<DicomTag, std::string> texts = {
      { { 0x0008, 0x0008 }, "ORIGINAL\\PRIMARY\\AXIAL" },
      { { 0x0008, 0x0016 }, "1.2.840.10008.5.1.4.1.1.2" },
      { { 0x0008, 0x0018 }, "1.2.3.4." + std::to_string(i + 1) },
      { { 0x0008, 0x0060 }, "CT" },
      { { 0x0008, 0x103E }, "Thorax" },
      { { 0x0010, 0x0010 }, "Test^Patient" },
      { { 0x0018, 0x0050 }, "4" },
      { { 0x0020, 0x000D }, "1.2.3" },
      { { 0x0020, 0x000E }, "1.2.3.4" },
      { { 0x0020, 0x0011 }, "3" },
      { { 0x0020, 0x0013 }, shuffled },
      { { 0x0020, 0x0052 }, "1.2.3.9" },
    };
    // What the pattern says comes first.
    slice.texts.insert(texts.begin(), texts.end());
    const long least = slice.isSigned ? -(1L << (slice.bitsStored - 1)) : 0;
    for (unsigned int pixel = 0; pixel < slice.columns * slice.rows * slice.samples; ++pixel)
    {
      slice.stored.push_back(least + static_cast<long>(random() % (1UL << slice.bitsStored)));
    }
    slices.push_back(slice);
  }
  return slices;
}

void
WriteSlices(const std::string & folder, const std::vector<TestSlice> & slices)
{
  std::filesystem::create_directories(folder);
  for (const TestSlice & slice : slices)
  {
    WriteSlice(folder, slice);
  }
}

void
Compress(const std::string & path, Compression compression)
{
  gdcm::ImageReader reader;
  reader.SetFileName(path.c_str());
  gdcm::ImageChangeTransferSyntax change;
  change.SetTransferSyntax(compression == Compression::RunLength ? gdcm::TransferSyntax::RLELossless
                           : compression == Compression::Jpeg    ? gdcm::TransferSyntax::JPEGLosslessProcess14_1
                           : compression == Compression::JpegLs  ? gdcm::TransferSyntax::JPEGLSLossless
                                                                 : gdcm::TransferSyntax::JPEG2000Lossless);
  bool isDone = reader.Read();
  change.SetInput(reader.GetImage());
  isDone = isDone && change.Change();
  gdcm::ImageWriter writer;
  writer.SetFileName(path.c_str());
  writer.SetFile(reader.GetFile());
  writer.SetImage(change.GetOutput());
  if (!isDone || !writer.Write())
  {
    throw std::runtime_error("cannot compress " + path);
  }
}

Volume::Pointer
VolumeOf(const std::vector<TestSlice> & slices)
{
  const TestSlice & first = slices.front();
  const auto        volume = Volume::New();
  volume->SetRegions(Volume::SizeType{ { first.columns, first.rows, slices.size() } });
  volume->Allocate();
  constexpr double spacing[] = { 0.5, 0.75, Distance };
  volume->SetSpacing(spacing);
  volume->SetOrigin(first.position.data());
  const auto &                o = first.orientation;
  const std::array<double, 9> columns = {
    o[0], o[1], o[2], o[3], o[4], o[5], o[1] * o[5] - o[2] * o[4], o[2] * o[3] - o[0] * o[5], o[0] * o[4] - o[1] * o[3]
  };
  Volume::DirectionType direction;
  for (unsigned int i = 0; i < 9; ++i)
  {
    direction(i % 3, i / 3) = columns[i];
  }
  volume->SetDirection(direction);
  double * target = volume->GetBufferPointer();
  for (const TestSlice & slice : slices)
  {
    target = std::transform(slice.stored.begin(), slice.stored.end(), target, [&](long value) {
      return slice.slope * static_cast<double>(value) + slice.intercept;
    });
  }
  return volume;
}

std::string
TextOf(const std::string & path, const DicomTag & tag)
{
  gdcm::Reader reader;
  reader.SetFileName(path.c_str());
  if (!reader.Read())
  {
    throw std::runtime_error("cannot read " + path);
  }
  const gdcm::DataSet & dataSet = reader.GetFile().GetDataSet();
  const gdcm::Tag       wanted(tag.first, tag.second);
  return dataSet.FindDataElement(wanted) ? TextOf(dataSet.GetDataElement(wanted)) : "";
}

std::vector<std::string>
NamesIn(const std::string & folder)
{
  std::vector<std::string> names;
  for (const auto & entry : std::filesystem::directory_iterator(folder))
  {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace cudamediantest
