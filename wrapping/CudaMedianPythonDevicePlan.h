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
#ifndef CudaMedianPythonDevicePlan_h
#define CudaMedianPythonDevicePlan_h

#include "CudaMedianCInterface.h"
#include "CudaMedianPythonPlan.h"

namespace cudamedian::python
{

/** A request for arrays in device memory, whose addresses and stream are told at each run. Each attribute of an array
 * counts beside a launch of a few microseconds: those that are read are the libraries' fastest that say the same as
 * their array interface, which makes a dictionary. */
class DevicePlan : public Plan
{
protected:
  explicit DevicePlan(nb::object prepared)
    : Plan(std::move(prepared))
    , m_Function(GetFunction<decltype(CudaMedianRunPrepared)>())
    , m_Handle(static_cast<const CudaMedianPrepared *>(ToAddress(GetPrepared().attr("handle"))))
  {}

  /** Whether it went well. Where it did not, a call that is read anew says why.
   *
   * The interpreter's lock is released, though a launch takes a few microseconds: a launch waits where the stream is
   * full, maybe for a function in it that asks for the lock, and where another thread holds a lock of the engine and
   * waits for the interpreter's. */
  bool
  Launch(void * input, void * output, uint64_t stream) const
  {
    const ReleasedInterpreterLock released;
    return m_Function(m_Handle, input, output, stream) == CudaMedianDone;
  }

  /** The number of a stream; 0 and None stand for the legacy default stream, which has a number of its own. */
  static uint64_t
  ToStream(nb::handle number)
  {
    return IsTrue(number) ? static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ToAddress(number))) : 1;
  }

  /** Whether an output has the type, the pixels and the shape of the input. */
  static bool
  IsLike(const Array & array, nb::handle output)
  {
    const auto & names = GetNames();
    return Py_TYPE(output.ptr()) == array.GetType() && AreEqual(GetAttribute(output, names.dtype), array.dtype) &&
           AreEqual(GetAttribute(output, names.shape), array.shape);
  }

private:
  decltype(CudaMedianRunPrepared) * m_Function;
  const CudaMedianPrepared *        m_Handle;
};

} // namespace cudamedian::python

#endif
