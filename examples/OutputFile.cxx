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
#include "OutputFile.h"

#include "Options.h"
#include "TemporaryFolder.h"
#include "WriterProcess.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

namespace fs = std::filesystem;

namespace
{

fs::path
ParentDirectory(const fs::path & path)
{
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

[[noreturn]] void
Refuse(const std::string & path, const std::string & reason)
{
  throw UserError("cannot write '" + path + "': " + reason);
}

/** The file that a link leads to in the end, whether there is one yet or not. */
fs::path
FollowLinks(const std::string & path)
{
  constexpr int   mostLinks = 40; // as the kernel has it
  fs::path        file = path;
  std::error_code error;
  for (int links = 0; links < mostLinks; ++links)
  {
    if (!fs::is_symlink(file, error))
    {
      return file;
    }
    const fs::path target = fs::read_symlink(file, error);
    if (error)
    {
      Refuse(path, error.message());
    }
    file = ParentDirectory(file) / target;
  }
  Refuse(path, std::strerror(ELOOP));
}

/** The data file that a format of two files writes beside a header, or the header beside its data; empty for others. */
fs::path
Companion(const fs::path & path)
{
  constexpr std::pair<const char *, const char *> pairs[] = {
    { ".mhd", ".raw" }, { ".nhdr", ".raw" }, { ".hdr", ".img" }, { ".img", ".hdr" }, { ".img.gz", ".hdr.gz" },
  };
  const std::string name = path.string();
  for (const auto & [extension, other] : pairs)
  {
    const std::size_t length = std::strlen(extension);
    if (name.size() > length && name.compare(name.size() - length, length, extension) == 0)
    {
      return name.substr(0, name.size() - length) + other;
    }
  }
  return {};
}

} // namespace

OutputFile::OutputFile(const std::string & path)
{
  std::error_code error;
  // Asked first with links followed: a link may lead to a pipe or a device, as /dev/stdout does.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
  {
    Refuse(path, "it exists and is not an ordinary file");
  }
  m_Destination = FollowLinks(path);
  const fs::path directory = ParentDirectory(m_Destination);
  if (!fs::is_directory(directory, error))
  {
    Refuse(path, "there is no directory '" + directory.string() + "'");
  }
  if (m_Destination.filename().empty())
  {
    Refuse(path, "it names a directory");
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0)
  {
    Refuse(path, "directory '" + directory.string() + "': " + std::strerror(errno));
  }
  const std::string reason = WhyNotReplaced(m_Destination);
  if (!reason.empty())
  {
    Refuse(path, reason);
  }
  const fs::path companion = Companion(m_Destination);
  if (!companion.empty() && fs::exists(fs::symlink_status(companion, error)))
  {
    const std::string otherReason = WhyNotReplaced(companion);
    if (!otherReason.empty())
    {
      Refuse(path, "its other file is '" + companion.string() + "', and " + otherReason);
    }
    if (!fs::exists(m_Destination, error))
    {
      Refuse(path, "'" + companion.string() + "' would be replaced, which belongs to another image");
    }
  }
  ClearAbandonedFolders(directory);
}

void
OutputFile::Write(const std::function<void(const std::string &)> & write,
                  const std::function<void(const std::string &)> & check) const
{
  const TemporaryFolder folder(ParentDirectory(m_Destination));
  const std::string     main = m_Destination.filename();
  const std::string     path = folder.Path() / main;
  try
  {
    WriteApart(write, path);
    folder.Synchronize();
    check(path);
  }
  catch (const std::exception &)
  {
    // Most formats see that something went wrong, but not what; some see nothing, and only the check does.
    const std::string reason = folder.WhyFull();
    if (!reason.empty())
    {
      Refuse(m_Destination.string(), reason);
    }
    throw;
  }
  std::vector<std::string> names = folder.Names();
  // The named file last: it is a header when there are several, and must not appear before its data.
  std::stable_partition(names.begin(), names.end(), [&](const std::string & name) { return name != main; });
  folder.MoveToParent(names);
}
