# Every function of the CUDA runtime that the library calls and that may fail, for --wrap of the linker: the tests stand
# between (CudaFaults.cxx). CudaMedianCudaCallsTest compares this with what the library's object files refer to.
set(CudaMedian_CUDA_CALLS
  __cudaLaunchKernel
  cudaDeviceGetAttribute
  cudaDeviceSynchronize
  cudaEventCreate
  cudaEventCreateWithFlags
  cudaEventDestroy
  cudaEventElapsedTime
  cudaEventQuery
  cudaEventRecord
  cudaEventSynchronize
  cudaFree
  cudaFreeAsync
  cudaFreeHost
  cudaFuncGetAttributes
  cudaFuncSetAttribute
  cudaGetDevice
  cudaGetDeviceCount
  cudaGetDeviceProperties
  cudaGetDriverEntryPointByVersion
  cudaGetLastError
  cudaLaunchKernel
  cudaLaunchKernelExC
  cudaLibraryGetKernel
  cudaLibraryLoadData
  cudaMalloc
  cudaMallocAsync
  cudaMallocFromPoolAsync
  cudaMallocHost
  cudaMemGetInfo
  cudaMemPoolCreate
  cudaMemPoolDestroy
  cudaMemPoolSetAttribute
  cudaMemcpy
  cudaMemcpy2DAsync
  cudaMemcpyAsync
  cudaMemset2DAsync
  cudaMemsetAsync
  cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
  cudaPeekAtLastError
  cudaPointerGetAttributes
  cudaSetDevice
  cudaStreamCreateWithFlags
  cudaStreamDestroy
  cudaStreamIsCapturing
  cudaStreamSynchronize
  cudaStreamWaitEvent)

# Not wrapped: names of errors, and what nvcc's launch code calls for itself. __cudaGetKernel is asked once in a process,
# and nobody sees its error.
set(CudaMedian_CUDA_CALLS_LEFT_ALONE
  __cudaGetKernel
  __cudaPopCallConfiguration
  __cudaPushCallConfiguration
  __cudaRegisterFatBinary
  __cudaRegisterFatBinaryEnd
  __cudaRegisterFunction
  __cudaRegisterVar
  __cudaUnregisterFatBinary
  cudaGetErrorName
  cudaGetErrorString)

# As a script: cmake -D NM=... -D OBJECTS=... -P CudaCalls.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${OBJECTS} objects)
  if(objects STREQUAL "")
    message(FATAL_ERROR "no object files")
  endif()
  execute_process(COMMAND ${NM} --undefined-only ${objects} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " U (__)?cuda[A-Z][A-Za-z0-9_]*" found "${symbols}")
  list(TRANSFORM found REPLACE " U " "")
  list(REMOVE_DUPLICATES found)
  list(SORT found)
  set(missing ${found})
  list(REMOVE_ITEM missing ${CudaMedian_CUDA_CALLS} ${CudaMedian_CUDA_CALLS_LEFT_ALONE})
  if(found STREQUAL "")
    message(FATAL_ERROR "the object files call nothing of CUDA")
  endif()
  if(NOT missing STREQUAL "")
    message(FATAL_ERROR "called by the library, but not in CudaCalls.cmake and CudaFaults.cxx: ${missing}")
  endif()
  list(LENGTH found count)
  message(STATUS "${count} CUDA functions are called, all of them known: ${found}")
endif()
