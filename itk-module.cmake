set(DOCUMENTATION "The exact median of itk::MedianImageFilter on NVIDIA GPUs, and with tile programs on the CPU.")

itk_module(CudaMedian
  DEPENDS
    ITKCommon
    ITKSmoothing
  TEST_DEPENDS
    ITKGoogleTest
  EXCLUDE_FROM_DEFAULT
  ENABLE_SHARED
  DESCRIPTION
    "${DOCUMENTATION}"
)
