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
#ifndef CudaMedianPythonObjects_h
#define CudaMedianPythonObjects_h

#include <nanobind/nanobind.h>

/** Python's objects as a call that is like an earlier one reads them: a few of CPython's functions, and no search by
 * text. Each throws nanobind::python_error where Python has raised something. */

namespace cudamedian::python
{

namespace nb = nanobind;

/** A name that Python compares by its address. It lives as long as the process. */
class Name
{
public:
  explicit Name(const char * text)
    : m_Text(PyUnicode_InternFromString(text))
  {}
  operator PyObject *() const { return m_Text; }

private:
  PyObject * m_Text;
};

/** The attributes that calls read. */
struct Names
{
  Name shape{ "shape" };
  Name dtype{ "dtype" };
  Name base{ "base" };
  Name data{ "data" };
  Name ptr{ "ptr" };
  Name deviceId{ "device_id" };
  Name flags{ "flags" };
  Name isCContiguous{ "c_contiguous" };
  Name isCContiguousOfCuPy{ "_c_contiguous" };
  Name arrayStruct{ "__array_struct__" };
  Name isCuda{ "is_cuda" };
  Name requiresGrad{ "requires_grad" };
  Name isNegated{ "is_neg" };
  Name isContiguous{ "is_contiguous" };
  Name address{ "data_ptr" };
  Name device{ "get_device" };
  Name cudaStream{ "cuda_stream" };
};

/** Made with the first use, when there is an interpreter. */
inline const Names &
GetNames()
{
  static const Names * const names = new Names;
  return *names;
}

inline nb::object
Checked(PyObject * object)
{
  if (object == nullptr)
  {
    throw nb::python_error();
  }
  return nb::steal(object);
}

inline bool
Checked(int answer)
{
  if (answer < 0)
  {
    throw nb::python_error();
  }
  return answer != 0;
}

inline nb::object
GetAttribute(nb::handle object, PyObject * name)
{
  return Checked(PyObject_GetAttr(object.ptr(), name));
}

inline bool
IsTrue(nb::handle object)
{
  return Checked(PyObject_IsTrue(object.ptr()));
}

/** What Python says of `one == other`; the same object is equal. */
inline bool
AreEqual(nb::handle one, nb::handle other)
{
  return Checked(PyObject_RichCompareBool(one.ptr(), other.ptr(), Py_EQ));
}

template <typename... TArguments>
nb::object
Call(nb::handle function, TArguments... arguments)
{
  // The first place is the called function's, which may put what it is bound to there.
  PyObject * const places[] = { nullptr, nb::handle(arguments).ptr()... };
  return Checked(
    PyObject_Vectorcall(function.ptr(), places + 1, sizeof...(TArguments) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

inline nb::object
CallMethod(nb::handle object, PyObject * name)
{
  PyObject * const places[] = { nullptr, object.ptr() };
  return Checked(PyObject_VectorcallMethod(name, places + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

inline void *
ToAddress(nb::handle number)
{
  auto * const address = PyLong_AsVoidPtr(number.ptr());
  if (address == nullptr && PyErr_Occurred() != nullptr)
  {
    throw nb::python_error();
  }
  return address;
}

} // namespace cudamedian::python

#endif
