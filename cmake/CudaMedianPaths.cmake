# What is built says where the sources lay as seen from their root, "./include/itkCudaMedianImageFilter.hxx": ITK's
# exceptions and assertions name the file, and that of the machine it was built on is nobody's business, nor the same in
# two builds. With debug information, debuggers find the sources by the paths that it holds: it keeps them.
set(CudaMedian_PREFIX_MAP
  "$<IF:$<OR:$<CONFIG:Debug>,$<CONFIG:RelWithDebInfo>>,-fmacro-prefix-map,-ffile-prefix-map>=${CMAKE_CURRENT_SOURCE_DIR}=.")
if(CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang|AppleClang)$")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${CudaMedian_PREFIX_MAP}>")
  # In two words: ccache knows the second one then, and that the folder in it makes no difference where its base
  # directory says so. Of -Xcompiler=-ffile-prefix-map=... it does not, and compiles kernels again for each checkout.
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:SHELL:-Xcompiler \"${CudaMedian_PREFIX_MAP}\">")
endif()
