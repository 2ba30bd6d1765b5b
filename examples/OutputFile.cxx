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

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace fs = std::filesystem;

namespace
{

/** A directory that exists as long as the object and takes its content with it. */
class TemporaryDirectory
{
public:
  explicit TemporaryDirectory(const fs::path & parent)
  {
    std::string name = (parent / ".CudaMedianImageFilter.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
    {
      throw UserError("cannot write to directory '" + parent.string() + "': " + std::strerror(errno));
    }
    m_Path = name;
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &
  operator=(const TemporaryDirectory &) = delete;
  ~TemporaryDirectory()
  {
    std::error_code ignored;
    fs::remove_all(m_Path, ignored);
  }

  const fs::path &
  Path() const
  {
    return m_Path;
  }

private:
  fs::path m_Path;
};

fs::path
ParentDirectory(const fs::path & path)
{
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

} // namespace

OutputFile::OutputFile(const std::string & path) : m_Destination(path)
{
  std::error_code error;
  if (fs::is_symlink(m_Destination, error) && fs::exists(m_Destination, error))
  {
    // Moving a file onto a link would replace the link, not the file it names.
    m_Destination = fs::canonical(m_Destination, error);
  }
  const fs::path directory = ParentDirectory(m_Destination);
  if (!fs::is_directory(directory, error))
  {
    throw UserError("cannot write '" + path + "': there is no directory '" + directory.string() + "'");
  }
  if (access(directory.c_str(), W_OK | X_OK) != 0)
  {
    throw UserError("cannot write '" + path + "': " + std::strerror(errno));
  }
  if (fs::exists(m_Destination, error))
  {
    if (!fs::is_regular_file(m_Destination, error))
    {
      throw UserError("cannot write '" + path + "': it exists and is not an ordinary file");
    }
    if (access(m_Destination.c_str(), W_OK) != 0)
    {
      throw UserError("cannot write '" + path + "': " + std::strerror(errno));
    }
  }
}

void
OutputFile::Write(const std::function<void(const std::string &)> & write) const
{
  const fs::path           directory = ParentDirectory(m_Destination);
  const TemporaryDirectory temporary(directory);
  const fs::path           main = m_Destination.filename();
  write((temporary.Path() / main).string());

  std::vector<fs::path> names;
  for (const fs::directory_entry & entry : fs::directory_iterator(temporary.Path()))
  {
    if (entry.path().filename() != main)
    {
      names.push_back(entry.path().filename());
    }
  }
  // The named file last: it is a header when there are several, and must not appear before its data.
  names.push_back(main);
  for (const fs::path & name : names)
  {
    std::error_code error;
    fs::rename(temporary.Path() / name, directory / name, error);
    if (error)
    {
      throw UserError("cannot write '" + (directory / name).string() + "': " + error.message());
    }
  }
}
