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
#ifndef vtkCudaMedianImage3D_h
#define vtkCudaMedianImage3D_h

#include "CudaMedianVTKExport.h"

#include "vtkDataArray.h"
#include "vtkImageMedian3D.h"
#include "vtkSmartPointer.h"

#include <string>

/** \class vtkCudaMedianImage3D
 * The median of vtkImageMedian3D, with its interface and its result, on an NVIDIA GPU or with tile programs on the CPU.
 *
 * SetKernelSize() takes the size of the window along each axis; it starts size / 2 pixels (rounded down) before its
 * pixel. At the image's border the window is smaller. Where it has an even number of pixels the result is the mean of
 * the two middle values, rounded down for integers. Each component is filtered by itself. For floating point pixels NaN
 * orders above all others, which VTK leaves undefined.
 *
 * Odd sizes are fast. Sizes of which one is even are selected window by window on the CPU, about as fast as VTK does
 * it.
 *
 * The whole update extent is one request to the engine, which works with GetNumberOfThreads() threads on the CPU.
 * Progress events and AbortExecute are those of VTK's class. An error is reported with vtkErrorMacro.
 *
 * vtkCudaMedianFactory makes programs that ask vtkObjectFactory for a vtkImageMedian3D take this class. */
class CudaMedianVTK_EXPORT vtkCudaMedianImage3D : public vtkImageMedian3D
{
public:
  static vtkCudaMedianImage3D *
  New();
  vtkTypeMacro(vtkCudaMedianImage3D, vtkImageMedian3D);
  void
  PrintSelf(ostream & os, vtkIndent indent) override;

  /** Where to run. `Auto`, the default, takes what is estimated to be done first. */
  enum BackendType
  {
    Auto,
    Cuda,
    Cpu
  };
  vtkSetClampMacro(Backend, int, Auto, Cpu);
  vtkGetMacro(Backend, int);
  void
  SetBackendToAuto()
  {
    this->SetBackend(Auto);
  }
  void
  SetBackendToCuda()
  {
    this->SetBackend(Cuda);
  }
  void
  SetBackendToCpu()
  {
    this->SetBackend(Cpu);
  }

  /** Bytes of memory allowed on the device; 0, the default, allows a share of what is free. */
  vtkSetMacro(DeviceMemoryBudget, vtkTypeUInt64);
  vtkGetMacro(DeviceMemoryBudget, vtkTypeUInt64);

  /** What ran at the last update, where, and why: a line for each entry. Empty before the first update. */
  const char *
  GetExecutionReport() const
  {
    return this->ExecutionReport.c_str();
  }

protected:
  vtkCudaMedianImage3D();
  ~vtkCudaMedianImage3D() override;

  /** Gives the output the memory that it had at the last update, where nobody else uses that: new memory takes as long
   * to get as a small window takes to filter. */
  void
  AllocateOutputData(vtkImageData * output, vtkInformation * information, int * extent) override;

  int
  RequestData(vtkInformation * request, vtkInformationVector ** inputs, vtkInformationVector * outputs) override;

  void
  ThreadedRequestData(vtkInformation *        request,
                      vtkInformationVector ** inputs,
                      vtkInformationVector *  outputs,
                      vtkImageData ***        inputImages,
                      vtkImageData **         outputImages,
                      int                     extent[6],
                      int                     threadId) override;

private:
  vtkCudaMedianImage3D(const vtkCudaMedianImage3D &) = delete;
  void
  operator=(const vtkCudaMedianImage3D &) = delete;

  vtkSmartPointer<vtkDataArray> Kept; ///< the output's values
  int                           Backend{ Auto };
  vtkTypeUInt64                 DeviceMemoryBudget{ 0 };
  int                           WorkUnits{ 1 };
  std::string                   ExecutionReport;
};

#endif
