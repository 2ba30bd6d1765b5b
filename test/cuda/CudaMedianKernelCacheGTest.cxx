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

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#ifndef _WIN32
#  include <sys/stat.h>
#  include <unistd.h>
#endif

namespace
{

using cudamedian::KernelCache;
namespace fs = std::filesystem;

/** A folder that does not exist yet, in one that is removed at the end. */
class CudaMedianKernelCache : public ::testing::Test
{
protected:
  void
  SetUp() override
  {
    std::string pattern = (fs::temp_directory_path() / "CudaMedianKernelCache.XXXXXX").string();
    ASSERT_NE(::mkdtemp(&pattern[0]), nullptr);
    m_Root = pattern;
    m_Folder = m_Root / "a" / "cudamedian";
  }
  void
  TearDown() override
  {
    fs::remove_all(m_Root);
  }

  static std::string
  Read(const fs::path & path)
  {
    std::ifstream file(path, std::ios::binary);
    return { std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>() };
  }

  fs::path          m_Root;
  fs::path          m_Folder;
  const std::string m_Binary = std::string("cubin\0with zeros", 16) + std::string(5000, 'x');
};

} // namespace

TEST_F(CudaMedianKernelCache, GivesBackWhatWasStored)
{
  const KernelCache cache(m_Folder);
  EXPECT_FALSE(cache.Load("key").has_value());
  ASSERT_TRUE(cache.Store("key", m_Binary));
  EXPECT_EQ(cache.Load("key").value_or(""), m_Binary);
  EXPECT_FALSE(cache.Load("another key").has_value());
  ASSERT_TRUE(cache.Store("key", "new"));
  EXPECT_EQ(KernelCache(m_Folder).Load("key").value_or(""), "new");
}

TEST_F(CudaMedianKernelCache, IsPrivateAndLeavesNoTemporaryFiles)
{
  const KernelCache cache(m_Folder);
  ASSERT_TRUE(cache.Store("key", m_Binary));
  EXPECT_EQ(fs::status(m_Folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(cache.GetFile("key")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(m_Folder), fs::directory_iterator()), 1);
}

TEST_F(CudaMedianKernelCache, IgnoresEveryDamagedFile)
{
  const KernelCache cache(m_Folder);
  ASSERT_TRUE(cache.Store("key", m_Binary));
  const auto whole = Read(cache.GetFile("key"));
  for (std::size_t i = 0; i < whole.size(); i += i < 200 ? 1 : 97)
  {
    auto damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    std::ofstream(cache.GetFile("key"), std::ios::binary) << damaged;
    EXPECT_FALSE(cache.Load("key").has_value()) << "byte " << i;
  }
  for (const std::size_t size : { std::size_t{ 0 }, std::size_t{ 10 }, whole.size() - 1 })
  {
    std::ofstream(cache.GetFile("key"), std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(cache.Load("key").has_value()) << "cut to " << size;
  }
  std::ofstream(cache.GetFile("key"), std::ios::binary) << whole << "more";
  EXPECT_FALSE(cache.Load("key").has_value());
  EXPECT_TRUE(cache.Store("key", m_Binary));
  EXPECT_EQ(cache.Load("key").value_or(""), m_Binary);
}

TEST_F(CudaMedianKernelCache, TakesNoFileOfAnotherKey)
{
  const KernelCache cache(m_Folder);
  ASSERT_TRUE(cache.Store("key", m_Binary));
  fs::rename(cache.GetFile("key"), cache.GetFile("yek"));
  EXPECT_FALSE(cache.Load("yek").has_value());
}

TEST_F(CudaMedianKernelCache, IsNotUsedWhereOthersMayWrite)
{
  const KernelCache cache(m_Folder);
  ASSERT_TRUE(cache.Store("key", m_Binary));
  fs::permissions(m_Folder, fs::perms::owner_all | fs::perms::others_write);
  EXPECT_FALSE(cache.Load("key").has_value());
  EXPECT_FALSE(cache.Store("key", m_Binary));
}

TEST_F(CudaMedianKernelCache, WhatWasNotUsedForLongestGoesFirst)
{
  const auto        hour = std::chrono::hours(1);
  const auto        now = fs::file_time_type::clock::now();
  const KernelCache cache(m_Folder, 4 * (m_Binary.size() + 200));
  for (int i = 0; i < 4; ++i)
  {
    const auto key = "key " + std::to_string(i);
    ASSERT_TRUE(cache.Store(key, m_Binary));
    fs::last_write_time(cache.GetFile(key), now - (10 - i) * hour);
  }
  std::ofstream(m_Folder / "of somebody else") << m_Binary;
  // A use counts as much as a store.
  ASSERT_TRUE(cache.Load("key 0").has_value());
  ASSERT_TRUE(cache.Store("key 4", m_Binary));
  EXPECT_TRUE(cache.Load("key 0").has_value());
  EXPECT_FALSE(cache.Load("key 1").has_value());
  EXPECT_TRUE(cache.Load("key 2").has_value());
  EXPECT_TRUE(cache.Load("key 3").has_value());
  EXPECT_TRUE(cache.Load("key 4").has_value());
  EXPECT_TRUE(fs::exists(m_Folder / "of somebody else"));
}

TEST_F(CudaMedianKernelCache, OneKernelIsKeptWhateverItsSize)
{
  const KernelCache cache(m_Folder, 10);
  ASSERT_TRUE(cache.Store("key", m_Binary));
  EXPECT_TRUE(cache.Load("key").has_value());
  ASSERT_TRUE(cache.Store("another", m_Binary));
  EXPECT_TRUE(cache.Load("another").has_value());
  EXPECT_FALSE(cache.Load("key").has_value());
}

TEST_F(CudaMedianKernelCache, TemporaryFilesOfProcessesThatEndedGo)
{
  const KernelCache cache(m_Folder);
  ASSERT_TRUE(cache.Store("key", m_Binary));
  const auto left = fs::path(cache.GetFile("key").string() + ".new12345");
  const auto fresh = fs::path(cache.GetFile("key").string() + ".new67890");
  std::ofstream(left) << "half";
  std::ofstream(fresh) << "half";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_TRUE(cache.Store("another", m_Binary));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(fresh)); // somebody may be writing it
}

TEST_F(CudaMedianKernelCache, DoesWithoutAFolder)
{
  EXPECT_FALSE(KernelCache(fs::path()).Store("key", m_Binary));
  EXPECT_FALSE(KernelCache(fs::path()).Load("key").has_value());
  // A file where the folder should be.
  std::ofstream(m_Root / "file") << "text";
  EXPECT_FALSE(KernelCache(m_Root / "file").Store("key", m_Binary));
  EXPECT_FALSE(KernelCache(m_Root / "file" / "below").Store("key", m_Binary));
  EXPECT_FALSE(KernelCache(m_Root / "file").Load("key").has_value());
}

TEST_F(CudaMedianKernelCache, DoesWithoutPermissionToWrite)
{
  if (::geteuid() == 0)
  {
    GTEST_SKIP() << "the root user may write everywhere";
  }
  fs::permissions(m_Root, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_FALSE(KernelCache(m_Folder).Store("key", m_Binary));
  fs::permissions(m_Root, fs::perms::owner_all);
}

TEST_F(CudaMedianKernelCache, DifferentKeysHaveDifferentFiles)
{
  const KernelCache  cache(m_Folder);
  std::set<fs::path> files;
  for (int i = 0; i < 1000; ++i)
  {
    files.insert(cache.GetFile(std::to_string(i)));
  }
  EXPECT_EQ(files.size(), 1000U);
}

TEST_F(CudaMedianKernelCache, FollowsTheEnvironment)
{
  const char *      before = std::getenv("XDG_CACHE_HOME");
  const std::string old = before == nullptr ? "" : before;
  ::setenv("XDG_CACHE_HOME", m_Root.c_str(), 1);
  EXPECT_EQ(KernelCache::GetDefaultFolder(), m_Root / "cudamedian");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_NE(KernelCache::GetDefaultFolder(), fs::path("relative") / "cudamedian");
  if (before == nullptr)
  {
    ::unsetenv("XDG_CACHE_HOME");
  }
  else
  {
    ::setenv("XDG_CACHE_HOME", old.c_str(), 1);
  }
}
