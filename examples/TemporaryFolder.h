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
#ifndef TemporaryFolder_h
#define TemporaryFolder_h

#include <filesystem>
#include <string>
#include <vector>

/** \class TemporaryFolder
 * A hidden folder beside a destination. Files are written into it and then moved to the destination together.
 *
 * The folder is locked as long as the object lives, so that others know that it is in use, and it is known to
 * Interruption, which clears it away when a signal ends the program. What the folder holds says how far the moving
 * came, so that anybody who finds it can undo half a move:
 * - `name` is a new file that is not in place yet,
 * - `.CudaMedianOld.name` is the file that was at the destination before,
 * - `.CudaMedianNew.name` marks a file that had no predecessor, and is the same file. */
class TemporaryFolder
{
public:
  /** \throws UserError when the folder cannot be made. */
  explicit TemporaryFolder(const std::filesystem::path & parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &
  operator=(const TemporaryFolder &) = delete;

  const std::filesystem::path &
  Path() const
  {
    return m_Path;
  }

  /** The names of the files in it. */
  std::vector<std::string>
  Names() const;

  /** Has the disk take the files, with their content. \throws UserError when it does not. */
  void
  Synchronize() const;

  /** Why nothing more can be written here, such as "No space left on device"; empty if it can. */
  std::string
  WhyFull() const;

  /** Moves the files into the parent folder in the order of `names`: all of them, or none.
   * Each takes the permissions, and where possible the owner, of the file that it replaces.
   * \throws UserError when they cannot be moved; nothing has changed then. */
  void
  MoveToParent(const std::vector<std::string> & names) const;

  /** Gives the folder itself a name in the parent folder, in one step. There may be an empty folder of that name, of
   * which it takes the permissions. The files are no longer this object's then.
   * \throws UserError when it cannot be moved; nothing has changed then. */
  void
  MoveTo(const std::string & name) const;

private:
  std::filesystem::path m_Path;
  int                   m_Folder{ -1 };
  int                   m_Parent{ -1 };
};

/** Clears away what programs that were killed have left in a folder. Folders of programs that run are left alone. */
void
ClearAbandonedFolders(const std::filesystem::path & parent);

/** Why the file at a path must not be replaced; empty if it may, or if there is none. */
std::string
WhyNotReplaced(const std::filesystem::path & path);

/** Undoes half a move and removes the folder. Nothing happens when there is none, or when it is another user's.
 * Calls only functions that a signal handler may call. */
void
AbandonFolder(const char * path);

#endif
