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
#ifndef CudaMedianPythonDevicePlans_h
#define CudaMedianPythonDevicePlans_h

#include "CudaMedianCInterface.h"
#include "CudaMedianPythonPlan.h"

/** Plans for arrays in device memory. Each attribute of an array counts beside a launch of a few microseconds: those
 * here are the libraries' fastest that say the same as their array interface, which makes a dictionary. */

namespace cudamedian::python
{

/** A request whose addresses and stream are told at each run. */
class DevicePlan : public Plan
{
protected:
  explicit DevicePlan(nb::object prepared)
    : Plan(std::move(prepared)), m_Function(GetFunction<decltype(CudaMedianRunPrepared)>()),
      m_Handle(static_cast<const CudaMedianPrepared *>(ToAddress(GetPrepared().attr("handle"))))
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

/** A request for arrays of CuPy. */
class CuPyPlan : public DevicePlan
{
public:
  /** Keeps those functions of CuPy that a run calls. */
  explicit CuPyPlan(nb::object prepared) : DevicePlan(std::move(prepared))
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

/** A request for tensors of PyTorch. */
class TorchPlan : public DevicePlan
{
public:
  /** Keeps those functions of PyTorch that a run calls. */
  explicit TorchPlan(nb::object prepared) : DevicePlan(std::move(prepared))
  {
    const auto torch = nb::module_::import_("torch");
    const auto own = torch.attr("_C");
    m_Make = torch.attr("empty_like");
    m_Watchers = own.attr("_len_torch_dispatch_stack");
    m_Trace = own.attr("_get_tracing_state");
    // What PyTorch's own compiler calls; torch.cuda.current_stream() makes an object of its result.
    m_HasRawStream = nb::hasattr(own, "_cuda_getCurrentRawStream");
    m_Stream = m_HasRawStream ? own.attr("_cuda_getCurrentRawStream") : torch.attr("cuda").attr("current_stream");
  }

  nb::object
  Run(const Array & array, nb::handle output) const override
  {
    const auto & names = GetNames();
    const auto   tensor = array.object;
    // Who writes down a graph would not see what happens here.
    if (!HasOwnValues(tensor) || IsTrue(Call(m_Watchers)) || !Call(m_Trace).is_none())
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
    if (!isNew &&
        !(IsLike(array, output) && HasOwnValues(output) && AreEqual(CallMethod(output, names.device), device)))
    {
      return {};
    }
    auto         result = isNew ? Call(m_Make, tensor) : nb::borrow(output);
    void * const target = ToAddress(CallMethod(result, names.address));
    return Launch(ToAddress(source), target, FindStream(device)) ? result : nb::object();
  }

private:
  /** Whether a tensor lies in device memory, pixel after pixel, and is no more than what is there. */
  static bool
  HasOwnValues(nb::handle tensor)
  {
    const auto & names = GetNames();
    return IsTrue(GetAttribute(tensor, names.isCuda)) && !IsTrue(GetAttribute(tensor, names.requiresGrad)) &&
           !IsTrue(CallMethod(tensor, names.isNegated)) && IsTrue(CallMethod(tensor, names.isContiguous));
  }

  /** The address of a tensor; nothing for one of torch.func, which stands for others and has no memory. */
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

  nb::object m_Make;
  nb::object m_Watchers;
  nb::object m_Trace;
  nb::object m_Stream;
  bool       m_HasRawStream;
};

} // namespace cudamedian::python

#endif
