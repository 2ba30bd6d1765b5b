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
#ifndef HostDevice_h
#define HostDevice_h

/** Functions that run on the host and in kernels. NVRTC compiles this file too. */
#ifdef __CUDACC_RTC__
#  define CUDAMEDIAN_HOST_DEVICE __device__ __forceinline__
#elif defined(__CUDACC__)
#  define CUDAMEDIAN_HOST_DEVICE __host__ __device__ __forceinline__
#else
#  define CUDAMEDIAN_HOST_DEVICE inline
#endif

/** Loops of kernels: unrolled, or kept as they are. */
#ifdef __CUDACC__
#  define CUDAMEDIAN_UNROLL _Pragma("unroll")
#  define CUDAMEDIAN_KEEP_LOOP _Pragma("unroll 1")
#else
#  define CUDAMEDIAN_UNROLL
#  define CUDAMEDIAN_KEEP_LOOP
#endif

#endif
