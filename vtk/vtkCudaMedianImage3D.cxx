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
#include "vtkCudaMedianImage3D.h"

#include "ClippedMedian.h"
#include "ImageRank.h"
#include "PixelFormat.h"

#include "vtkDataArray.h"
#include "vtkImageData.h"
#include "vtkInformation.h"
#include "vtkInformationVector.h"
#include "vtkMultiThreader.h"
#include "vtkNew.h"
#include "vtkObjectFactory.h"
#include "vtkPointData.h"
#include "vtkStreamingDemandDrivenPipeline.h"
#include "vtkUnsignedCharArray.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace
{

/** What the progress throws to stop the engine. */
struct Aborted
{};

template <typename T>
cudamedian::PixelType
TypeOf()
{
  using cudamedian::PixelType;
  if (std::is_same_v<T, float>)
  {
    return PixelType::Float32;
  }
  if (std::is_same_v<T, double>)
  {
    return PixelType::Float64;
  }
  constexpr bool isSigned = std::is_signed_v<T>;
  return sizeof(T) == 1   ? (isSigned ? PixelType::Int8 : PixelType::UInt8)
         : sizeof(T) == 2 ? (isSigned ? PixelType::Int16 : PixelType::UInt16)
         : sizeof(T) == 4 ? (isSigned ? PixelType::Int32 : PixelType::UInt32)
                          : (isSigned ? PixelType::Int64 : PixelType::UInt64);
}

/** The engine's type of two arrays' values. \throws std::invalid_argument when it has none, or when they differ. */
cudamedian::PixelType
GetPixelType(const vtkDataArray & input, const vtkDataArray & output)
{
  const auto getType = [&input] {
    switch (input.GetDataType())
    {
      vtkTemplateMacro(return TypeOf<VTK_TT>());
      default:
        throw std::invalid_argument(std::string("The median of values of type ") + input.GetDataTypeAsString() +
                                    " is not defined");
    }
  };
  const auto type = getType();
  if (input.GetDataType() != output.GetDataType() || input.GetNumberOfComponents() != output.GetNumberOfComponents())
  {
    std::ostringstream text;
    text << "The input has " << input.GetNumberOfComponents() << " components of type " << input.GetDataTypeAsString()
         << ", but the output has " << output.GetNumberOfComponents() << " of type " << output.GetDataTypeAsString();
    throw std::invalid_argument(text.str());
  }
  return type;
}

cudamedian::ClippedBox
ToBox(const int extent[6])
{
  cudamedian::ClippedBox box;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    box.first[axis] = extent[2 * axis];
    box.size[axis] = std::int64_t{ extent[2 * axis + 1] } - extent[2 * axis] + 1;
  }
  return box;
}

/** Runs body(0) to body(count - 1) on VTK's threads. */
void
RunOnThreads(vtkMultiThreader & threader, std::size_t count, const std::function<void(std::size_t)> & body)
{
  const auto function = [](void * data) -> VTK_THREAD_RETURN_TYPE {
    const auto * const info = static_cast<vtkMultiThreader::ThreadInfo *>(data);
    (*static_cast<const std::function<void(std::size_t)> *>(info->UserData))(static_cast<std::size_t>(info->ThreadID));
    return VTK_THREAD_RETURN_VALUE;
  };
  threader.SetNumberOfThreads(static_cast<int>(count));
  threader.SetSingleMethod(function, const_cast<std::function<void(std::size_t)> *>(&body));
  threader.SingleMethodExecute();
}

/** Copies one component out of all, or into them. */
template <typename T>
void
CopyComponent(const void * from, int fromStep, void * to, int toStep, std::int64_t pixels)
{
  const auto * source = static_cast<const T *>(from);
  auto *       target = static_cast<T *>(to);
  for (std::int64_t i = 0; i < pixels; ++i)
  {
    target[i * toStep] = source[i * fromStep];
  }
}

void
CopyComponent(std::size_t bytes, const void * from, int fromStep, void * to, int toStep, std::int64_t pixels)
{
  cudamedian::DispatchBytes(bytes,
                            [=](auto pixel) { CopyComponent<decltype(pixel)>(from, fromStep, to, toStep, pixels); });
}

/** Runs a request for each component, which lies without gaps then, as the engine takes it. The first wanted pixel is
 * the one of number `first` in the output, whose rows and slices are as far apart as the request says. */
cudamedian::ExecutionReport
RunOnComponents(cudamedian::ClippedRequest request,
                vtkDataArray &             inputArray,
                vtkDataArray &             outputArray,
                std::int64_t               first,
                int &                      component)
{
  const auto   bytes = static_cast<std::size_t>(inputArray.GetDataTypeSize());
  const int    components = inputArray.GetNumberOfComponents();
  const auto * input = static_cast<const char *>(inputArray.GetVoidPointer(0));
  auto *       output = static_cast<char *>(outputArray.GetVoidPointer(0));
  if (components == 1)
  {
    request.input = input;
    request.output = output + static_cast<std::size_t>(first) * bytes;
    return cudamedian::RunClippedMedian(request);
  }
  const auto                    pixels = request.image.GetVolume();
  const auto                    wanted = request.wanted.GetVolume();
  const std::unique_ptr<char[]> plane(new char[static_cast<std::size_t>(pixels) * bytes]);
  const std::unique_ptr<char[]> result(new char[static_cast<std::size_t>(wanted) * bytes]);
  const auto                    row = request.wanted.size[0];
  const auto                    rows = request.wanted.size[1];
  const auto                    rowStep = std::exchange(request.outputRow, row);
  const auto                    sliceStep = std::exchange(request.outputSlice, row * rows);
  request.input = plane.get();
  request.output = result.get();
  cudamedian::ExecutionReport report;
  for (; component < components; ++component)
  {
    const auto place = static_cast<std::size_t>(component) * bytes;
    CopyComponent(bytes, input + place, components, plane.get(), 1, pixels);
    report = cudamedian::RunClippedMedian(request);
    for (std::int64_t number = 0; number < wanted / std::max<std::int64_t>(row, 1); ++number)
    {
      const auto target = first + number % rows * rowStep + number / rows * sliceStep;
      CopyComponent(bytes,
                    result.get() + static_cast<std::size_t>(number * row) * bytes,
                    1,
                    output + static_cast<std::size_t>(target * components) * bytes + place,
                    components,
                    row);
    }
  }
  return report;
}

std::string
ToText(const cudamedian::ExecutionReport & report)
{
  if (report.backend.empty())
  {
    return "Backend: CPU (every window is clipped)\n";
  }
  std::ostringstream text;
  report.Print(text);
  return text.str();
}

/** What the filter was asked for beyond vtkImageMedian3D. \throws std::invalid_argument where there is no such mask */
cudamedian::ImageRankOptions
GetRankOptions(vtkCudaMedianImage3D & filter, vtkImageData & input)
{
  using cudamedian::Border;
  using cudamedian::EvenMedian;
  constexpr Border     borders[] = { Border::Shrink,  Border::ZeroFluxNeumann, Border::Constant,
                                     Border::Reflect, Border::Mirror,          Border::Wrap };
  constexpr EvenMedian evenMedians[] = { EvenMedian::Mean, EvenMedian::Upper, EvenMedian::Lower };

  cudamedian::ImageRankOptions options;
  options.rank = filter.GetRank();
  options.border = borders[filter.GetBoundaryMode()];
  options.borderValue = filter.GetBoundaryConstant();
  options.evenMedian = evenMedians[filter.GetEvenMedian()];
  const std::string mask = filter.GetMaskArrayName();
  if (!mask.empty())
  {
    options.mask = input.GetPointData()->GetArray(mask.c_str());
    if (options.mask == nullptr)
    {
      throw std::invalid_argument("The input's point data have no array '" + mask +
                                  "' of numbers, which is to be the mask");
    }
  }
  if (filter.GetOmitBlankedPoints())
  {
    options.ghosts = input.GetPointGhostArray();
  }
  options.hasIgnoredValue = filter.GetUseIgnoredValue();
  options.ignoredValue = filter.GetIgnoredValue();
  options.invalidOutput =
    filter.GetCopyInvalidPoints() ? cudamedian::InvalidOutput::Copied : cudamedian::InvalidOutput::Computed;
  return options;
}

} // namespace

vtkStandardNewMacro(vtkCudaMedianImage3D);

vtkCudaMedianImage3D::vtkCudaMedianImage3D() = default;
vtkCudaMedianImage3D::~vtkCudaMedianImage3D() = default;

void
vtkCudaMedianImage3D::PrintSelf(ostream & os, vtkIndent indent)
{
  this->Superclass::PrintSelf(os, indent);
  os << indent << "Backend: " << this->Backend << endl;
  os << indent << "Rank: " << this->Rank << endl;
  os << indent << "BoundaryMode: " << this->BoundaryMode << endl;
  os << indent << "BoundaryConstant: " << this->BoundaryConstant << endl;
  os << indent << "EvenMedian: " << this->EvenMedian << endl;
  os << indent << "MaskArrayName: " << (this->MaskArrayName.empty() ? "(none)" : this->MaskArrayName) << endl;
  os << indent << "OmitBlankedPoints: " << this->OmitBlankedPoints << endl;
  os << indent << "UseIgnoredValue: " << this->UseIgnoredValue << endl;
  os << indent << "IgnoredValue: " << this->IgnoredValue << endl;
  os << indent << "CopyInvalidPoints: " << this->CopyInvalidPoints << endl;
  os << indent << "DeviceMemoryBudget: " << this->DeviceMemoryBudget << endl;
  os << indent << "ExecutionReport: " << (this->ExecutionReport.empty() ? "(none)" : this->ExecutionReport) << endl;
}

void
vtkCudaMedianImage3D::SetMaskArrayName(const char * name)
{
  const std::string wanted = name != nullptr ? name : "";
  if (wanted != this->MaskArrayName)
  {
    this->MaskArrayName = wanted;
    this->Modified();
  }
}

int
vtkCudaMedianImage3D::RequestUpdateExtent(vtkInformation *        request,
                                          vtkInformationVector ** inputs,
                                          vtkInformationVector *  outputs)
{
  const int result = this->Superclass::RequestUpdateExtent(request, inputs, outputs);
  if (this->BoundaryMode == Wrap)
  {
    using Pipeline = vtkStreamingDemandDrivenPipeline;
    vtkInformation * const information = inputs[0]->GetInformationObject(0);
    int                    whole[6];
    information->Get(Pipeline::WHOLE_EXTENT(), whole);
    information->Set(Pipeline::UPDATE_EXTENT(), whole, 6);
  }
  return result;
}

void
vtkCudaMedianImage3D::AllocateOutputData(vtkImageData * output, vtkInformation * information, int * extent)
{
  const auto box = ToBox(extent);
  if (this->Kept && this->Kept->GetReferenceCount() == 1 &&
      this->Kept->GetDataType() == vtkImageData::GetScalarType(information) &&
      this->Kept->GetNumberOfComponents() == vtkImageData::GetNumberOfScalarComponents(information) &&
      this->Kept->GetNumberOfTuples() == box.GetVolume())
  {
    output->SetExtent(extent);
    output->GetPointData()->SetScalars(this->Kept);
  }
  else
  {
    this->Kept = nullptr;
    this->Superclass::AllocateOutputData(output, information, extent);
  }
  const bool isReleased = this->GetReleaseDataFlag() != 0 || vtkDataObject::GetGlobalReleaseDataFlag() != 0;
  this->Kept = isReleased ? nullptr : output->GetPointData()->GetScalars();
}

int
vtkCudaMedianImage3D::RequestData(vtkInformation *        request,
                                  vtkInformationVector ** inputs,
                                  vtkInformationVector *  outputs)
{
  // The superclass would cut the extent for its own threads, and each part would have a border of its own.
  const bool smp = this->EnableSMP;
  const int  threads = this->NumberOfThreads;
  this->WorkUnits = threads;
  this->EnableSMP = false;
  this->NumberOfThreads = 1;
  this->ExecutionReport.clear();
  const int result = this->Superclass::RequestData(request, inputs, outputs);
  this->EnableSMP = smp;
  this->NumberOfThreads = threads;
  return result;
}

void
vtkCudaMedianImage3D::ThreadedRequestData(vtkInformation *        vtkNotUsed(request),
                                          vtkInformationVector ** inputs,
                                          vtkInformationVector *  vtkNotUsed(outputs),
                                          vtkImageData ***        inputImages,
                                          vtkImageData **         outputImages,
                                          int                     extent[6],
                                          int                     vtkNotUsed(threadId))
{
  vtkImageData * const input = inputImages[0][0];
  vtkImageData * const output = outputImages[0];
  vtkDataArray * const inputArray = this->GetInputArrayToProcess(0, inputs);
  vtkDataArray * const outputArray = output->GetPointData()->GetScalars();
  if (inputArray == nullptr || outputArray == nullptr)
  {
    vtkErrorMacro("There is no array to filter");
    return;
  }
  outputArray->SetName(inputArray->GetName());
  try
  {
    const int                  components = inputArray->GetNumberOfComponents();
    vtkNew<vtkMultiThreader>   threader;
    cudamedian::ClippedRequest request;
    request.type = GetPixelType(*inputArray, *outputArray);
    request.image = ToBox(input->GetExtent());
    request.wanted = ToBox(extent);
    std::copy_n(this->KernelSize, 3, request.kernel.begin());
    request.workUnits = static_cast<unsigned>(std::max(1, this->WorkUnits));
    request.parallelFor = [&threader](std::size_t count, const std::function<void(std::size_t)> & body) {
      RunOnThreads(*threader, count, body);
    };
    request.backend = this->Backend == Cuda  ? cudamedian::Backend::Cuda
                      : this->Backend == Cpu ? cudamedian::Backend::Cpu
                                             : cudamedian::Backend::Auto;
    request.deviceMemoryBudget = this->DeviceMemoryBudget;
    int component = 0;
    request.progress = [this, &component, components](double fraction) {
      this->UpdateProgress((component + fraction) / components);
      if (this->AbortExecute)
      {
        throw Aborted();
      }
    };
    const auto outputBox = ToBox(output->GetExtent());
    request.outputRow = outputBox.size[0];
    request.outputSlice = outputBox.size[0] * outputBox.size[1];
    // Where the first wanted pixel lies in the output, which may have more.
    const std::int64_t first = request.wanted.first[0] - outputBox.first[0] +
                               (request.wanted.first[1] - outputBox.first[1]) * request.outputRow +
                               (request.wanted.first[2] - outputBox.first[2]) * request.outputSlice;
    const auto options = GetRankOptions(*this, *input);
    const bool isEven =
      std::any_of(request.kernel.begin(), request.kernel.end(), [](auto size) { return size % 2 == 0; });
    if (isEven || !options.IsOfVtk())
    {
      request.progress = [this](double fraction) {
        this->UpdateProgress(fraction);
        if (this->AbortExecute)
        {
          throw Aborted();
        }
      };
      this->ExecutionReport = ToText(cudamedian::RunImageRank(request, options, *inputArray, *outputArray, first));
    }
    else
    {
      this->ExecutionReport = ToText(RunOnComponents(request, *inputArray, *outputArray, first, component));
    }
  }
  catch (const Aborted &)
  {
    // What is asked for: the output is not complete, as with VTK's class.
  }
  catch (const std::bad_alloc &)
  {
    vtkErrorMacro("There is not enough memory for an image of " << ToBox(input->GetExtent()).GetVolume() << " pixels");
  }
  catch (const std::exception & error)
  {
    vtkErrorMacro(<< error.what());
  }
}
