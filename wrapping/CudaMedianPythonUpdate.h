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
#ifndef CudaMedianPythonUpdate_h
#define CudaMedianPythonUpdate_h

#include "CudaMedianInterpreterEnd.h"

#include <Python.h>

namespace cudamedian
{

/** Holds the interpreter's lock as long as it lives, whether or not this thread held it before. SWIG's wrapper of a
 * method has released it where ITK was built with ITK_PYTHON_RELEASE_GIL, and holds it elsewhere. PyGILState_Check()
 * would tell the two apart, but Python's stable ABI has it not. */
class HeldInterpreterLock
{
public:
  HeldInterpreterLock()
  {
    EnterInterpreter([this] { m_State = PyGILState_Ensure(); });
  }
  ~HeldInterpreterLock() { PyGILState_Release(m_State); }
  HeldInterpreterLock(const HeldInterpreterLock &) = delete;
  HeldInterpreterLock &
  operator=(const HeldInterpreterLock &) = delete;

private:
  PyGILState_STATE m_State{};
};

/** Lets other Python threads run as long as it lives; takes the interpreter's lock again also when an exception passes.
 */
class ReleasedInterpreterLock
{
public:
  ReleasedInterpreterLock()
    : m_State(PyEval_SaveThread())
  {}
  ~ReleasedInterpreterLock()
  {
    EnterInterpreter([this] { PyEval_RestoreThread(m_State); });
  }
  ReleasedInterpreterLock(const ReleasedInterpreterLock &) = delete;
  ReleasedInterpreterLock &
  operator=(const ReleasedInterpreterLock &) = delete;

private:
  PyThreadState * m_State;
};

/** ProcessObject::Update(), or UpdateLargestPossibleRegion(), with the interpreter's lock released while the filter
 * itself runs. What is upstream runs before that with the lock, as it may be written in Python. Observers take the
 * lock. The caller has the lock afterwards if it had it before. */
template <typename TFilter>
void
UpdateWithoutLock(TFilter * filter, bool largestPossibleRegion)
{
  const HeldInterpreterLock held;
  auto * const              output = filter->GetOutput();
  output->UpdateOutputInformation();
  if (largestPossibleRegion)
  {
    output->SetRequestedRegionToLargestPossibleRegion();
  }
  output->PropagateRequestedRegion();
  const_cast<typename TFilter::InputImageType *>(filter->GetInput())->UpdateOutputData();
  const ReleasedInterpreterLock released;
  output->UpdateOutputData();
}

} // namespace cudamedian

#endif
