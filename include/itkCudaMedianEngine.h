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
#ifndef itkCudaMedianEngine_h
#define itkCudaMedianEngine_h

#include "CudaMedianExport.h"
#include "itkCudaMedianExtent.h"
#include "itkCudaMedianFootprint.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

/** The engine behind itk::CudaMedianImageFilter: a plain interface that knows neither ITK nor CUDA.
 *
 * A MedianRequest says what is wanted; RunMedian() plans it (which algorithm, which tile, which slabs, how many bytes)
 * and runs the plan on a backend. */
namespace cudamedian
{

/** Storage type of a pixel. */
enum class PixelType : std::uint8_t
{
  Int8,
  UInt8,
  Int16,
  UInt16,
  Int32,
  UInt32,
  Int64,
  UInt64,
  Float32,
  Float64,
  Float16, ///< IEEE 754 binary16
  BFloat16 ///< the upper half of a Float32
};

/** Bytes of one pixel of a type. */
CudaMedian_EXPORT std::size_t
                  PixelBytes(PixelType type);

/** Where a request runs. `Auto` takes the CPU where no CUDA device can be used, and else the one of the two that is
 * estimated to be done first: transfers, kernels and copies on one side, the program's operations on all threads on the
 * other. What the estimates rest on is measured at the first such request of a process, in some ten milliseconds. The
 * creation of CUDA's context and the compilation of a kernel, which happen once, do not count.
 *
 * `Auto` does not fail where the CPU can do it: when CUDA does not cover the algorithm asked for, when a budget is too
 * small for it, or when any of its calls fails, be it in the middle of the run, the CPU filters the image from the
 * start, and the report's backendReason says why. Progress does not go back then: the CPU's goes on from what was last
 * told. */
enum class Backend : std::uint8_t
{
  Auto,
  Cuda,
  Cpu
};

/** How the medians are found.
 * - `Automatic`: the planner decides by window and backend.
 * - `TileProgram`: a list of min and max operations that yields all medians of a tile (hierarchical tiling).
 * - `LocalRank`: the pixels of a block are sorted once, and windows slide over their ranks.
 * - `SlidingHistogram`: windows of 256 bins slide over the histograms of columns. Bins are the values of 8-bit pixels,
 *   and ranks in a sorted region of wider ones.
 * - `Selection`: each window on its own, any size (CPU: nth_element on keys; CUDA: bitwise counting on keys).
 * - `MergeTiling`: hierarchical tiling whose sorted columns, rows and cores are lists in memory that merges extend.
 * - `Extremum`: ranks 0 and N-1 alone: the extreme of a box is that of its rows' extremes. */
enum class Algorithm : std::uint8_t
{
  Automatic,
  TileProgram,
  LocalRank,
  SlidingHistogram,
  Selection,
  MergeTiling,
  Extremum
};

/** What is done where the fastest kernel of a window is not compiled yet. Results are the same either way.
 * - `Background`: whatever else there is runs, on either backend where that is left open, and the kernel is compiled by
 * a thread of its own, unless waiting for it is estimated to be faster. It takes over in the first call that finds it
 *   done, in this process or another of the same user. A process that ends stops a compilation, which may take a
 * second. An algorithm that is asked for waits for its kernel.
 * - `Wait`: the call compiles it and goes on then, which takes seconds. */
enum class Compilation : std::uint8_t
{
  Background,
  Wait
};

/** What lies beyond the image along an axis, for windows that reach there; behind each the names of scipy.ndimage. */
enum class Border : std::uint8_t
{
  ZeroFluxNeumann, ///< the nearest pixel, a a a | a b c d | d d d (nearest)
  Constant,        ///< one value, k k k | a b c d | k k k (constant, grid-constant)
  Reflect,         ///< the image mirrored at its edge, c b a | a b c d | d c b (reflect, grid-mirror)
  Mirror,          ///< the image mirrored at its last pixel, d c b | a b c d | c b a (mirror)
  Wrap,            ///< the image again, b c d | a b c d | a b c (wrap, grid-wrap)
  Shrink           ///< nothing: the window is clipped to the image, and has fewer pixels
};

/** What the median of an even number of values is. */
enum class EvenMedian : std::uint8_t
{
  Upper, ///< the value of rank N/2, as scipy.ndimage
  Mean,  ///< the mean of the values of rank N/2-1 and N/2; of integers without its fraction, as vtkImageMedian3D
  Lower  ///< the value of rank N/2-1, as scikit-image's rank filters
};

/** What is written where no pixel of a window is valid. */
enum class EmptyWindow : std::uint8_t
{
  Input, ///< the output's own pixel, as it is in the input
  Value  ///< a value that is given
};

/** What is written for outputs whose own pixel is not valid. */
enum class InvalidOutput : std::uint8_t
{
  Computed, ///< the median of the valid pixels around it
  Copied,   ///< the pixel, as it is in the input
  Value     ///< a value that is given
};

/** Which pixels count. Each rule takes some out of all windows; what is left is valid, and the median is that of a
 * window's valid pixels. Values are a pixel's bytes, as they lie in memory. */
struct Validity
{
  const void *                 mask{ nullptr };     ///< an image of the input's extent: pixels of value 0 are not valid
  std::size_t                  maskPixelBytes{ 1 }; ///< 1, 2, 4 or 8
  Extent                       maskStride{ { 0, 0, 0, 0 } }; ///< pixels; all 0: without gaps, axis 0 fastest
  bool                         hasIgnoredValue{ false };     ///< whether pixels of a value are not valid
  std::array<unsigned char, 8> ignoredValue{};               ///< which; of floats -0 and +0 are the same value
  bool                         omitsNaN{ false };
  EmptyWindow                  emptyWindow{ EmptyWindow::Input };
  std::array<unsigned char, 8> emptyValue{};
  InvalidOutput                invalidOutput{ InvalidOutput::Computed };
  std::array<unsigned char, 8> invalidValue{};

  /** Whether some pixel may not be valid. */
  bool
  HasRules() const
  {
    return mask != nullptr || hasIgnoredValue || omitsNaN;
  }
};

/** Which pixels are replaced by their median. */
enum class OutlierRule : std::uint8_t
{
  None,      ///< all
  Absolute,  ///< those whose distance from it is above a threshold
  Deviations ///< those whose distance is above so many median absolute deviations of their window
};

const CudaMedian_EXPORT char *
ToString(Border border);
const CudaMedian_EXPORT char *
ToString(EvenMedian evenMedian);
const CudaMedian_EXPORT char *
ToString(EmptyWindow emptyWindow);
const CudaMedian_EXPORT char *
ToString(InvalidOutput invalidOutput);
const CudaMedian_EXPORT char *
ToString(OutlierRule rule);
const CudaMedian_EXPORT char *
ToString(Backend backend);
const CudaMedian_EXPORT char *
ToString(Algorithm algorithm);
const CudaMedian_EXPORT char *
ToString(Compilation compilation);
const CudaMedian_EXPORT char *
ToString(PixelType type);

/** What ran, where, and why. Times are in seconds, memory in bytes. */
struct ExecutionReport
{
  std::string backend;                       ///< "CUDA", "CPU", or "ITK" when ITK's own implementation ran
  std::string device;                        ///< name of the GPU or GPUs, or "host"
  std::string algorithm;                     ///< algorithm, and for tile programs how the program is executed
  Extent      window{ { 0, 0, 0, 0 } };      ///< 2r+1 along each axis
  std::string footprint{ "box" };            ///< which of the window's pixels count
  std::string validity{ "all pixels" };      ///< which of the image's pixels do
  std::string border{ "zero-flux Neumann" }; ///< what windows see beyond the image, along each axis or along all
  Extent      tile{ { 0, 0, 0, 0 } };        ///< outputs of one tile program run; 0 when no program ran
  std::size_t operations{ 0 };               ///< min and max operations of the tile program
  std::size_t numberOfSlabs{ 0 };
  std::size_t deviceMemoryBudget{ 0 }; ///< the budget, of each device, the plan kept to; 0 when no device was used
  std::size_t deviceBytes{ 0 };        ///< device memory that was allocated at most at one time, the most on one device
  std::size_t hostMemoryBudget{ 0 };   ///< the budget of pinned memory the plan kept to; 0 when no device was used
  std::size_t pinnedBytes{ 0 };        ///< pinned memory of the host that slabs passed through, of all devices together
  unsigned    workUnits{ 0 };          ///< threads of the CPU backend
  std::size_t hostScratchBytes{ 0 };   ///< memory of the CPU backend's threads, all together
  double      transferSeconds{ 0 };    ///< the rest: transfers and copies that no kernel ran beside
  double      kernelSeconds{ 0 };      ///< time of the kernels alone, the most on one device, or of the CPU backend
  double      totalSeconds{ 0 };       ///< the whole engine call
  double      estimatedCudaSeconds{ 0 }; ///< what Backend::Auto took CUDA to need; 0 when nothing was estimated
  double      estimatedCpuSeconds{ 0 };  ///< what it took the CPU to need; 0 when nothing was estimated
  std::string compiling; ///< the faster kernel that is being compiled for the calls to come; empty where there is none
  std::string backendReason;
  std::string algorithmReason;
  std::string tileReason;
  std::string slabReason;

  /** One "name: value" line per entry, each starting with `indent`. */
  CudaMedian_EXPORT void
  Print(std::ostream & os, const std::string & indent = "") const;
};

/** Runs body(0) … body(count-1), concurrently if it can, and returns when all are done. The CPU backend reports
 * progress on the way from those that it runs in the thread that calls it. */
using ParallelFor = std::function<void(std::size_t count, const std::function<void(std::size_t)> & body)>;

/** Converts `count` contiguous pixels of the request's pixel type to the output's pixel type. */
using RowConverter = void (*)(const void * source, void * destination, std::size_t count);

/** What the filter asks of the engine. Strides are in pixels. An image of several components is one whose last axis has
 * them: it has a stride of 1 there, a radius of 0, and along axis 0 a stride of as many pixels as there are components.
 */
struct MedianRequest
{
  PixelType    pixelType{ PixelType::UInt8 };
  const void * input{ nullptr };              ///< first pixel of the input buffer
  Extent       inputExtent{ { 0, 0, 0, 0 } }; ///< size of the input buffer, which is the image that has the border
  Extent       inputStride{ { 0, 0, 0, 0 } }; ///< any; all 0: pixels follow each other without gaps, axis 0 fastest
  Extent       radius{ { 0, 0, 0, 0 } };      ///< pixels of the window before its output along each axis
  Extent       shorter{ { 0, 0, 0, 0 } }; ///< 1 where the window has one pixel fewer behind than before: an even size
  Extent       shift{ { 0, 0, 0, 0 } };   ///< pixels by which the window lies further along each axis
  std::array<Border, Dimension> border{}; ///< along each axis
  std::array<unsigned char, 8>  borderValue{}; ///< of Border::Constant: a pixel's bytes, as they lie in memory
  EvenMedian                    evenMedian{ EvenMedian::Upper };
  std::int64_t rank{ -1 }; ///< of the wanted value among the sorted ones of the window, from 0; -1: the middle, N/2
  /** The pixels of a window that is no box: then the radius is the footprint's, and no axis is shorter or shifted. N is
   * the number of its values. Null: the whole box. */
  const Footprint * footprint{ nullptr };
  /** A rank for each requested pixel instead of one for all, without gaps, axis 0 fastest; `rank` is the least of them
   * and `greatestRank` the greatest. Ranks are counted from `rank`, in bytes where fewer than 257 are possible, else in
   * integers of 32 bits. Null: one for all. */
  const void * rankMap{ nullptr };
  std::int64_t greatestRank{ 0 };
  Validity     validity;
  OutlierRule  outlierRule{ OutlierRule::None };
  double       outlierThreshold{ 0 };          ///< a distance of values, or a number of deviations
  Extent       outputOrigin{ { 0, 0, 0, 0 } }; ///< first requested pixel, relative to the first input pixel
  Extent       outputExtent{ { 0, 0, 0, 0 } }; ///< number of requested pixels along each axis
  void *       output{ nullptr };              ///< where the first requested pixel is written
  Extent       outputStride{ { 1, 0, 0, 0 } };
  std::size_t  outputPixelBytes{ 0 }; ///< bytes of an output pixel; 0: the same as an input pixel
  RowConverter convertRow{ nullptr }; ///< null: output pixels have the input's type
  Backend      backend{ Backend::Auto };
  Algorithm    algorithm{ Algorithm::Automatic };
  Compilation  compilation{ Compilation::Background };
  std::size_t  deviceMemoryBudget{ 0 }; ///< bytes of memory allowed on each device; 0: a share of what is free
  /** Bytes of pinned memory of the host that slabs may pass through on their way from and to images in ordinary memory,
   * of all devices together; 0: an eighth of the memory that the machine or the process's control group has, at least
   * 64 MiB and at most 2 GiB. Where less is to be had, slabs are smaller, or pass through ordinary memory. */
  std::size_t hostMemoryBudget{ 0 };
  /** Numbers of the CUDA devices that share the work, which are the only ones that are touched; empty: the current one.
   * A device that is listed several times works with as many contexts, which share its budget. */
  std::vector<int> devices;
  unsigned         workUnits{ 1 }; ///< concurrency that parallelFor provides
  /** Whether the CPU backend may use fewer work units where to wake threads is estimated to take longer than they save.
   */
  bool        mayUseFewerUnits{ false };
  ParallelFor parallelFor; ///< null: a plain loop
  /** Called from the thread that called RunMedian with the fraction done, rising to 1. May throw to stop the run:
   * the exception reaches the caller of RunMedian after the backend has released what it held, and nothing is tried
   * again. */
  std::function<void(float)> progress;
};

/** A request that cannot be carried out as it stands. The text names the value and the limit. */
class CudaMedian_EXPORT RequestError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/** The CUDA backend was asked for and there is no usable device, or a CUDA call failed. */
class CudaMedian_EXPORT DeviceError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/** Whether a CUDA device can be used by this process, and what was found. Asks the driver on each call. */
struct DeviceAvailability
{
  bool        usable{ false };
  std::string description; ///< the device's name, or what was looked for and what was found instead
};

/** Looks for a usable CUDA device. Never throws; without a driver it says so. */
CudaMedian_EXPORT DeviceAvailability
QueryCudaDevice();

/** Gives back the memory that is kept between calls for the next one: of devices, pinned memory, and up to 64 MiB of
 * the host's, which copies of images take some of whose pixels are not valid. What a call under way in another thread
 * uses stays. Leaves devices alone in a process that was forked after CUDA was started. */
CudaMedian_EXPORT void
ReleaseCachedMemory();

/** Pinned memory of the host, from and to which a GPU transfers at full speed without a copy in between.
 *
 * It is made by the current device, which need not be one that images are filtered on.
 *
 * \returns null when there is none: no device, or not enough memory. */
CudaMedian_EXPORT void *
AllocatePinnedMemory(std::size_t bytes);

/** Gives back what AllocatePinnedMemory() returned, which may be null. */
CudaMedian_EXPORT void
FreePinnedMemory(void * memory);

/** Computes the exact median, or another rank, of every requested pixel.
 *
 * The window is 2r+1 pixels along each axis, 2r where it is shorter; the border says what it sees beyond the input
 * buffer, which by default is the nearest pixel (zero-flux Neumann border). The result is the value of the wanted rank
 * of its N values; by default of rank N/2, which is itk::MedianImageFilter's definition. Floating
 * point values are ordered -0 before +0 and every NaN after +infinity. An empty request returns at once.
 *
 * \throws RequestError when the request is inconsistent, or, unless Backend::Auto takes the CPU then, its budget cannot
 * hold the smallest slab.
 * \throws DeviceError when Backend::Cuda is asked for without a usable device, or a CUDA call of it fails. */
CudaMedian_EXPORT ExecutionReport
RunMedian(const MedianRequest & request);

} // namespace cudamedian

#endif
