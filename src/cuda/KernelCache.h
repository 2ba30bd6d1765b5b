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
#ifndef KernelCache_h
#define KernelCache_h

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cudamedian
{

/** Compiled kernels, kept on disk between processes.
 *
 * Each kernel has a file, whose name is a hash of its key. The file holds the key, the size and a checksum: one that is
 * damaged or belongs to another key is as good as none. Files are written under another name and renamed, so a reader
 * never sees half of one. The folder is made for its owner alone, and is not used where others may write to it. When
 * the files take more than a limit, those that were not used for the longest time go first. Nothing here throws: a
 * cache that cannot be read or written costs time and no more. */
class KernelCache
{
public:
  /** The limit: room for some thousand kernels of 20 to 200 KiB each. */
  static constexpr std::uintmax_t defaultLimit = std::uintmax_t{ 256 } << 20;

  /** A cache in the given folder, which need not exist, of files that take at most so many bytes together. */
  explicit KernelCache(std::filesystem::path folder, std::uintmax_t limit = defaultLimit)
    : m_Folder(std::move(folder))
    , m_Limit(limit)
  {}

  /** The usual folder: `cudamedian` under XDG_CACHE_HOME, or under .cache of the home folder. Empty where there is
   * neither. */
  static std::filesystem::path
  GetDefaultFolder();

  /** The binary stored for a key. */
  std::optional<std::string>
  Load(const std::string & key) const;

  /** Keeps a binary. \returns whether it was written, as far as the file system says. */
  bool
  Store(const std::string & key, const std::string & binary) const;

  /** The file of a key. */
  std::filesystem::path
  GetFile(const std::string & key) const;

private:
  bool
  IsPrivate() const;
  void
  KeepToLimit(const std::filesystem::path & newest) const;

  std::filesystem::path m_Folder;
  std::uintmax_t        m_Limit;
};

} // namespace cudamedian

#endif
