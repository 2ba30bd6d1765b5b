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
#ifndef CudaMedianPythonTorchPlan_h
#define CudaMedianPythonTorchPlan_h

#include "CudaMedianPythonDevicePlan.h"

#include <nanobind/ndarray.h>

#include <algorithm>

namespace cudamedian::python
{

/** Functions in C that a library has for its arrays, as DLPack lays them out from version 1.3 on. */
struct ExchangeFunctions
{
  uint32_t major;
  uint32_t minor;
  void *   earlier;
  void *   allocate;
  void *   fromPython;
  void *   toPython;
  /** Tells where an array lies, without a reference to it. Not 0 where that failed. */
  int (*describe)(void * array, nb::dlpack::dltensor * found);
  void * getStream;
};

/** Those of a type of arrays, or null where it has none: PyTorch has them from 2.10 on. */
inline const ExchangeFunctions *
FindExchangeFunctions(nb::handle type)
{
  constexpr auto * attribute = "__dlpack_c_exchange_api__";
  if (!nb::hasattr(type, attribute))
  {
    return nullptr;
  }
  // The library keeps the structure as long as the process lives.
  const nb::object capsule = type.attr(attribute);
  const void *     found = PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api");
  if (found == nullptr)
  {
    PyErr_Clear();
    return nullptr;
  }
  const auto * functions = static_cast<const ExchangeFunctions *>(found);
  return functions->major == 1 && functions->describe != nullptr ? functions : nullptr;
}

/** Whether pixels follow each other. The strides of what is one pixel wide mean nothing. */
inline bool
IsContiguous(const nb::dlpack::dltensor & tensor)
{
  const auto * const end = tensor.shape + tensor.ndim;
  if (tensor.strides == nullptr || std::find(static_cast<const int64_t *>(tensor.shape), end, 0) != end)
  {
    return true;
  }
  int64_t stride = 1;
  for (auto axis = tensor.ndim - 1; axis >= 0; --axis)
  {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != stride)
    {
      return false;
    }
    stride *= tensor.shape[axis];
  }
  return true;
}

/** Whether two tensors have the type, the shape and the device in common. */
inline bool
AreAlike(const nb::dlpack::dltensor & one, const nb::dlpack::dltensor & other)
{
  return one.dtype == other.dtype && one.device.device_id == other.device.device_id && one.ndim == other.ndim &&
         std::equal(one.shape, one.shape + one.ndim, other.shape);
}

/** A request for tensors of PyTorch. */
class TorchPlan : public DevicePlan
{
public:
  /** Keeps those functions of PyTorch that a run calls. */
  explicit TorchPlan(nb::object prepared)
    : DevicePlan(std::move(prepared))
  {
    const auto torch = nb::module_::import_("torch");
    const auto own = torch.attr("_C");
    m_Make = torch.attr("empty_like");
    m_Watchers = own.attr("_len_torch_dispatch_stack");
    m_Trace = own.attr(nb::hasattr(own, "_is_tracing") ? "_is_tracing" : "_get_tracing_state");
    // What PyTorch's own compiler calls; torch.cuda.current_stream() makes an object of its result.
    m_HasRawStream = nb::hasattr(own, "_cuda_getCurrentRawStream");
    m_Stream = m_HasRawStream ? own.attr("_cuda_getCurrentRawStream") : torch.attr("cuda").attr("current_stream");
    m_Functions = FindExchangeFunctions(torch.attr("Tensor"));
  }

  nb::object
  Run(const Array & array, nb::handle output) const override
  {
    // Who writes down a graph would not see what happens here.
    if (!HasOwnValues(array.object) || IsTrue(Call(m_Watchers)) || IsTrue(Call(m_Trace)))
    {
      return {};
    }
    return m_Functions != nullptr ? RunDescribed(array, output) : RunByAttributes(array, output);
  }

private:
  /** The same, where PyTorch tells in one call what its attributes tell in five. */
  nb::object
  RunDescribed(const Array & array, nb::handle output) const
  {
    nb::dlpack::dltensor source, target;
    if (!Describe(array.object, source))
    {
      return {};
    }
    const bool isNew = output.is_none();
    if (!isNew && !(Py_TYPE(output.ptr()) == array.GetType() && HasOwnValues(output)))
    {
      return {};
    }
    auto result = isNew ? Call(m_Make, array.object) : nb::borrow(output);
    if (!Describe(result, target) || !AreAlike(source, target))
    {
      return {};
    }
    const auto device = Checked(PyLong_FromLong(source.device.device_id));
    return Launch(GetAddress(source), GetAddress(target), FindStream(device)) ? result : nb::object();
  }

  nb::object
  RunByAttributes(const Array & array, nb::handle output) const
  {
    const auto & names = GetNames();
    const auto   tensor = array.object;
    if (!LiesInOrder(tensor))
    {
      return {};
    }
    const auto source = FindAddress(tensor);
    if (!source.is_valid())
    {
      return {};
    }
    const auto device = CallMethod(tensor, names.device);
    const bool isNew = output.is_none();
    if (!isNew && !(IsLike(array, output) && HasOwnValues(output) && LiesInOrder(output) &&
                    AreEqual(CallMethod(output, names.device), device)))
    {
      return {};
    }
    auto         result = isNew ? Call(m_Make, tensor) : nb::borrow(output);
    void * const target = ToAddress(CallMethod(result, names.address));
    return Launch(ToAddress(source), target, FindStream(device)) ? result : nb::object();
  }

  /** Whether a tensor is no more than what lies in its memory. */
  static bool
  HasOwnValues(nb::handle tensor)
  {
    const auto & names = GetNames();
    return !IsTrue(GetAttribute(tensor, names.requiresGrad)) && !IsTrue(CallMethod(tensor, names.isNegated));
  }

  /** Whether a tensor lies in device memory, pixel after pixel. */
  static bool
  LiesInOrder(nb::handle tensor)
  {
    const auto & names = GetNames();
    return IsTrue(GetAttribute(tensor, names.isCuda)) && IsTrue(CallMethod(tensor, names.isContiguous));
  }

  /** The same, and tells where. One of torch.func stands for others and has no memory, which is a failure. */
  bool
  Describe(nb::handle tensor, nb::dlpack::dltensor & found) const
  {
    constexpr int cuda = 2;
    if (m_Functions->describe(tensor.ptr(), &found) != 0)
    {
      PyErr_Clear();
      return false;
    }
    return found.device.device_type == cuda && IsContiguous(found);
  }

  static void *
  GetAddress(const nb::dlpack::dltensor & tensor)
  {
    return static_cast<char *>(tensor.data) + tensor.byte_offset;
  }

  /** The address of a tensor; nothing for one of torch.func. */
  static nb::object
  FindAddress(nb::handle tensor)
  {
    PyObject * const places[] = { nullptr, tensor.ptr() };
    PyObject * const address =
      PyObject_VectorcallMethod(GetNames().address, places + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    if (address == nullptr && PyErr_ExceptionMatches(PyExc_RuntimeError) != 0)
    {
      PyErr_Clear();
      return {};
    }
    return Checked(address);
  }

  uint64_t
  FindStream(nb::handle device) const
  {
    const auto stream = Call(m_Stream, device);
    return ToStream(m_HasRawStream ? stream : GetAttribute(stream, GetNames().cudaStream));
  }

  nb::object                m_Make;
  nb::object                m_Watchers;
  nb::object                m_Trace;
  nb::object                m_Stream;
  bool                      m_HasRawStream;
  const ExchangeFunctions * m_Functions;
};

} // namespace cudamedian::python

#endif
