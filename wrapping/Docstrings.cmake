# Python's docstrings of the filter. ITK's own way, through Doxygen, works for the modules inside ITK only.
set(CudaMedian_DOCSTRING [[
The exact median of the window around each pixel, on an NVIDIA GPU or on the CPU.

The result equals that of itk.MedianImageFilter, voxel for voxel, for every input without NaN. NaN orders above
+infinity and -0 below +0. Pixels at the border are repeated outwards, unless boundary_mode says otherwise.

    smooth = itk.cuda_median_image_filter(image, radius=2)

takes and returns an itk.Image, a NumPy array or an xarray.DataArray. Keyword arguments are the Set methods below:

radius                one number or one for each axis, x first, in pixels
boundary_mode         itk.CudaMedianImageFilterEnums.Boundary_ZeroFluxNeumann, Boundary_Constant (boundary_constant),
                      Boundary_Reflect, Boundary_Mirror, Boundary_Wrap or Boundary_Shrink (windows are clipped)
even_window           True for windows of 2 * radius pixels, one fewer behind the output than before
even_median           itk.CudaMedianImageFilterEnums.EvenMedian_Upper, EvenMedian_Mean or EvenMedian_Lower
footprint             an itk.FlatStructuringElement: a window that is no box
physical_radius       radii of a ball or an ellipsoid in millimetres, by the image's spacing
center_weight         how many times the pixel itself counts in its window
mask_image            an image of integers: pixels where it is 0 do not count
ignored_value         pixels of this value do not count
na_n_policy           itk.CudaMedianImageFilterEnums.NaNPolicy_Order or NaNPolicy_Omit
outlier_rule          itk.CudaMedianImageFilterEnums.OutlierRule_None, OutlierRule_Absolute or OutlierRule_Deviations: only
                      pixels farther from their median than outlier_threshold are replaced
slice_wise            True filters a volume slice by slice: the radius along the last axis (z) counts as 0
backend               itk.CudaMedianImageFilterEnums.Backend_Auto (CUDA when a usable device exists, else the CPU),
                      Backend_Cuda (an exception without a usable device) or Backend_Cpu
algorithm             itk.CudaMedianImageFilterEnums.Algorithm_Automatic, Algorithm_TileProgram, Algorithm_LocalRank,
                      Algorithm_SlidingHistogram, Algorithm_Selection or Algorithm_MergeTiling
wait_for_kernels      True compiles a kernel that is not compiled yet first; else something else runs meanwhile
device_memory_budget  bytes of device memory allowed, 0 for a share of what is free
number_of_work_units  threads of the CPU backend

As an object it takes observers, can be stopped by AbortGenerateDataOn(), and tells what it did:

    median = itk.CudaMedianImageFilter.New(image, radius=2)
    median.Update()
    print(median.GetExecutionReportAsString())
]])

# What the methods do, method and text in turn.
set(CudaMedian_METHOD_DOCSTRINGS
  SetSliceWise "Filter a volume slice by slice: the radius along the last axis counts as 0. Off by default."
  SetInPlace "Whether the output may be written over the input, where CUDA filters a whole image. Off by default."
  SetBoundaryMode "What windows see beyond the image, along all axes or along one, whose number comes first: a value of itk.CudaMedianImageFilterEnums.Boundary."
  SetBoundaryConstant "The value beyond the image where the boundary is constant."
  SetEvenWindow "Windows of 2 * radius pixels, along all axes or along one, whose number comes first: one pixel fewer behind the output than before. Off by default."
  SetEvenMedian "What the median of an even number of values is: a value of itk.CudaMedianImageFilterEnums.EvenMedian."
  SetFootprint "The pixels of a window that is no box: an itk.FlatStructuringElement. Takes the place of the radius."
  SetPhysicalRadius "The radii of an ellipsoid in the units of the input's spacing, one number or one for each axis. Takes the place of the radius."
  SetCenterWeight "How many times the output's own pixel counts in the box of the radius. 1 by default."
  ClearFootprint "The box of the radius again."
  SetMaskImage "An image of integers with the input's geometry: where it is 0, pixels are not valid, and windows do without them."
  SetIgnoredValue "A value whose pixels are not valid."
  SetNaNPolicy "Whether NaN is a value or not valid: a value of itk.CudaMedianImageFilterEnums.NaNPolicy."
  SetEmptyWindow "What is written where no pixel of a window is valid: a value of itk.CudaMedianImageFilterEnums.EmptyWindow."
  SetInvalidOutput "What is written for outputs whose own pixel is not valid: a value of itk.CudaMedianImageFilterEnums.InvalidOutput."
  SetOutlierRule "Which pixels are replaced by their median: a value of itk.CudaMedianImageFilterEnums.OutlierRule."
  SetOutlierThreshold "The distance from the median, or the number of median absolute deviations, beyond which a pixel is replaced."
  SetBackend "Where to run: a value of itk.CudaMedianImageFilterEnums.Backend. Backend_Cuda without a usable device is an exception at Update()."
  SetAlgorithm "How the medians are found: a value of itk.CudaMedianImageFilterEnums.Algorithm. One that does not cover the window is an exception at Update()."
  SetWaitForKernels "Whether an update whose fastest kernel is not compiled yet compiles it first, in seconds. Off by default: something else runs, and the kernel is compiled in the background."
  SetDeviceMemoryBudget "Bytes of device memory the filter may use. 0, the default, allows a share of what is free."
  SetHostMemoryBudget "Bytes of pinned memory of the host that slabs may pass through. 0, the default, allows an eighth of the host's memory, from 64 MiB to 2 GiB."
  GetEffectiveRadius "The radius in use: GetRadius(), with 0 along the last axis when SliceWise is on."
  GetExecutionReportAsString "What the last Update() ran, where, how long, and why: one 'name: value' line per entry."
)

foreach(class IN LISTS CudaMedian_WRAPPED_CLASSES)
  string(APPEND ITK_WRAP_PYTHON_SWIG_EXT "%feature(\"docstring\") ${class} \"${CudaMedian_DOCSTRING}\"\n")
  set(texts ${CudaMedian_METHOD_DOCSTRINGS})
  while(texts)
    list(POP_FRONT texts method text)
    string(APPEND ITK_WRAP_PYTHON_SWIG_EXT "%feature(\"docstring\") ${class}::${method} \"${text}\"\n")
  endwhile()
endforeach()
