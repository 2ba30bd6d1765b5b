set(DOCUMENTATION "The exact median of itk::MedianImageFilter on NVIDIA GPUs, and with tile programs on the CPU.")

# The examples add noise, and read and write files. Modules that come before this one are named one by one.
set(CudaMedian_EXAMPLES_DEPENDS "")
if(BUILD_EXAMPLES OR ITK_BUILD_EXAMPLES)
  set(CudaMedian_EXAMPLES_DEPENDS ITKImageNoise ITKIOMeta ITKIONIFTI ITKIONRRD ITKIOPNG)
endif()

itk_module(CudaMedian
  DEPENDS
    ITKCommon
    ITKSmoothing
  PRIVATE_DEPENDS
    ${CudaMedian_EXAMPLES_DEPENDS}
  TEST_DEPENDS
    ITKGoogleTest
  EXCLUDE_FROM_DEFAULT
  ENABLE_SHARED
  DESCRIPTION
    "${DOCUMENTATION}"
)
