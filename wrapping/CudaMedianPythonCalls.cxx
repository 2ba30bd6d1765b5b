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
#include "CudaMedianPythonCuPyPlan.h"
#include "CudaMedianPythonHostPlan.h"
#include "CudaMedianPythonTorchPlan.h"

/** The module cudamedian._calls: what a call that is like an earlier one does, as _python_calls.py does it in Python.
 * It links no engine, but calls the one that the package has loaded. */

namespace cudamedian::python
{
namespace
{

/** Finds the plan of an earlier call with the same arguments on an array of the same type, shape and pixels. */
class Calls
{
public:
  Calls(nb::dict plans, nb::set kinds, nb::object isKind)
    : m_Plans(std::move(plans))
    , m_Kinds(std::move(kinds))
    , m_IsKind(std::move(isKind))
    , m_NumPysType(nb::module_::import_("numpy").attr("ndarray"))
  {}

  /** \returns the output or None, and the key or None. */
  nb::object
  Median(nb::handle given, nb::handle output, nb::handle cval, nb::handle percentile, nb::args plain) const
  {
    if (!HasPlans(given) || !IsPlain(plain.ptr()))
    {
      return m_Nothing;
    }
    const auto border = NumberKey(cval.ptr());
    const auto share = percentile.is_none() ? nb::none() : NumberKey(percentile.ptr());
    if (!border.is_valid() || !share.is_valid())
    {
      return m_Nothing;
    }
    const Array array(given);
    return Run(array,
               output,
               Checked(PyTuple_Pack(
                 6, array.GetType(), border.ptr(), share.ptr(), plain.ptr(), array.shape.ptr(), array.dtype.ptr())));
  }

  /** The same for a function of scipy. */
  nb::object
  Ranked(nb::handle given,
         nb::handle output,
         nb::handle name,
         nb::handle wanted,
         nb::handle size,
         nb::handle footprint,
         nb::handle mode,
         nb::handle cval,
         nb::handle origin,
         nb::handle axes) const
  {
    if (!HasPlans(given) || !IsPlain(size.ptr()) || !IsPlain(mode.ptr()) || !IsPlain(origin.ptr()) ||
        !IsPlain(axes.ptr()))
    {
      return m_Nothing;
    }
    const auto border = NumberKey(cval.ptr());
    const auto rank = NumberKey(wanted.ptr());
    const bool isBox = footprint.is_none();
    if (!border.is_valid() || !rank.is_valid() || !(isBox || (IsNumPys(footprint) && size.is_none())))
    {
      return m_Nothing;
    }
    const auto  pixels = isBox ? nb::none() : FootprintKey(footprint);
    const Array array(given);
    return Run(array,
               output,
               Checked(PyTuple_Pack(11,
                                    array.GetType(),
                                    name.ptr(),
                                    rank.ptr(),
                                    size.ptr(),
                                    pixels.ptr(),
                                    mode.ptr(),
                                    border.ptr(),
                                    origin.ptr(),
                                    axes.ptr(),
                                    array.shape.ptr(),
                                    array.dtype.ptr())));
  }

private:
  bool
  IsNumPys(nb::handle array) const
  {
    return reinterpret_cast<PyObject *>(Py_TYPE(array.ptr())) == m_NumPysType.ptr();
  }

  /** Whether plans are kept for arrays of a type. */
  bool
  HasPlans(nb::handle array) const
  {
    const auto type = nb::handle(reinterpret_cast<PyObject *>(Py_TYPE(array.ptr())));
    return IsNumPys(array) || Checked(PySet_Contains(m_Kinds.ptr(), type.ptr())) || IsTrue(Call(m_IsKind, type));
  }

  nb::object
  Run(const Array & array, nb::handle output, const nb::object & key) const
  {
    nb::object result;
    if (PyObject * const found = PyDict_GetItemWithError(m_Plans.ptr(), key.ptr()))
    {
      // Another thread may let go of all plans meanwhile.
      const auto plan = nb::borrow(found);
      result = nb::cast<const Plan *>(plan)->Run(array, output);
    }
    else if (PyErr_Occurred() != nullptr)
    {
      throw nb::python_error();
    }
    return Checked(PyTuple_Pack(2, result.is_valid() ? result.ptr() : Py_None, key.ptr()));
  }

  nb::dict   m_Plans;
  nb::set    m_Kinds;
  nb::object m_IsKind;
  nb::object m_NumPysType;
  nb::object m_Nothing{ nb::make_tuple(nb::none(), nb::none()) };
};

/** What the package's own functions call is `Calls`; the tests run a plan by itself. */
nb::object
RunPlan(const Plan & plan, nb::handle array, nb::handle output)
{
  auto result = plan.Run(Array(array), output);
  return result.is_valid() ? result : nb::none();
}

void
Define(nb::module_ & module)
{
  // Threads that are at work when the interpreter ends keep what they work with.
  nb::set_leak_warnings(false);
  nb::class_<Plan>(module, "Plan").def("run", RunPlan, nb::arg("array"), nb::arg("output").none());
  const auto host = nb::class_<HostPlan, Plan>(module, "HostPlan").def(nb::init<nb::object>(), nb::arg("prepared"));
  const auto cupy = nb::class_<CuPyPlan, Plan>(module, "CuPyPlan").def(nb::init<nb::object>(), nb::arg("prepared"));
  const auto torch = nb::class_<TorchPlan, Plan>(module, "TorchPlan").def(nb::init<nb::object>(), nb::arg("prepared"));
  auto       calls = nb::class_<Calls>(module, "Calls");
  calls.def(nb::init<nb::dict, nb::set, nb::object>(), nb::arg("plans"), nb::arg("kinds"), nb::arg("is_kind"));
  calls.def("median",
            &Calls::Median,
            nb::arg("array").none(),
            nb::arg("output").none(),
            nb::arg("cval").none(),
            nb::arg("percentile").none(),
            nb::arg("plain"));
  calls.def("ranked",
            &Calls::Ranked,
            nb::arg("array").none(),
            nb::arg("output").none(),
            nb::arg("name"),
            nb::arg("wanted").none(),
            nb::arg("size").none(),
            nb::arg("footprint").none(),
            nb::arg("mode").none(),
            nb::arg("cval").none(),
            nb::arg("origin").none(),
            nb::arg("axes").none());
  calls.attr("HostPlan") = host;
  calls.attr("CuPyPlan") = cupy;
  calls.attr("TorchPlan") = torch;
}

} // namespace
} // namespace cudamedian::python

NB_MODULE(_calls, module) { cudamedian::python::Define(module); }
