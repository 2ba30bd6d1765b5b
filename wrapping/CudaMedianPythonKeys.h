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
#ifndef CudaMedianPythonKeys_h
#define CudaMedianPythonKeys_h

#include "CudaMedianPythonObjects.h"

/** What two calls have in common that are asked the same: tuples, by which Python's dictionaries find a plan. */

namespace cudamedian::python
{

/** Whether a value is None, an integer, text, or a tuple of these. Equal ones mean the same; 3 and 3.0 need not, nor
 * 1 and True: the types are these, and none that is derived from them.
 * \param levels tuples in tuples that it has at most. */
inline bool
IsPlain(PyObject * value, int levels = 8)
{
  if (value == Py_None || PyLong_CheckExact(value) || PyUnicode_CheckExact(value))
  {
    return true;
  }
  if (!PyTuple_CheckExact(value) || levels == 0)
  {
    return false;
  }
  const auto size = PyTuple_Size(value);
  for (Py_ssize_t i = 0; i < size; ++i)
  {
    if (!IsPlain(PyTuple_GetItem(value, i), levels - 1))
    {
      return false;
    }
  }
  return true;
}

/** What two numbers have in common that mean the same: an integer itself, or the bytes of a float, which tell 3
 * from 3.0 and -0.0 from 0.0, and NaN from no other. Nothing for what is neither. */
inline nb::object
NumberKey(PyObject * value)
{
  if (PyLong_CheckExact(value))
  {
    return nb::borrow(value);
  }
  if (PyFloat_CheckExact(value))
  {
    const double number = PyFloat_AsDouble(value);
    return Checked(PyBytes_FromStringAndSize(reinterpret_cast<const char *>(&number), sizeof(number)));
  }
  return {};
}

/** The shape of a footprint of NumPy, and which of its pixels are not 0. */
inline nb::object
FootprintKey(nb::handle footprint)
{
  const auto type = nb::handle(reinterpret_cast<PyObject *>(&PyBool_Type));
  return nb::make_tuple(footprint.attr("shape"), footprint.attr("astype")(type).attr("tobytes")());
}

/** An array that is filtered, and what each of its calls reads of it. */
struct Array
{
  explicit Array(nb::handle array)
    : object(array)
    , shape(GetAttribute(array, GetNames().shape))
    , dtype(GetAttribute(array, GetNames().dtype))
  {}
  PyTypeObject *
  GetType() const
  {
    return Py_TYPE(object.ptr());
  }

  nb::handle object;
  nb::object shape;
  nb::object dtype;
};

} // namespace cudamedian::python

#endif
