# cudamedian_use_itk(<components>): finds modules of ITK for the programs of a folder, which then link to what
# CudaMedian_ITK_LIBRARIES lists, and read and write every image format of ITKImageIO where that is one of them.
#
# From ITK 6 on include directories and formats come with targets, ITK::<module>Module, and the use file is deprecated.
macro(cudamedian_use_itk)
  find_package(ITK REQUIRED COMPONENTS ${ARGN})
  if(ITK_INTERFACE_LIBRARIES)
    itk_generate_factory_registration()
    set(CudaMedian_ITK_LIBRARIES ${ITK_INTERFACE_LIBRARIES})
    if(TARGET ITK::ITKImageIO)
      list(APPEND CudaMedian_ITK_LIBRARIES ITK::ITKImageIO)
    endif()
  else()
    include(${ITK_USE_FILE})
    set(CudaMedian_ITK_LIBRARIES ${ITK_LIBRARIES})
  endif()
endmacro()
