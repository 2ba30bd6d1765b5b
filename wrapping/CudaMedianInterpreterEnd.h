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
#ifndef CudaMedianInterpreterEnd_h
#define CudaMedianInterpreterEnd_h

#include <chrono>
#include <thread>

#if defined(__GLIBCXX__)
#  include <cxxabi.h>
#endif

namespace cudamedian
{

/** Runs a body that takes the interpreter's lock.
 *
 * Once the interpreter has begun to end, CPython up to 3.13 ends a thread that asks for the lock, by pthread_exit().
 * That unwinds the stack like an exception, which the engine would take for one and not pass on, and it takes away what
 * the engine's other threads work with. Here the thread sleeps instead until the process has ended, as it does from
 * CPython 3.14 on. */
template <typename TBody>
void
EnterInterpreter(TBody && body)
{
#if defined(__GLIBCXX__)
  try
  {
    body();
  }
  catch (const abi::__forced_unwind &)
  {
    for (;;)
    {
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }
#else
  body();
#endif
}

} // namespace cudamedian

#endif
