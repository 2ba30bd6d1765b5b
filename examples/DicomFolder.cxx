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
#include "DicomFolder.h"

#include "DicomStack.h"
#include "FileLength.h"
#include "Options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include <unistd.h>

namespace fs = std::filesystem;

namespace
{

[[noreturn]] void
Refuse(const std::string & path, const std::string & reason)
{
  throw UserError("cannot read '" + path + "': " + reason);
}

std::string
Extension(const fs::path & path)
{
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  // DICOM files are often named by their UID, of which the last number is no extension.
  return extension.find_first_not_of(".0123456789") == std::string::npos ? "" : extension;
}

/** All files but hidden ones, in the order of their names. Folders that are links are not entered. */
std::vector<fs::path>
ListFiles(const std::string & folder)
{
  std::vector<fs::path>            files;
  std::error_code                  error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
  {
    const bool isHidden = entry->path().filename().string().rfind('.', 0) == 0;
    if (isHidden)
    {
      entry.disable_recursion_pending();
    }
    else if (entry->is_regular_file(error))
    {
      files.push_back(entry->path());
    }
    // A link that leads nowhere is no slice.
    error.clear();
  }
  if (error)
  {
    Refuse(folder, error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/** Takes a series apart by the values of some details. */
std::map<std::vector<std::string>, std::vector<DicomHeader>>
SplitBy(const std::vector<DicomHeader> & slices, const std::set<std::size_t> & details)
{
  std::map<std::vector<std::string>, std::vector<DicomHeader>> parts;
  for (const DicomHeader & slice : slices)
  {
    std::vector<std::string> values;
    for (const std::size_t detail : details)
    {
      values.push_back(slice.details[detail]);
    }
    parts[values].push_back(slice);
  }
  return parts;
}

/** One series, or several where it holds several images at a position that something tells apart. */
std::vector<DicomFiles>
Split(const std::vector<DicomHeader> & slices)
{
  if (HasDistinctPositions(slices))
  {
    return { { "", slices } };
  }
  // One detail before two: what changes with every image would make a series of each.
  for (std::size_t first = 0; first < 2 * DicomDetailCount * DicomDetailCount; ++first)
  {
    const std::size_t one = first / DicomDetailCount % DicomDetailCount;
    const std::size_t other = first % DicomDetailCount;
    const bool        isPair = first >= DicomDetailCount * DicomDetailCount;
    if (isPair ? one >= other : one != other)
    {
      continue;
    }
    const auto parts = SplitBy(slices, { one, other });
    // Each has to be a volume, not a lone image.
    const bool isRight = parts.size() > 1 && std::all_of(parts.begin(), parts.end(), [](const auto & part) {
                           return part.second.size() > 1 && HasDistinctPositions(part.second);
                         });
    if (!isRight)
    {
      continue;
    }
    std::vector<DicomFiles> split;
    for (const auto & [values, part] : parts)
    {
      std::string text = std::string(DicomDetailNames[one]) + " " + values.front();
      text += isPair ? std::string(", ") + DicomDetailNames[other] + " " + values.back() : "";
      split.push_back({ text, part });
    }
    return split;
  }
  return { { "", slices } };
}

} // namespace

std::vector<DicomFiles>
FindDicomFiles(const std::string & folder)
{
  std::map<std::pair<long, std::string>, std::vector<DicomHeader>> series;
  std::map<std::string, long>                                      numbers;
  std::vector<fs::path>                                            others;
  std::set<std::string>                                            extensions;
  for (const fs::path & path : ListFiles(folder))
  {
    if (access(path.c_str(), R_OK) != 0)
    {
      Refuse(path, std::strerror(errno));
    }
    if (!IsDicom(path))
    {
      others.push_back(path);
      continue;
    }
    const DicomHeader header = ReadDicomHeader(path);
    if (!header.isImage)
    {
      continue;
    }
    if (!header.damage.empty() && header.seriesUid.empty())
    {
      Refuse(path, header.damage);
    }
    extensions.insert(Extension(path));
    const long number = numbers.emplace(header.seriesUid, header.seriesNumber).first->second;
    series[{ number, header.seriesUid }].push_back(header);
  }
  for (const fs::path & path : others)
  {
    // What is named as a slice and is none is most likely a damaged one.
    const std::string    extension = Extension(path);
    const bool           isNamedSo = extension == ".dcm" || extension == ".dicom" || extension == ".ima";
    std::error_code      error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (!error && size == 0 && (isNamedSo || extensions.count(extension) > 0))
    {
      Refuse(path, "it is empty");
    }
    if (isNamedSo)
    {
      Refuse(path, "it is named as a DICOM file is, but is none");
    }
  }
  if (series.empty())
  {
    Refuse(folder, "the folder holds no DICOM images");
  }
  std::vector<DicomFiles> all;
  for (const auto & [key, slices] : series)
  {
    const std::vector<DicomFiles> parts = Split(slices);
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

const DicomFiles &
ChooseDicomFiles(const std::vector<DicomFiles> & all, const std::string & folder, const std::string & choice)
{
  if (choice.empty() && all.size() == 1)
  {
    return all.front();
  }
  std::vector<std::size_t> meant;
  for (std::size_t i = 0; i < all.size(); ++i)
  {
    if (!choice.empty() && (choice == std::to_string(i + 1) || choice == all[i].slices.front().seriesUid))
    {
      meant.push_back(i);
    }
  }
  if (meant.size() == 1)
  {
    return all[meant.front()];
  }
  std::string           text = choice.empty()
                                 ? "'" + folder + "' holds " + std::to_string(all.size()) + " series, choose one with --series"
                               : meant.empty() ? "--series " + choice + ": '" + folder + "' holds no such series, but"
                                               : "--series " + choice + ": this series holds " + std::to_string(meant.size()) +
                                         " volumes, choose one by its number";
  constexpr std::size_t most = 8;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i)
  {
    text += (i == 0 ? ": " : "; ") + std::to_string(i + 1) + " = " + Describe(all[i]);
  }
  text += all.size() > most ? "; and " + std::to_string(all.size() - most) + " more" : "";
  throw UserError(text + " (--series list shows them line by line)");
}

std::string
Describe(const DicomFiles & files)
{
  const DicomHeader & slice = files.slices.front();
  const std::size_t   count = files.slices.size();
  std::string         text = slice.modality.empty() ? "" : slice.modality + ", ";
  text += std::to_string(count) + (count == 1 ? " slice of " : " slices of ") + std::to_string(slice.columns) + "x" +
          std::to_string(slice.rows);
  text += slice.description.empty() ? "" : ", \"" + slice.description + "\"";
  text += files.part.empty() ? "" : ", " + files.part;
  return Printable(text + ", " + (slice.seriesUid.empty() ? "without a UID" : slice.seriesUid));
}
