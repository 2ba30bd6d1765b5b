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
#ifndef CudaMedianPythonCuPyPlan_h
#define CudaMedianPythonCuPyPlan_h

#include "CudaMedianPythonDevicePlan.h"

namespace cudamedian::python
{

/** A request for arrays of CuPy. */
class CuPyPlan : public DevicePlan
{
public:
  /** Keeps those functions of CuPy that a run calls. */
  explicit CuPyPlan(nb::object prepared)
    : DevicePlan(std::move(prepared))
  {
    const auto cupy = nb::module_::import_("cupy");
    m_Make = cupy.attr("ndarray");
    m_Device = cupy.attr("cuda").attr("runtime").attr("getDevice");
    m_Stream = cupy.attr("cuda").attr("get_current_stream");
    // What `flags` reads; to make an object of flags takes ten times as long.
    m_HasFlag = PyObject_HasAttr(m_Make.ptr(), GetNames().isCContiguousOfCuPy) != 0;
  }

  nb::object
  Run(const Array & array, nb::handle output) const override
  {
    const auto & names = GetNames();
    const auto   device = Call(m_Device);
    const auto   source = GetAttribute(array.object, names.data);
    if (!AreEqual(GetAttribute(source, names.deviceId), device) || !IsContiguous(array.object))
    {
      return {};
    }
    const bool isNew = output.is_none();
    if (!isNew && !IsLike(array, output))
    {
      return {};
    }
    auto       result = isNew ? Call(m_Make, array.shape, array.dtype) : nb::borrow(output);
    const auto target = GetAttribute(result, names.data);
    if (!isNew && !(AreEqual(GetAttribute(target, names.deviceId), device) && IsContiguous(output)))
    {
      return {};
    }
    const auto   stream = ToStream(GetAttribute(Call(m_Stream, device), names.ptr));
    void * const input = ToAddress(GetAttribute(source, names.ptr));
    return Launch(input, ToAddress(GetAttribute(target, names.ptr)), stream) ? result : nb::object();
  }

private:
  bool
  IsContiguous(nb::handle array) const
  {
    const auto & names = GetNames();
    return m_HasFlag ? IsTrue(GetAttribute(array, names.isCContiguousOfCuPy))
                     : IsTrue(GetAttribute(GetAttribute(array, names.flags), names.isCContiguous));
  }

  nb::object m_Make;
  nb::object m_Device;
  nb::object m_Stream;
  bool       m_HasFlag;
};

} // namespace cudamedian::python

#endif
