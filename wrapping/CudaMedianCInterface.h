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
#ifndef CudaMedianCInterface_h
#define CudaMedianCInterface_h

#include <stddef.h>
#include <stdint.h>

/** The engine as plain C functions, which Python calls through ctypes, and a call that is like an earlier one through a
 * compiled module (CudaMedianPythonCalls.cxx): no NumPy, no ITK and no Python headers, and the interpreter's lock is
 * released meanwhile. Enumerations have the numbers of itkCudaMedianEngine.h. */

#if defined(_WIN32)
#  define CUDAMEDIAN_C_EXPORT __declspec(dllexport)
#else
#  define CUDAMEDIAN_C_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C"
{
#endif

  /** How a call ended. */
  enum CudaMedianStatus
  {
    CudaMedianDone = 0,
    CudaMedianRequestError = 1, /**< the request cannot be carried out as it stands */
    CudaMedianDeviceError = 2,  /**< no usable device, or a CUDA call failed */
    CudaMedianStopped = 3,      /**< the progress function asked to stop */
    CudaMedianOtherError = 4
  };

  /** The most threads that a request may ask for. */
  enum
  {
    CudaMedianMostWorkUnits = 4096
  };

  /** Called with the fraction done, from the thread that called CudaMedianRun(). Anything but 0 stops the run.
   *
   * There is no context, as ctypes binds one to the function. */
  typedef int (*CudaMedianProgress)(float fraction);

  /** What is wanted. Axis 0 is contiguous in memory, or axis 3, which then has the components of pixels; strides are in
   * pixels; axes that an image has not have extent 1, radius 0. Input and output start at multiples of a pixel's size
   * and do not overlap, nor do the output's rows. A request that breaks this is a CudaMedianRequestError, as one with a
   * number beyond its limits. */
  typedef struct CudaMedianRequest
  {
    uint64_t     bytes; /**< sizeof(CudaMedianRequest), which tells a caller's version */
    uint32_t     pixelType;
    uint32_t     backend;
    uint32_t     algorithm;
    uint32_t     workUnits; /**< threads of the CPU backend, CudaMedianMostWorkUnits at most; 0: one for each core */
    const void * input;
    void *       output;
    int64_t      extent[4]; /**< of the input, and of the output */
    int64_t      radius[4];
    int64_t      outputStride[4];
    uint64_t     deviceMemoryBudget;    /**< bytes, below 2^63; 0: a share of what is free */
    CudaMedianProgress progress;        /**< may be null */
    double             progressSeconds; /**< least time between two calls of progress; 0: each is made */
    int64_t            inputStride[4];  /**< all 0: pixels follow each other, axis 0 fastest */
    int64_t            shorter[4];      /**< 1 where the window has one pixel fewer behind its output, else 0 */
    int64_t            shift[4];        /**< by which the window lies further, at most the radius */
    int64_t            rank;            /**< of the wanted value in the window, from 0; -1: the median's */
    uint32_t           border[4];       /**< cudamedian::Border along each axis */
    uint8_t            borderValue[8];  /**< the pixel beyond a constant border, as it lies in memory */
    uint32_t           evenMedian;      /**< cudamedian::EvenMedian */
    uint64_t           footprintPixels; /**< of a window that is no box; 0: it is one */
    const int64_t *    footprint;       /**< for each its offset along the four axes, and its weight; the radius is 0 */
    uint32_t           isQuiet;         /**< 1: no report is written; what goes wrong is */
    uint32_t           maskPixelBytes;  /**< 1, 2, 4 or 8 */
    const void *       mask;            /**< of the input's extent: pixels of value 0 are not valid; may be null */
    int64_t            maskStride[4];   /**< in pixels; all 0: pixels follow each other, axis 0 fastest */
    uint32_t           hasIgnoredValue; /**< 1: pixels of a value are not valid */
    uint32_t           omitsNaN;        /**< 1: pixels of value NaN are not valid */
    uint32_t           emptyWindow;     /**< cudamedian::EmptyWindow */
    uint32_t           invalidOutput;   /**< cudamedian::InvalidOutput */
    uint8_t            ignoredValue[8]; /**< these three as the pixel of a constant border */
    uint8_t            emptyValue[8];
    uint8_t            invalidValue[8];
    uint32_t           outlierRule;      /**< cudamedian::OutlierRule */
    double             outlierThreshold; /**< from 0; a distance of values, or a number of deviations */
    uint32_t           mayUseFewerUnits; /**< 1: fewer work units are used where more would take longer */
  } CudaMedianRequest;

  /** Runs cudamedian::RunMedian(). Writes the execution report's text, or what went wrong, to `text`, which holds
   * `textBytes` bytes and is always ended with a zero byte.
   * \returns a CudaMedianStatus. */
  CUDAMEDIAN_C_EXPORT int
  CudaMedianRun(const CudaMedianRequest * request, char * text, size_t textBytes);

  /** The same for an image in device memory, on a stream: cudamedian::RunMedianOnDevice(). `workUnits`, `backend` and
   * `progress` mean nothing there.
   * \param stream a cudaStream_t as a number. */
  CUDAMEDIAN_C_EXPORT int
  CudaMedianRunOnDevice(const CudaMedianRequest * request, uint64_t stream, char * text, size_t textBytes);

  /** A request on images in device memory whose addresses and stream are told at each run. */
  typedef struct CudaMedianPrepared CudaMedianPrepared;

  /** Checks a request, and keeps it but for its addresses. Runs nothing.
   * \param prepared gets what CudaMedianReleasePrepared() ends. */
  CUDAMEDIAN_C_EXPORT int
  CudaMedianPrepareOnDevice(const CudaMedianRequest * request,
                            CudaMedianPrepared **     prepared,
                            char *                    text,
                            size_t                    textBytes);

  /** Runs cudamedian::RunMedianOnDeviceQuietly(). Any thread may, several at the same time. Writes no text: where it
   * does not return CudaMedianDone, CudaMedianRunOnDevice() says why. */
  CUDAMEDIAN_C_EXPORT int
  CudaMedianRunPrepared(const CudaMedianPrepared * prepared, const void * input, void * output, uint64_t stream);

  CUDAMEDIAN_C_EXPORT void
  CudaMedianReleasePrepared(CudaMedianPrepared * prepared);

  /** cudamedian::OrderStreams(): what stream `then` gets from now on waits for what is in stream `first`.
   * \param memory any address on the streams' device. */
  CUDAMEDIAN_C_EXPORT int
  CudaMedianOrderStreams(const void * memory, uint64_t first, uint64_t then, char * text, size_t textBytes);

  /** Whether a CUDA device can be used; its name, or what was looked for and found, to `text`. */
  CUDAMEDIAN_C_EXPORT int
  CudaMedianQueryDevice(char * text, size_t textBytes);

  /** cudamedian::ReleaseCachedMemory(). */
  CUDAMEDIAN_C_EXPORT void
  CudaMedianReleaseCachedMemory(void);

  /** Says that the interpreter ends: from now on progress functions are called from the calling thread alone. Those
   * that are under way are waited for, half a second at most. Runs of other threads go on without; a thread that came
   * back to an interpreter that is gone would be a crash. */
  CUDAMEDIAN_C_EXPORT void
  CudaMedianEndInterpreter(void);

  /** Says that an interpreter has begun: after another, or in a child that was forked. */
  CUDAMEDIAN_C_EXPORT void
  CudaMedianBeginInterpreter(void);

#ifdef __cplusplus
}
#endif

#endif
