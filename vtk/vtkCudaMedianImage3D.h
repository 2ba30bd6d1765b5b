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
 * The median of vtkImageMedian3D, with its interface and its result, on an NVIDIA GPU or with tile programs on the CPU;
 * and other ranks, other boundaries and masks, where they are asked for.
 *
 * SetKernelSize() takes the size of the window along each axis; it starts size / 2 pixels (rounded down) before its
 * pixel. At the image's border the window is smaller. Where it has an even number of pixels the result is the mean of
 * the two middle values, rounded down for integers. Each component is filtered by itself. For floating point pixels NaN
 * orders above all others, which VTK leaves undefined.
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

  /** Which of the window's sorted values is wanted: 0 is the least. -1, the default, is the median's. Windows that have
   * fewer pixels than others, as those at a border that they shrink at and those with points that do not count, have a
   * median, a least and a greatest value alone. */
  vtkSetMacro(Rank, vtkTypeInt64);
  vtkGetMacro(Rank, vtkTypeInt64);

  /** What windows see beyond the image, which is `Shrink` by default, as in vtkImageMedian3D: nothing, they have fewer
   * pixels there. `Nearest`: the nearest pixel. `Constant`: the boundary's constant. `Reflect`: the image mirrored at
   * its edge. `Mirror`: the image mirrored at its last pixel. `Wrap`: the image again, which takes the whole image as
   * input. */
  enum BoundaryType
  {
    Shrink,
    Nearest,
    Constant,
    Reflect,
    Mirror,
    Wrap
  };
  vtkSetClampMacro(BoundaryMode, int, Shrink, Wrap);
  vtkGetMacro(BoundaryMode, int);
  void
  SetBoundaryModeToShrink()
  {
    this->SetBoundaryMode(Shrink);
  }
  void
  SetBoundaryModeToNearest()
  {
    this->SetBoundaryMode(Nearest);
  }
  void
  SetBoundaryModeToConstant()
  {
    this->SetBoundaryMode(Constant);
  }
  void
  SetBoundaryModeToReflect()
  {
    this->SetBoundaryMode(Reflect);
  }
  void
  SetBoundaryModeToMirror()
  {
    this->SetBoundaryMode(Mirror);
  }
  void
  SetBoundaryModeToWrap()
  {
    this->SetBoundaryMode(Wrap);
  }
  vtkSetMacro(BoundaryConstant, double);
  vtkGetMacro(BoundaryConstant, double);

  /** What the median of an even number of values is: `Mean`, the default, is that of the two in the middle, as in
   * vtkImageMedian3D; `Upper` and `Lower` are one of the two. */
  enum EvenMedianType
  {
    Mean,
    Upper,
    Lower
  };
  vtkSetClampMacro(EvenMedian, int, Mean, Lower);
  vtkGetMacro(EvenMedian, int);
  void
  SetEvenMedianToMean()
  {
    this->SetEvenMedian(Mean);
  }
  void
  SetEvenMedianToUpper()
  {
    this->SetEvenMedian(Upper);
  }
  void
  SetEvenMedianToLower()
  {
    this->SetEvenMedian(Lower);
  }

  /** The name of an array of integers in the input's point data: points where it is 0 do not count. An array that is
   * not there is an error. Empty or null, the default: all count. */
  virtual void
  SetMaskArrayName(const char * name);
  const char *
  GetMaskArrayName() const
  {
    return this->MaskArrayName.c_str();
  }

  /** Whether points that are blanked, as in a vtkUniformGrid, do not count. Off by default, as
   * vtkImageMedian3D takes them as others. */
  vtkSetMacro(OmitBlankedPoints, bool);
  vtkGetMacro(OmitBlankedPoints, bool);
  vtkBooleanMacro(OmitBlankedPoints, bool);

  /** A value whose points do not count, where UseIgnoredValue is on. One that the input's points cannot hold is an
   * error.
   */
  vtkSetMacro(UseIgnoredValue, bool);
  vtkGetMacro(UseIgnoredValue, bool);
  vtkBooleanMacro(UseIgnoredValue, bool);
  vtkSetMacro(IgnoredValue, double);
  vtkGetMacro(IgnoredValue, double);

  /** Whether points that do not count stay as they are. Off, the default: they become the median of those around them
   * that count. Where there are none, a point stays as it is in any case. */
  vtkSetMacro(CopyInvalidPoints, bool);
  vtkGetMacro(CopyInvalidPoints, bool);
  vtkBooleanMacro(CopyInvalidPoints, bool);

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

  /** Windows that see the other end of the image need all of it. */
  int
  RequestUpdateExtent(vtkInformation *        request,
                      vtkInformationVector ** inputs,
                      vtkInformationVector *  outputs) override;

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
  vtkTypeInt64                  Rank{ -1 };
  int                           BoundaryMode{ Shrink };
  double                        BoundaryConstant{ 0 };
  int                           EvenMedian{ Mean };
  std::string                   MaskArrayName;
  bool                          OmitBlankedPoints{ false };
  bool                          UseIgnoredValue{ false };
  double                        IgnoredValue{ 0 };
  bool                          CopyInvalidPoints{ false };
  std::string                   ExecutionReport;
};

#endif
