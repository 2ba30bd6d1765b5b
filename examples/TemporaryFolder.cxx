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
#include "TemporaryFolder.h"

#include "Interruption.h"
#include "Options.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <random>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace
{

constexpr char Prefix[] = ".CudaMedianImageFilter.";
constexpr char OldPrefix[] = ".CudaMedianOld.";
constexpr char NewPrefix[] = ".CudaMedianNew.";
constexpr int  FolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// What follows up to RemoveFolder() runs in signal handlers too: no memory is allocated, no stream is used.

bool
StartsWith(const char * text, const char * prefix)
{
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

/** Calls `visit(name)` for every entry of a folder but itself and its parent. */
template <typename TVisit>
void
ForEachEntry(int folder, const TVisit & visit)
{
  // What getdents64 fills in; readdir would allocate.
  struct Entry
  {
    std::uint64_t  inode;
    std::int64_t   offset;
    unsigned short length;
    unsigned char  type;
    char           name[1];
  };
  alignas(8) char buffer[4096];
  lseek(folder, 0, SEEK_SET);
  for (;;)
  {
    const long bytes = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));
    if (bytes <= 0)
    {
      return;
    }
    for (long position = 0; position < bytes;)
    {
      const auto * const entry = reinterpret_cast<const Entry *>(buffer + position);
      position += entry->length;
      if (std::strcmp(entry->name, ".") != 0 && std::strcmp(entry->name, "..") != 0)
      {
        visit(static_cast<const char *>(entry->name));
      }
    }
  }
}

/** What is under a name, a link itself and not what it names. */
struct FileIdentity
{
  bool   exists{ false };
  dev_t  device{ 0 };
  ino_t  inode{ 0 };
  mode_t mode{ 0 };
  uid_t  owner{ 0 };
  gid_t  group{ 0 };
  off_t  size{ 0 };

  FileIdentity(int folder, const char * name)
  {
    struct stat status = {};
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
    {
      exists = true;
      device = status.st_dev;
      inode = status.st_ino;
      mode = status.st_mode;
      owner = status.st_uid;
      group = status.st_gid;
      size = status.st_size;
    }
  }

  bool
  IsSameFileAs(const FileIdentity & other) const
  {
    return exists && other.exists && device == other.device && inode == other.inode;
  }
};

/** Puts the files back that a move has replaced, if it did not come to its end. */
void
UndoMove(int folder, int parent)
{
  bool unfinished = false;
  bool changedByOthers = false;
  ForEachEntry(folder, [&](const char * record) {
    const bool isOld = StartsWith(record, OldPrefix);
    if (!isOld && !StartsWith(record, NewPrefix))
    {
      return;
    }
    const char * const name = record + (sizeof(OldPrefix) - 1);
    if (FileIdentity(folder, name).exists)
    {
      unfinished = true;
      // A file that is not in place yet cannot have changed its predecessor; if that is another one now, somebody
      // else has written it since, and it is no longer ours to put back.
      const FileIdentity now(parent, name);
      changedByOthers = changedByOthers || (now.exists && !(isOld && now.IsSameFileAs(FileIdentity(folder, record))));
    }
  });
  if (!unfinished || changedByOthers)
  {
    return;
  }
  ForEachEntry(folder, [&](const char * record) {
    const char * const name = record + (sizeof(OldPrefix) - 1);
    if (StartsWith(record, OldPrefix))
    {
      // Where both names are the same file this does nothing, as it should.
      renameat(folder, record, parent, name);
    }
    else if (StartsWith(record, NewPrefix) && !FileIdentity(folder, name).exists)
    {
      const FileIdentity mark(folder, record);
      const FileIdentity now(parent, name);
      // An empty mark comes from a file system without hard links.
      if (mark.size == 0 || now.IsSameFileAs(mark))
      {
        unlinkat(parent, name, 0);
      }
    }
  });
}

void
RemoveFolder(int folder, const char * path)
{
  // A listing may miss entries while others are removed: until nothing is left, with an end should something stay.
  for (int attempt = 0; attempt < 100; ++attempt)
  {
    bool any = false;
    ForEachEntry(folder, [&](const char * name) {
      any = true;
      if (unlinkat(folder, name, 0) != 0)
      {
        unlinkat(folder, name, AT_REMOVEDIR);
      }
    });
    if (!any && rmdir(path) == 0)
    {
      return;
    }
  }
}

[[noreturn]] void
ThrowError(const fs::path & path, int error)
{
  throw UserError("cannot write '" + path.string() + "': " + std::strerror(error));
}

/** Gives a new file the permissions and the owner of the one that it replaces. */
void
CopyPermissions(int folder, const std::string & name, const FileIdentity & old)
{
  if (fchownat(folder, name.c_str(), old.owner, old.group, AT_SYMLINK_NOFOLLOW) != 0)
  {
    // Only root may give files away. The group alone can be one of the user's own.
    const int ignored = fchownat(folder, name.c_str(), static_cast<uid_t>(-1), old.group, AT_SYMLINK_NOFOLLOW);
    static_cast<void>(ignored);
  }
  fchmodat(folder, name.c_str(), old.mode & 07777, 0);
}

/** Records what stands at the destination, so that it can be put back. \returns an error number, or 0 */
int
RecordPredecessor(int folder, int parent, const std::string & name, const FileIdentity & old)
{
  if (old.exists)
  {
    const std::string record = OldPrefix + name;
    if (linkat(parent, name.c_str(), folder, record.c_str(), 0) == 0)
    {
      return 0;
    }
    // Without hard links the old file itself has to step aside for a moment.
    return renameat(parent, name.c_str(), folder, record.c_str()) == 0 ? 0 : errno;
  }
  const std::string record = NewPrefix + name;
  if (linkat(folder, name.c_str(), folder, record.c_str(), 0) == 0)
  {
    return 0;
  }
  const int mark = openat(folder, record.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (mark < 0)
  {
    return errno;
  }
  close(mark);
  return 0;
}

std::string
RandomName()
{
  constexpr char     letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string        name = Prefix;
  for (int i = 0; i < 12; ++i)
  {
    name += letters[random() % (sizeof(letters) - 1)];
  }
  return name;
}

} // namespace

TemporaryFolder::TemporaryFolder(const fs::path & parent)
{
  const auto fail = [&](int error) {
    Interruption::SetFolder("");
    throw UserError("cannot write to directory '" + parent.string() + "': " + std::strerror(error));
  };
  for (;;)
  {
    m_Path = fs::absolute(parent) / RandomName();
    // Known before it exists: whenever the program is killed, there is somebody who removes it.
    Interruption::SetFolder(m_Path.string());
    if (mkdir(m_Path.c_str(), 0700) != 0)
    {
      if (errno != EEXIST)
      {
        fail(errno);
      }
      continue;
    }
    m_Folder = open(m_Path.c_str(), FolderFlags);
    if (m_Folder < 0 && errno != ENOENT)
    {
      const int error = errno;
      rmdir(m_Path.c_str());
      fail(error);
    }
    if (m_Folder < 0)
    {
      continue;
    }
    // Some network file systems lock no folders. Others then cannot lock this one either, and leave it alone.
    flock(m_Folder, LOCK_EX);
    m_Parent = openat(m_Folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat status = {};
    if (m_Parent >= 0 && fstat(m_Folder, &status) == 0 && status.st_nlink > 0)
    {
      return;
    }
    // Somebody took it for an abandoned one before it was locked.
    close(m_Parent);
    close(m_Folder);
  }
}

TemporaryFolder::~TemporaryFolder()
{
  if (FileIdentity(AT_FDCWD, m_Path.c_str()).exists)
  {
    UndoMove(m_Folder, m_Parent);
    RemoveFolder(m_Folder, m_Path.c_str());
  }
  close(m_Parent);
  close(m_Folder);
}

std::vector<std::string>
TemporaryFolder::Names() const
{
  std::vector<std::string> names;
  ForEachEntry(m_Folder, [&](const char * name) { names.emplace_back(name); });
  return names;
}

void
TemporaryFolder::Synchronize() const
{
  for (const std::string & name : this->Names())
  {
    const int file = openat(m_Folder, name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || fsync(file) != 0)
    {
      const int error = errno;
      if (file >= 0)
      {
        close(file);
      }
      ThrowError(m_Path.parent_path() / name, error);
    }
    close(file);
  }
}

std::string
TemporaryFolder::WhyFull() const
{
  // A file's last block has room even on a full disk, and a limit of the size holds for each file: more is added to
  // what the files hold, and what does not fit says why.
  const int probe = openat(m_Folder, ".CudaMedianProbe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (probe < 0)
  {
    return std::strerror(errno);
  }
  close(probe);
  const std::vector<char> block(1 << 20, 1);
  for (const std::string & name : this->Names())
  {
    const int file = openat(m_Folder, name.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0)
    {
      continue;
    }
    int error = 0;
    for (std::size_t done = 0; done < block.size() && error == 0;)
    {
      const ssize_t bytes = write(file, block.data(), block.size() - done);
      if (bytes < 0 && errno != EINTR)
      {
        error = errno;
      }
      done += bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    }
    close(file);
    if (error != 0)
    {
      return std::strerror(error);
    }
  }
  return "";
}

void
TemporaryFolder::MoveToParent(const std::vector<std::string> & names) const
{
  const fs::path directory = m_Path.parent_path();
  for (const std::string & name : names)
  {
    const std::string reason = WhyNotReplaced(directory / name);
    if (!reason.empty())
    {
      throw UserError("cannot write '" + (directory / name).string() + "': " + reason);
    }
  }
  for (const std::string & name : names)
  {
    const FileIdentity old(m_Parent, name.c_str());
    if (old.exists)
    {
      CopyPermissions(m_Folder, name, old);
    }
    // One file takes the other's place in a single step that either happens or does not.
    const int error = names.size() > 1 ? RecordPredecessor(m_Folder, m_Parent, name, old) : 0;
    if (error != 0)
    {
      UndoMove(m_Folder, m_Parent);
      ThrowError(directory / name, error);
    }
  }
  if (names.size() > 1)
  {
    fsync(m_Folder);
  }
  for (const std::string & name : names)
  {
    if (renameat(m_Folder, name.c_str(), m_Parent, name.c_str()) != 0)
    {
      const int error = errno;
      UndoMove(m_Folder, m_Parent);
      ThrowError(directory / name, error);
    }
  }
  // Some file systems cannot do this for folders, which is no sign of a fault.
  if (fsync(m_Parent) != 0 && errno != EINVAL && errno != ENOTSUP)
  {
    throw UserError("'" + (directory / names.back()).string() +
                    "' is in place, but the disk may not keep it: " + std::strerror(errno));
  }
}

void
TemporaryFolder::MoveTo(const std::string & name) const
{
  const fs::path     destination = m_Path.parent_path() / name;
  const FileIdentity old(m_Parent, name.c_str());
  const mode_t       mask = umask(0);
  umask(mask);
  constexpr mode_t everybody = S_IRWXU | S_IRWXG | S_IRWXO;
  if (old.exists)
  {
    CopyPermissions(m_Parent, m_Path.filename(), old);
  }
  else
  {
    fchmod(m_Folder, everybody & ~mask);
  }
  fsync(m_Folder);
  // An empty folder gives way; one that somebody has filled meanwhile does not, and neither does a file.
  if (renameat(m_Parent, m_Path.filename().c_str(), m_Parent, name.c_str()) != 0)
  {
    ThrowError(destination, errno);
  }
  if (fsync(m_Parent) != 0 && errno != EINVAL && errno != ENOTSUP)
  {
    throw UserError("'" + destination.string() +
                    "' is in place, but the disk may not keep it: " + std::strerror(errno));
  }
}

void
AbandonFolder(const char * path)
{
  const int folder = open(path, FolderFlags);
  if (folder < 0)
  {
    return;
  }
  struct stat status = {};
  const int   parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid())
  {
    UndoMove(folder, parent);
    RemoveFolder(folder, path);
  }
  close(parent);
  close(folder);
}

void
ClearAbandonedFolders(const fs::path & parent)
{
  const int directory = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
  {
    return;
  }
  std::vector<std::string> names;
  ForEachEntry(directory, [&](const char * name) {
    if (StartsWith(name, Prefix))
    {
      names.emplace_back(name);
    }
  });
  close(directory);
  for (const std::string & name : names)
  {
    const fs::path path = parent / name;
    const int      folder = open(path.c_str(), FolderFlags);
    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0)
    {
      AbandonFolder(path.c_str());
    }
    close(folder);
  }
}

std::string
WhyNotReplaced(const fs::path & path)
{
  const FileIdentity file(AT_FDCWD, path.c_str());
  if (!file.exists)
  {
    return "";
  }
  if (S_ISLNK(file.mode))
  {
    return "it is a link";
  }
  if (!S_ISREG(file.mode))
  {
    return "it exists and is not an ordinary file";
  }
  // Root may write everything. A file that has no permission to be written, though, was meant to stay.
  constexpr mode_t anybody = S_IWUSR | S_IWGRP | S_IWOTH;
  if ((file.mode & anybody) == 0)
  {
    return "it is read-only";
  }
  return access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
}
