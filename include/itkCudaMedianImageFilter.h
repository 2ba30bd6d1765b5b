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
#ifndef itkCudaMedianImageFilter_h
#define itkCudaMedianImageFilter_h

#include "itkCudaMedianDeviceImage.h"
#include "itkCudaMedianEngine.h"
#include "itkCudaMedianFilterDetail.h"
#include "itkCudaMedianImageFilterEnums.h"
#include "itkMedianImageFilter.h"
#include "itkNeighborhood.h"

#include <type_traits>
#include <vector>

namespace itk
{

/** What CudaMedianImageFilter derives from: itk::MedianImageFilter, or, where pixels have several values and so no
 * order, what that derives from. */
template <typename TInputImage, typename TOutputImage>
using CudaMedianSuperclass = std::conditional_t<CudaMedianFilterDetail::ImageTraits<TInputImage>::isScalar,
                                                MedianImageFilter<TInputImage, TOutputImage>,
                                                BoxImageFilter<TInputImage, TOutputImage>>;

/** \class CudaMedianImageFilter
 * \brief The exact median of itk::MedianImageFilter, on an NVIDIA GPU or with tile programs on the CPU.
 *
 * \image html head.png "A slice with noise, its median of radius 1, and what that took away"
 *
 * Every output pixel is the value of rank N/2 among the N = prod(2 r + 1) input pixels of the window around it;
 * coordinates are clamped to the input's buffered region (zero-flux Neumann border). The result equals that of
 * itk::MedianImageFilter for every input without NaN. For floating point pixels this filter defines what ITK leaves
 * undefined: -0 orders before +0 and every NaN after +infinity, on both backends. Other boundaries, windows of even
 * sizes, footprints, masks and outliers are this filter's own.
 *
 * A footprint is a window that is no box: some pixels of one, which may count several times. A mask, a value that is
 * ignored, and NaN that is omitted take pixels out of all windows: the median is that of a window's valid pixels, and a
 * window without any has what SetEmptyWindow() says. With outliers, a pixel that is near its median stays as it is.
 *
 * Pixels are scalars from char to long long, float and double, or have several of them: VectorImage, and Image of
 * RGBPixel, RGBAPixel, Vector, CovariantVector, std::complex or another FixedArray, whose components are filtered each
 * by itself. Input and output may differ, the median is then converted with static_cast. Images of one to four
 * dimensions run on this module's engine. Scalars of other types and images of more dimensions run ITK's own
 * implementation, whatever backend was asked for and without the order of NaN above; GetExecutionReport() says so.
 *
 * The window is compiled into a tile program, a list of min and max operations that yields all medians of a tile, by
 * hierarchical tiling (L. Sugy, "A Fast Parallel Median Filtering Algorithm Using Hierarchical Tiling", SIGGRAPH 2025);
 * both backends run the same programs. Larger windows slide over the ranks of the pixels of a block, which are sorted
 * once (after T. S. Huang, "A Fast Two-Dimensional Median Filtering Algorithm", 1979, with ranks for grey values). The
 * largest slide over the histograms of columns (after S. Perreault and P. Hebert, "Median Filtering in Constant Time",
 * 2007, with bins of ranks for pixels of more than 8 bits), and windows along two axes beyond those merge sorted lines
 * and cores (the data-aware variant of hierarchical tiling). What none covers is selected pixel by pixel.
 *
 * Images that have their pixels in device memory too, as itk::CudaImage of the module ITKCudaCommon, are filtered
 * there, in and out, without a copy through the host. Where that cannot be, because a part of the image is requested,
 * input and output differ in their pixels, or there is a mask, windows are clipped or outliers alone are replaced, the
 * host's pixels are filtered; GetExecutionReport() says why. A type of images that the compiler does not know as such
 * has to be made known by CudaMedianRegisterDeviceImage().
 *
 * Requested regions, streaming, progress, abort and the number of work units behave as in itk::MedianImageFilter, but
 * that work units beyond the threads of the multi-threader are not begun, and that fewer are where the number is not
 * limited and an image is too small for all of them. An exception leaves the filter reusable, and no output that is
 * half written.
 *
 * \sa MedianImageFilter
 * \ingroup CudaMedian
 * \ingroup IntensityImageFilters */
template <typename TInputImage, typename TOutputImage = TInputImage>
class ITK_TEMPLATE_EXPORT CudaMedianImageFilter : public CudaMedianSuperclass<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaMedianImageFilter);

  /** Standard class type aliases. */
  using Self = CudaMedianImageFilter;
  using Superclass = CudaMedianSuperclass<TInputImage, TOutputImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaMedianImageFilter);
#else
  itkTypeMacro(CudaMedianImageFilter, MedianImageFilter);
#endif

  static constexpr unsigned int InputImageDimension = TInputImage::ImageDimension;

  using InputImageType = TInputImage;
  using OutputImageType = TOutputImage;
  using InputPixelType = typename InputImageType::PixelType;
  using OutputPixelType = typename OutputImageType::PixelType;
  using RadiusType = typename Superclass::RadiusType;
  using BackendEnum = CudaMedianImageFilterEnums::Backend;
  using AlgorithmEnum = CudaMedianImageFilterEnums::Algorithm;
  using BoundaryEnum = CudaMedianImageFilterEnums::Boundary;
  using EvenMedianEnum = CudaMedianImageFilterEnums::EvenMedian;
  using NaNPolicyEnum = CudaMedianImageFilterEnums::NaNPolicy;
  using EmptyWindowEnum = CudaMedianImageFilterEnums::EmptyWindow;
  using InvalidOutputEnum = CudaMedianImageFilterEnums::InvalidOutput;
  using OutlierRuleEnum = CudaMedianImageFilterEnums::OutlierRule;
  using InputValueType = typename CudaMedianFilterDetail::ImageTraits<TInputImage>::ValueType;
  using FootprintType = Neighborhood<bool, InputImageDimension>;
  using WeightsType = Neighborhood<SizeValueType, InputImageDimension>;
  using PhysicalRadiusType = FixedArray<double, InputImageDimension>;
  using MaskImageType = ImageBase<InputImageDimension>;

  /** Filter a volume slice by slice: the radius along the last axis counts as 0. Off by default. */
  itkSetMacro(SliceWise, bool);
  itkGetConstMacro(SliceWise, bool);
  itkBooleanMacro(SliceWise);

  /** Whether the output may be written over the input, where CUDA filters a whole image of numbers: memory for a second
   * image is neither taken nor given pages. The input has no pixels afterwards, and what is before it in the pipeline
   * makes them again where they are asked for. An image that nothing makes is lost, also for others that look at it.
   * GetInPlaceReason() says why it was not so: on the CPU, with other borders, masks or outliers, of several components
   * or devices, or of a part of the image. An error on the way leaves neither image. Default: off. */
  itkSetMacro(InPlace, bool);
  itkGetConstMacro(InPlace, bool);
  itkBooleanMacro(InPlace);

  /** Whether the last Update() wrote the output over the input. */
  bool
  IsFilteredInPlace() const
  {
    return m_IsFilteredInPlace;
  }

  /** Why it did not, where it was to; else empty. */
  const std::string &
  GetInPlaceReason() const
  {
    return m_InPlaceReason;
  }

  /** What windows see beyond the image, along all axes or along one. The boundary is that of the whole image, whatever
   * part of it is requested: `Wrap` asks for all of its input along an axis where windows reach beyond the image.
   * Default: `ZeroFluxNeumann`. */
  void
  SetBoundaryMode(BoundaryEnum mode);
  void
  SetBoundaryMode(unsigned int axis, BoundaryEnum mode);
  BoundaryEnum
  GetBoundaryMode(unsigned int axis = 0) const;

  /** The value beyond the image where the boundary is `Constant`. Default: 0. */
  void
  SetBoundaryConstant(const InputPixelType & constant);
  itkGetConstReferenceMacro(BoundaryConstant, InputPixelType);

  /** Windows of even size: where it is on, along all axes or along one, the window has one pixel fewer behind its
   * output than before, 2 r of them. Along axes with a radius of 0 it means nothing. Default: off. */
  void
  SetEvenWindow(bool even);
  void
  SetEvenWindow(unsigned int axis, bool even);
  bool
  GetEvenWindow(unsigned int axis = 0) const;

  /** What the median of an even number of values is, which windows of even size have, and clipped ones. Default:
   * `Upper`.
   */
  itkSetEnumMacro(EvenMedian, EvenMedianEnum);
  itkGetEnumMacro(EvenMedian, EvenMedianEnum);

  /** The pixels of a window that is no box: those that are on in a neighborhood, as an itk::FlatStructuringElement is
   * one. Takes the place of the radius,
   * and of another footprint, weights and physical radius. An element that is all on is a box. */
  void
  SetFootprint(const FootprintType & footprint);

  /** The same with a number for each pixel: how many times it counts. Those of weight 0 do not. */
  void
  SetWeights(const WeightsType & weights);

  /** The same with a footprint of the engine; null is the box of the radius. */
  void
  SetFootprint(const cudamedian::Footprint * footprint);

  /** Radii of an ellipsoid in the units of the input's spacing, as millimetres: the footprint has the pixels whose
   * centres are in it. Takes the place of the radius, and of another footprint. */
  void
  SetPhysicalRadius(const PhysicalRadiusType & radius);
  void
  SetPhysicalRadius(double radius);

  /** How many times the output's own pixel counts in the box of the radius, for a center-weighted median. Takes the
   * place of a footprint. Default: 1. */
  void
  SetCenterWeight(SizeValueType weight);
  SizeValueType
  GetCenterWeight() const;

  /** The box of the radius again. */
  void
  ClearFootprint();

  /** The footprint in use, with the input's spacing; null where the window is a box. */
  const cudamedian::Footprint *
  GetFootprint() const;

  /** An image of the input's geometry: where it is 0, pixels are not valid. Its pixels are integers of any type. Null:
   * no mask, which is the default. With an input in device memory it is read there, if its type was registered by
   * CudaMedianRegisterDeviceImage(). */
  void
  SetMaskImage(const MaskImageType * mask);
  const MaskImageType *
  GetMaskImage() const;

  /** A value whose pixels are not valid; of several components each counts by itself. Default: none. */
  void
  SetIgnoredValue(InputValueType value);
  void
  ClearIgnoredValue();
  bool
  HasIgnoredValue() const
  {
    return m_HasIgnoredValue;
  }
  itkGetConstMacro(IgnoredValue, InputValueType);

  /** Whether NaN is a value or not valid. Default: `Order`. */
  itkSetEnumMacro(NaNPolicy, NaNPolicyEnum);
  itkGetEnumMacro(NaNPolicy, NaNPolicyEnum);

  /** What is written where no pixel of a window is valid, and the value for that. Default: `Input`, 0. */
  itkSetEnumMacro(EmptyWindow, EmptyWindowEnum);
  itkGetEnumMacro(EmptyWindow, EmptyWindowEnum);
  void
  SetEmptyValue(InputValueType value);
  itkGetConstMacro(EmptyValue, InputValueType);

  /** What is written for outputs whose own pixel is not valid, and the value for that. Default: `Computed`, 0. */
  itkSetEnumMacro(InvalidOutput, InvalidOutputEnum);
  itkGetEnumMacro(InvalidOutput, InvalidOutputEnum);
  void
  SetInvalidValue(InputValueType value);
  itkGetConstMacro(InvalidValue, InputValueType);

  /** Which pixels are replaced by their median, and the threshold for that: a distance of values, or a number of median
   * absolute deviations. A pixel at the threshold stays. Default: `None`, 0. */
  itkSetEnumMacro(OutlierRule, OutlierRuleEnum);
  itkGetEnumMacro(OutlierRule, OutlierRuleEnum);
  itkSetMacro(OutlierThreshold, double);
  itkGetConstMacro(OutlierThreshold, double);

  /** Where to run. `Cuda` without a usable device throws at Update() and says what was looked for and what was found;
   * `Cpu` makes no CUDA call at all. `Auto`, the default, estimates what each would take, with the transfers of the
   * image to a device and back on one side and all work units on the other, and takes the faster; GetExecutionReport()
   * gives both. The rates behind that are measured at the first such Update() of a process, in some ten milliseconds.
   * When CUDA does not cover the request, or fails on the way, `Auto` has the CPU filter the image from the start, and
   * the report's backendReason says why; progress then goes on from where it was. An abort is never tried again. */
  itkSetEnumMacro(Backend, BackendEnum);
  itkGetEnumMacro(Backend, BackendEnum);

  /** How the medians are found; one that does not cover the window throws at Update() and says what it covers. Default:
   * `Automatic`. */
  itkSetEnumMacro(Algorithm, AlgorithmEnum);
  itkGetEnumMacro(Algorithm, AlgorithmEnum);

  /** Whether an Update() whose fastest kernel is not compiled yet compiles it and goes on then, in seconds. Off by
   * default: what there is runs, the kernel is compiled in the background for the updates to come, and the report's
   * `compiling` says so. The result is the same either way. */
  itkSetMacro(WaitForKernels, bool);
  itkGetConstMacro(WaitForKernels, bool);
  itkBooleanMacro(WaitForKernels);

  /** Bytes of memory the filter may use on each device; 0, the default, allows a share of what is free. The image is
   * processed in as many slabs as that needs. A budget that cannot hold the smallest slab throws at Update(), unless
   * the backend is `Auto`, which takes the CPU then. */
  itkSetMacro(DeviceMemoryBudget, SizeValueType);
  itkGetConstMacro(DeviceMemoryBudget, SizeValueType);

  /** Bytes of pinned memory of the host that slabs may pass through on their way between images in ordinary memory and
   * the devices, all of them together; 0, the default, allows an eighth of the host's memory, at least 64 MiB and at
   * most 2 GiB. A smaller one makes smaller slabs; where the system gives less, slabs are smaller too or pass through
   * ordinary memory, and the report's slabReason says so. */
  itkSetMacro(HostMemoryBudget, SizeValueType);
  itkGetConstMacro(HostMemoryBudget, SizeValueType);

  /** Numbers of the CUDA devices that share the work, as the CUDA runtime counts them; empty, the default, is the
   * current device. No other device is touched. Each has an equal share of slabs, and takes others' when done, so the
   * devices need not be alike; when one fails on the way, the others take over, and GetExecutionReport() says so. A
   * number that no device has throws at Update(). An image too small to be cut is filtered by the first. */
  virtual void
  SetDevices(std::vector<int> devices);
  itkGetConstReferenceMacro(Devices, std::vector<int>);

  /** The CUDA stream, a cudaStream_t, that images in device memory are filtered in. Null, the default, is the default
   * stream, as of ITKCudaCommon and RTK. Update() returns when the work is in the stream, and mostly before it is done.
   * Work of another stream begins when all that the default stream has is done, and what the default stream gets
   * afterwards waits for it, transfers of the image to the host included: whoever uses no stream need know of none. The
   * stream has to be one of the device that the images lie on, whatever SetDevices() says. */
  virtual void
  SetStream(void * stream)
  {
    if (m_Stream != stream)
    {
      m_Stream = stream;
      this->Modified();
    }
  }
  virtual void *
  GetStream() const
  {
    return m_Stream;
  }

  /** The radius in use: that of the footprint, else GetRadius(), with 0 along the last axis when SliceWise is on. */
  RadiusType
  GetEffectiveRadius() const;

  /** The radius set by SetRadius(), in pixels. */
  const RadiusType &
  GetRadius() const override;

  /** What the last Update() ran, where, and why. Its `backend` is empty before the first. */
  const cudamedian::ExecutionReport &
  GetExecutionReport() const
  {
    return m_ExecutionReport;
  }

  /** The execution report as text, one "name: value" line per entry. */
  std::string
  GetExecutionReportAsString() const;

#if !defined(ITK_WRAPPING_PARSER)
  /** For those who carry out the filter's request themselves, as CudaMedianChainImageFilter does: the request, without
   * the places of the images. The filter's input and output have to be connected. \returns why that cannot be done in
   * device memory, where the filter knows it; else empty. */
  std::string
  DescribeStep(cudamedian::MedianRequest & request);
#endif

protected:
  CudaMedianImageFilter() = default;
  ~CudaMedianImageFilter() override = default;

  void
  PrintSelf(std::ostream & os, Indent indent) const override;

  /** Pads the requested region by the effective radius and crops it to the largest possible region.
   * \throws InvalidRequestedRegionError when nothing is left. */
  void
  GenerateInputRequestedRegion() override;

  void
  GenerateData() override;

  /** \throws ExceptionObject when the mask has not the input's size, as well as where their geometry differs. */
  void
  VerifyInputInformation() const override;

  /** For subclasses that want of the engine what this class has no property for, such as another rank. Called for each
   * request before it is carried out. */
  virtual void
  ChangeRequest(cudamedian::MedianRequest &) const
  {}

private:
  using BoundaryArray = FixedArray<BoundaryEnum, InputImageDimension>;
  using EvenArray = FixedArray<bool, InputImageDimension>;

  /** Throws where an axis is not one of the image's. */
  void
  CheckAxis(unsigned int axis) const;

  /** Changes a value where it is another, to the last bit. */
  template <typename TValue>
  void
  SetValue(TValue & member, const TValue & value);

  /** \class Shape
   * \ingroup CudaMedian
   * What a window is made of. */
  enum class Shape : uint8_t
  {
    Box,
    Footprint,
    Ellipsoid,
    CenterWeighted
  };

  /** Has windows made of something else. */
  void
  ChangeShape(Shape shape);

  /** Makes the request's input the pixels that the mask has too, and says where the mask lies. */
  void
  SetMask(cudamedian::MedianRequest & request) const;

  /** Whether windows wrap around along some axis. */
  bool
  WrapsAround() const;

  /** Writes the output, with the engine or with ITK's own filter. */
  void
  Generate(const RadiusType & radius);

  void
  RunEngine(const RadiusType & radius);

  /** The same with memory of the output's own. */
  void
  RunBeside(const RadiusType & radius);

  /** The same in the input's memory. \returns why nothing was done; empty where all is. */
  std::string
  RunInPlace(const RadiusType & radius);

  /** The request for all values of the pixels, or for the first of them, without the places of images and mask. */
  cudamedian::MedianRequest
  MakeRequest(const RadiusType & radius);

  /** Whether a request for all values of the pixels can be made: a boundary's constant has one value alone there. */
  bool
  AreFilteredTogether(const cudamedian::MedianRequest & request, std::int64_t count) const;

  /** What the filter knows that device memory does not take; empty where there is nothing. */
  std::string
  FindObstacle(bool together) const;

  /** Adds the mask's pixels on a device, if there is a mask. \pre FindObstacle() finds nothing */
  void
  AddDeviceMask(cudamedian::MedianRequest & request) const;

  /** One request for each value of the pixels. */
  void
  RunEngineForEachValue(const cudamedian::MedianRequest & request, std::int64_t count);

  /** Writes a value of the boundary's constant as the engine takes it. */
  void
  SetBorderValue(cudamedian::MedianRequest & request, unsigned int component) const;

  void
  RunSuperclass(const RadiusType & radius, const std::string & reason);

  bool                          m_SliceWise{ false };
  bool                          m_InPlace{ false };
  bool                          m_IsFilteredInPlace{ false };
  std::string                   m_InPlaceReason;
  BoundaryArray                 m_BoundaryMode{ BoundaryArray::Filled(BoundaryEnum::ZeroFluxNeumann) };
  InputPixelType                m_BoundaryConstant{};
  EvenArray                     m_EvenWindow{ EvenArray::Filled(false) };
  EvenMedianEnum                m_EvenMedian{ EvenMedianEnum::Upper };
  Shape                         m_Shape{ Shape::Box };
  const cudamedian::Footprint * m_Footprint{ nullptr }; ///< of Shape::Footprint
  PhysicalRadiusType            m_PhysicalRadius{ PhysicalRadiusType::Filled(0) };
  SizeValueType                 m_CenterWeight{ 1 };
  bool                          m_HasIgnoredValue{ false };
  InputValueType                m_IgnoredValue{};
  NaNPolicyEnum                 m_NaNPolicy{ NaNPolicyEnum::Order };
  EmptyWindowEnum               m_EmptyWindow{ EmptyWindowEnum::Input };
  InputValueType                m_EmptyValue{};
  InvalidOutputEnum             m_InvalidOutput{ InvalidOutputEnum::Computed };
  InputValueType                m_InvalidValue{};
  OutlierRuleEnum               m_OutlierRule{ OutlierRuleEnum::None };
  double                        m_OutlierThreshold{ 0 };
  BackendEnum                   m_Backend{ BackendEnum::Auto };
  AlgorithmEnum                 m_Algorithm{ AlgorithmEnum::Automatic };
  bool                          m_WaitForKernels{ false };
  SizeValueType                 m_DeviceMemoryBudget{ 0 };
  SizeValueType                 m_HostMemoryBudget{ 0 };
  std::vector<int>              m_Devices;
  void *                        m_Stream{ nullptr };
  cudamedian::ExecutionReport   m_ExecutionReport;
  const RadiusType *            m_SuperclassRadius{ nullptr };
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkCudaMedianImageFilter.hxx"
#endif

#endif
