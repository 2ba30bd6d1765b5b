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
#ifndef OutputFile_h
#define OutputFile_h

#include <filesystem>
#include <functional>
#include <string>

/** \class OutputFile
 * Puts an image file in place as a whole or not at all.
 *
 * The image is written under its final name into a temporary folder beside the destination, given to the disk, read
 * back and compared, and only then moved. The name stays the same because formats of two files, such as .mhd with .raw,
 * store one name in the other. Whatever was at the destination before survives a failure. */
class OutputFile
{
public:
  /** Checks the destination before any work is done. A link is followed, also to a file that does not exist yet.
   * \throws UserError when its directory is missing or cannot be written to, when it or the data file that belongs to
   * it is read-only or not an ordinary file, or when that data file belongs to something else. */
  explicit OutputFile(const std::string & path);

  /** Where the file will be, with links followed. */
  const std::filesystem::path &
  Destination() const
  {
    return m_Destination;
  }

  /** Calls `write` with the name to write to, then `check` with the same name when the disk has the files, then moves
   * every file that was written to the destination.
   * \throws UserError when the files cannot be written or moved; what `write` and `check` throw passes through, unless
   * the disk tells a better reason. */
  void
  Write(const std::function<void(const std::string &)> & write,
        const std::function<void(const std::string &)> & check) const;

private:
  std::filesystem::path m_Destination;
};

#endif
