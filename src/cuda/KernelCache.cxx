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
#include "KernelCache.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>
#include <vector>

#ifndef _WIN32
#  include <sys/stat.h>
#  include <unistd.h>
#endif

namespace cudamedian
{
namespace
{

constexpr char magic[] = "CudaMedian kernel 1";

/** FNV-1a of 64 bits (Fowler, Noll, Vo). */
std::uint64_t
Hash(const std::string & text, std::uint64_t seed)
{
  std::uint64_t hash = 0xCBF29CE484222325ULL ^ seed;
  for (const char c : text)
  {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  }
  return hash;
}

struct Header
{
  char          magic[sizeof(cudamedian::magic)];
  std::uint64_t keySize;
  std::uint64_t binarySize;
  std::uint64_t checksum;
};

Header
MakeHeader(const std::string & key, const std::string & binary)
{
  Header header;
  std::memset(&header, 0, sizeof(header));
  std::memcpy(header.magic, magic, sizeof(magic));
  header.keySize = key.size();
  header.binarySize = binary.size();
  header.checksum = Hash(binary, 0);
  return header;
}

} // namespace

std::filesystem::path
KernelCache::GetDefaultFolder()
{
  const auto get = [](const char * name) {
    const char * value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  // The XDG specification says to ignore relative paths.
  const auto cache = get("XDG_CACHE_HOME");
  if (cache.is_absolute())
  {
    return cache / "cudamedian";
  }
#ifdef _WIN32
  const auto home = get("LOCALAPPDATA");
  return home.empty() ? home : home / "cudamedian";
#else
  const auto home = get("HOME");
  return home.empty() ? home : home / ".cache" / "cudamedian";
#endif
}

std::filesystem::path
KernelCache::GetFile(const std::string & key) const
{
  std::ostringstream name;
  name << std::hex << Hash(key, 0) << Hash(key, 0x9E3779B97F4A7C15ULL) << ".kernel";
  return m_Folder / name.str();
}

bool
KernelCache::IsPrivate() const
{
#ifdef _WIN32
  return true;
#else
  struct stat status;
  return ::stat(m_Folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
#endif
}

std::optional<std::string>
KernelCache::Load(const std::string & key) const
{
  if (m_Folder.empty() || !IsPrivate())
  {
    return std::nullopt;
  }
  std::ifstream file(GetFile(key), std::ios::binary);
  Header        header;
  if (!file.read(reinterpret_cast<char *>(&header), sizeof(header)) || header.keySize != key.size())
  {
    return std::nullopt;
  }
  std::error_code error;
  const auto      size = std::filesystem::file_size(GetFile(key), error);
  if (error || size != sizeof(header) + header.keySize + header.binarySize)
  {
    return std::nullopt;
  }
  std::string storedKey(header.keySize, '\0');
  std::string binary(header.binarySize, '\0');
  if (!file.read(&storedKey[0], static_cast<std::streamsize>(storedKey.size())) ||
      !file.read(&binary[0], static_cast<std::streamsize>(binary.size())) || storedKey != key)
  {
    return std::nullopt;
  }
  const auto expected = MakeHeader(key, binary);
  if (std::memcmp(&header, &expected, sizeof(header)) != 0)
  {
    return std::nullopt;
  }
  // The time of a file is that of its last use.
  std::filesystem::last_write_time(GetFile(key), std::filesystem::file_time_type::clock::now(), error);
  return binary;
}

/** Removes files until the rest keeps to the limit, those first that were not used for the longest time. Also removes
 * temporary files of processes that ended while they wrote. */
void
KernelCache::KeepToLimit(const std::filesystem::path & newest) const
{
  namespace fs = std::filesystem;
  struct Entry
  {
    fs::file_time_type time;
    std::uintmax_t     size;
    fs::path           path;
  };
  std::vector<Entry> entries;
  std::uintmax_t     total = 0;
  std::error_code    error;
  const auto         now = fs::file_time_type::clock::now();
  for (fs::directory_iterator next(m_Folder, error), end; !error && next != end; next.increment(error))
  {
    std::error_code ignored;
    const auto &    path = next->path();
    const auto      name = path.filename().string();
    const Entry     entry{ next->last_write_time(ignored), next->file_size(ignored), path };
    if (ignored || name.find(".kernel") == std::string::npos)
    {
      continue; // gone meanwhile, or no file of the cache
    }
    if (name.find(".kernel.new") != std::string::npos)
    {
      if (now - entry.time > std::chrono::hours(1))
      {
        fs::remove(path, ignored);
      }
      continue;
    }
    total += entry.size;
    if (path != newest)
    {
      entries.push_back(entry);
    }
  }
  std::sort(entries.begin(), entries.end(), [](const auto & one, const auto & other) { return one.time < other.time; });
  for (auto oldest = entries.begin(); oldest != entries.end() && total > m_Limit; ++oldest)
  {
    std::error_code ignored;
    fs::remove(oldest->path, ignored);
    total -= oldest->size;
  }
}

bool
KernelCache::Store(const std::string & key, const std::string & binary) const
{
  if (m_Folder.empty())
  {
    return false;
  }
  std::error_code error;
  if (std::filesystem::create_directories(m_Folder, error))
  {
    std::filesystem::permissions(m_Folder, std::filesystem::perms::owner_all, error);
  }
  if (error || !IsPrivate())
  {
    return false;
  }
  std::ostringstream suffix;
  suffix << ".new" << std::hex << std::random_device()() << std::random_device()();
  const auto file = GetFile(key);
  const auto temporary = std::filesystem::path(file.string() + suffix.str());
  {
    std::ofstream output(temporary, std::ios::binary);
    const auto    header = MakeHeader(key, binary);
    output.write(reinterpret_cast<const char *>(&header), sizeof(header));
    output.write(key.data(), static_cast<std::streamsize>(key.size()));
    output.write(binary.data(), static_cast<std::streamsize>(binary.size()));
    output.close();
    std::filesystem::permissions(
      temporary, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
    if (output && !error)
    {
      std::filesystem::rename(temporary, file, error);
      if (!error)
      {
        KeepToLimit(file);
        return true;
      }
    }
  }
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return false;
}

} // namespace cudamedian
