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
// A pipeline that notes who held the interpreter's lock, for test_python_update.py.

#include "CudaMedianPythonUpdate.h"

#include <exception>
#include <stdexcept>

namespace
{

/** Bits of what DescribeUpdate() returns. */
enum Observation
{
  HeldBefore = 1,
  HeldUpstream = 2,
  HeldInFilter = 4,
  HeldByObserver = 8,
  HeldAfter = 16,
  UpdatedWhole = 32,
  FilterRan = 64,
  ExceptionPassed = 128
};

/** What ITK's filters and images have of what UpdateWithoutLock() calls. */
class NotingFilter
{
public:
  class InputImageType
  {
  public:
    explicit InputImageType(NotingFilter * filter)
      : m_Filter(filter)
    {}
    void
    UpdateOutputData()
    {
      m_Filter->Note(HeldUpstream);
    }

  private:
    NotingFilter * m_Filter;
  };

  class OutputImageType
  {
  public:
    explicit OutputImageType(NotingFilter * filter)
      : m_Filter(filter)
    {}
    void
    UpdateOutputInformation()
    {}
    void
    SetRequestedRegionToLargestPossibleRegion()
    {
      m_Filter->m_Seen |= UpdatedWhole;
    }
    void
    PropagateRequestedRegion()
    {}
    void
    UpdateOutputData()
    {
      m_Filter->Run();
    }

  private:
    NotingFilter * m_Filter;
  };

  explicit NotingFilter(bool fails)
    : m_Fails(fails)
  {}
  OutputImageType *
  GetOutput()
  {
    return &m_Output;
  }
  const InputImageType *
  GetInput() const
  {
    return &m_Input;
  }
  void
  Note(Observation who)
  {
    m_Seen |= PyGILState_Check() != 0 ? who : 0;
  }
  int
  GetSeen() const
  {
    return m_Seen;
  }

private:
  void
  Run()
  {
    m_Seen |= FilterRan;
    this->Note(HeldInFilter);
    // As ITK's command does, which calls an observer that is written in Python.
    const PyGILState_STATE state = PyGILState_Ensure();
    this->Note(HeldByObserver);
    PyGILState_Release(state);
    if (m_Fails)
    {
      throw std::runtime_error("the filter failed");
    }
  }

  bool            m_Fails;
  int             m_Seen{ 0 };
  InputImageType  m_Input{ this };
  OutputImageType m_Output{ this };
};

} // namespace

/** Updates such a filter, and returns what was seen as bits of Observation. */
extern "C" int
DescribeUpdate(int whole, int fails)
{
  NotingFilter filter(fails != 0);
  filter.Note(HeldBefore);
  bool passed = false;
  try
  {
    cudamedian::UpdateWithoutLock(&filter, whole != 0);
  }
  catch (const std::exception &)
  {
    passed = true;
  }
  filter.Note(HeldAfter);
  return filter.GetSeen() | (passed ? ExceptionPassed : 0);
}
