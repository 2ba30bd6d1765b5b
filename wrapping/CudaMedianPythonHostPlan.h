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
#ifndef CudaMedianPythonHostPlan_h
#define CudaMedianPythonHostPlan_h

#include "CudaMedianCInterface.h"
#include "CudaMedianPythonPlan.h"

#include <cstring>

namespace cudamedian::python
{

/** What an array of NumPy says of itself by __array_struct__, as NumPy's array interface, version 3, lays it out. */
struct ArrayInterface
{
  int        two;
  int        axes;
  char       kind;
  int        pixelBytes;
  int        flags;
  intptr_t * shape;
  intptr_t * strides;
  void *     data;
  PyObject * description;
};

/** Where the pixels of an array of NumPy lie. NumPy's own headers are not needed to know, nor one of its versions. */
class HostMemory
{
public:
  explicit HostMemory(nb::handle array)
    : m_Capsule(GetAttribute(array, GetNames().arrayStruct))
    , m_Interface(static_cast<const ArrayInterface *>(PyCapsule_GetPointer(m_Capsule.ptr(), nullptr)))
  {
    if (m_Interface == nullptr)
    {
      throw nb::python_error();
    }
  }

  void *
  GetData() const
  {
    return m_Interface->data;
  }

  /** Whether pixels follow each other, and each starts at a multiple of its size. */
  bool
  IsPlain() const
  {
    constexpr int contiguous = 0x1, aligned = 0x100;
    return (m_Interface->flags & (contiguous | aligned)) == (contiguous | aligned);
  }

  bool
  IsWritable() const
  {
    return (m_Interface->flags & 0x400) != 0;
  }

  /** Whether two arrays have a byte in common, the pixels of each following each other. */
  bool
  Overlaps(const HostMemory & other) const
  {
    const auto mine = reinterpret_cast<uintptr_t>(GetData());
    const auto others = reinterpret_cast<uintptr_t>(other.GetData());
    return mine < others + other.CountBytes() && others < mine + CountBytes();
  }

private:
  uintptr_t
  CountBytes() const
  {
    auto bytes = static_cast<uintptr_t>(m_Interface->pixelBytes);
    for (int axis = 0; axis < m_Interface->axes; ++axis)
    {
      bytes *= static_cast<uintptr_t>(m_Interface->shape[axis]);
    }
    return bytes;
  }

  nb::object             m_Capsule;
  const ArrayInterface * m_Interface;
};

/** A request for arrays of NumPy. */
class HostPlan : public Plan
{
public:
  explicit HostPlan(nb::object prepared)
    : Plan(std::move(prepared))
    , m_Function(GetFunction<decltype(CudaMedianRun)>())
    , m_Type(GetNumPy("ndarray"))
    , m_Make(GetNumPy("empty"))
  {
    const auto request = nb::cast<nb::bytes>(GetPrepared().attr("request"));
    if (request.size() != sizeof(m_Request))
    {
      throw nb::value_error("the Python files and the compiled module are of different versions");
    }
    std::memcpy(&m_Request, request.data(), sizeof(m_Request));
  }

  nb::object
  Run(const Array & array, nb::handle output) const override
  {
    const HostMemory source(array.object);
    if (!source.IsPlain())
    {
      return {};
    }
    const bool isNew = output.is_none();
    if (!isNew && !IsLike(array, output))
    {
      return {};
    }
    auto             result = isNew ? Call(m_Make, array.shape, array.dtype) : nb::borrow(output);
    const HostMemory target(result);
    if (!isNew && !(target.IsPlain() && target.IsWritable() && !target.Overlaps(source)))
    {
      return {};
    }
    Filter(source.GetData(), target.GetData());
    return result;
  }

private:
  static nb::object
  GetNumPy(const char * name)
  {
    return nb::module_::import_("numpy").attr(name);
  }

  /** Whether an output is an array of NumPy's own with memory of its own, and has the shape and the type of the input.
   */
  bool
  IsLike(const Array & array, nb::handle output) const
  {
    const auto & names = GetNames();
    return reinterpret_cast<PyObject *>(Py_TYPE(output.ptr())) == m_Type.ptr() &&
           GetAttribute(output, names.base).is_none() && AreEqual(GetAttribute(output, names.dtype), array.dtype) &&
           AreEqual(GetAttribute(output, names.shape), array.shape);
  }

  /** Other Python threads run meanwhile. */
  void
  Filter(const void * input, void * output) const
  {
    auto request = m_Request;
    request.input = input;
    request.output = output;
    char text[8192];
    int  status = CudaMedianDone;
    {
      const ReleasedInterpreterLock released;
      status = m_Function(&request, text, sizeof(text));
    }
    if (status != CudaMedianDone)
    {
      GetPrepared().attr("fail")(status, nb::bytes(text));
    }
  }

  decltype(CudaMedianRun) * m_Function;
  CudaMedianRequest         m_Request;
  nb::object                m_Type;
  nb::object                m_Make;
};

} // namespace cudamedian::python

#endif
