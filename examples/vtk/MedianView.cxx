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
#include "MedianView.h"

#include "../Options.h"
#include "../Terminal.h"

#include <vtkAlgorithmOutput.h>
#include <vtkCallbackCommand.h>
#include <vtkCamera.h>
#include <vtkColorTransferFunction.h>
#include <vtkGPUVolumeRayCastMapper.h>
#include <vtkImageData.h>
#include <vtkImageProperty.h>
#include <vtkImageSlice.h>
#include <vtkImageSliceMapper.h>
#include <vtkInteractorStyleImage.h>
#include <vtkPNGWriter.h>
#include <vtkPiecewiseFunction.h>
#include <vtkRenderWindow.h>
#include <vtkRenderWindowInteractor.h>
#include <vtkRenderer.h>
#include <vtkTextActor.h>
#include <vtkTextProperty.h>
#include <vtkVolume.h>
#include <vtkVolumeProperty.h>
#include <vtkWindowToImageFilter.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>

namespace
{

constexpr int    ViewWidth = 320;
constexpr int    ViewHeight = 320;
constexpr double Margin = 1.05;

/** Places a camera that looks from `side` at the middle of the image. */
void
Place(vtkCamera * camera, const ImagePipeline & pipeline, const std::array<double, 3> & toSide, double distance)
{
  const auto center = pipeline.Center();
  const auto down = pipeline.AxisDirection(1);
  camera->SetFocalPoint(center.data());
  camera->SetPosition(
    center[0] + distance * toSide[0], center[1] + distance * toSide[1], center[2] + distance * toSide[2]);
  camera->SetViewUp(-down[0], -down[1], -down[2]);
}

std::array<double, 3>
Cross(const std::array<double, 3> & a, const std::array<double, 3> & b)
{
  return { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
}

} // namespace

/** \class MedianView::Events
 * Hands the window's events to a view. */
class MedianView::Events : public vtkCallbackCommand
{
public:
  static Events *
  New()
  {
    return new Events;
  }

  void
  Execute(vtkObject * caller, unsigned long event, void *) override
  {
    auto * const interactor = static_cast<vtkRenderWindowInteractor *>(caller);
    if (event == vtkCommand::MouseWheelForwardEvent)
    {
      m_View->HandleKey("Up");
    }
    else if (event == vtkCommand::MouseWheelBackwardEvent)
    {
      m_View->HandleKey("Down");
    }
    else
    {
      m_View->HandleKey(interactor->GetKeySym() == nullptr ? "" : interactor->GetKeySym());
    }
    // The wheel would zoom as well.
    this->SetAbortFlag(event != vtkCommand::KeyPressEvent);
  }

  MedianView * m_View{ nullptr };
};

MedianView::MedianView(std::unique_ptr<ImagePipeline> pipeline, std::vector<std::uint64_t> radius, bool offScreen)
  : m_Pipeline(std::move(pipeline))
  , m_Radius(RadiusPerAxis(radius, m_Pipeline->Dimension()))
  , m_OffScreen(offScreen)
{
  const auto size = m_Pipeline->Size();
  const auto spacing = m_Pipeline->Spacing();
  const bool isVolume = size[2] > 1;
  m_Window->SetOffScreenRendering(offScreen);
  m_Window->SetMultiSamples(0);
  m_Window->SetSize(3 * ViewWidth, isVolume ? 2 * ViewHeight : ViewHeight);
  m_Window->SetWindowName("CudaMedianViewer");
  m_Text->GetTextProperty()->SetFontSize(12);
  m_Text->SetPosition(4, 4);
  Apply();

  vtkAlgorithmOutput * const outputs[] = { m_Pipeline->Original(), m_Pipeline->Median(), m_Pipeline->Difference() };
  // A reflected direction has its first axis run to the left unless the camera looks from the other side.
  const auto toSide = Cross(m_Pipeline->AxisDirection(0), m_Pipeline->AxisDirection(1));
  double     extent[3];
  for (unsigned int axis = 0; axis < 3; ++axis)
  {
    extent[axis] = size[axis] * spacing[axis];
  }
  const double distance = 2 * (extent[0] + extent[1] + extent[2]);
  m_SliceCamera->ParallelProjectionOn();
  // Seen from the side that has the first axis to the right and the second downwards.
  Place(m_SliceCamera, *m_Pipeline, { -toSide[0], -toSide[1], -toSide[2] }, distance);
  constexpr double aspect = static_cast<double>(ViewWidth) / ViewHeight;
  m_SliceCamera->SetParallelScale(Margin * std::max(extent[1], extent[0] / aspect) / 2);
  m_SliceCamera->SetClippingRange(distance / 100, 2 * distance);
  for (vtkImageProperty * const property : { m_ImageProperty.Get(), m_DifferenceProperty.Get() })
  {
    property->SetInterpolationTypeToNearest();
  }
  for (int view = 0; view < 3; ++view)
  {
    m_SliceMappers[view]->SetInputConnection(outputs[view]);
    m_SliceMappers[view]->SetOrientationToZ();
    m_SliceMappers[view]->BorderOn();
    vtkNew<vtkImageSlice> actor;
    actor->SetMapper(m_SliceMappers[view]);
    actor->SetProperty(view == 2 ? m_DifferenceProperty : m_ImageProperty);
    vtkNew<vtkRenderer> renderer;
    renderer->SetViewport(view / 3.0, isVolume ? 0.5 : 0, (view + 1) / 3.0, 1);
    renderer->SetActiveCamera(m_SliceCamera);
    renderer->AddViewProp(actor);
    if (view == 0)
    {
      renderer->AddViewProp(m_Text);
    }
    m_Window->AddRenderer(renderer);
  }
  if (isVolume)
  {
    const auto along = m_Pipeline->AxisDirection(1);
    const auto up = m_Pipeline->AxisDirection(2);
    m_VolumeProperty->ShadeOn();
    m_VolumeProperty->SetInterpolationTypeToLinear();
    Place(m_VolumeCamera, *m_Pipeline, { -along[0], -along[1], -along[2] }, distance / 2);
    m_VolumeCamera->SetViewUp(up.data());
    for (int view = 0; view < 2; ++view)
    {
      vtkNew<vtkGPUVolumeRayCastMapper> mapper;
      mapper->SetInputConnection(outputs[view]);
      vtkNew<vtkVolume> volume;
      volume->SetMapper(mapper);
      volume->SetProperty(m_VolumeProperty);
      vtkNew<vtkRenderer> renderer;
      renderer->SetViewport(view / 2.0, 0, (view + 1) / 2.0, 0.5);
      renderer->SetBackground(0.1, 0.1, 0.15);
      renderer->SetActiveCamera(m_VolumeCamera);
      renderer->AddViewProp(volume);
      m_Window->AddRenderer(renderer);
      renderer->ResetCameraClippingRange();
    }
  }

  m_SliceMappers[0]->Update();
  double range[2];
  m_SliceMappers[0]->GetInput()->GetScalarRange(range);
  SetWindowLevel(range[1] > range[0] ? range[1] - range[0] : 1, (range[0] + range[1]) / 2);
  SetSlice(size[2] / 2);
}

MedianView::~MedianView() = default;

void
MedianView::Say(const std::string & text)
{
  m_Text->SetInput(text.c_str());
  m_Window->SetWindowName(("CudaMedianViewer: " + text).c_str());
}

void
MedianView::Apply()
{
  std::string radius;
  for (const std::uint64_t value : m_Radius)
  {
    radius += (radius.empty() ? "" : ",") + std::to_string(value);
  }
  ProgressBar bar;
  auto        shown = std::chrono::steady_clock::now();
  m_Pipeline->Apply(m_Radius, [&](float fraction) {
    bar.Show(fraction);
    const auto now = std::chrono::steady_clock::now();
    // Ten times a second is often enough for the eye, and leaves the time to the filter.
    if (!m_OffScreen && now - shown >= std::chrono::milliseconds(100))
    {
      shown = now;
      Say("radius " + radius + ": " + std::to_string(static_cast<int>(100 * fraction)) + " %");
      m_Window->Render();
    }
  });
  Say("radius " + radius);
}

void
MedianView::SetSlice(int slice)
{
  m_Slice = std::clamp(slice, 0, m_Pipeline->Size()[2] - 1);
  for (const auto & mapper : m_SliceMappers)
  {
    mapper->SetSliceNumber(m_Slice);
  }
}

void
MedianView::SetWindowLevel(double window, double level)
{
  m_ImageProperty->SetColorWindow(window);
  m_ImageProperty->SetColorLevel(level);
  m_DifferenceProperty->SetColorWindow(window);
  m_DifferenceProperty->SetColorLevel(0);
  const double                     low = level - window / 2;
  vtkNew<vtkPiecewiseFunction>     opacity;
  vtkNew<vtkColorTransferFunction> color;
  // What is darker than a quarter of the window is air and noise.
  opacity->AddPoint(low + window / 4, 0);
  opacity->AddPoint(low + window, 0.5);
  color->AddRGBPoint(low, 0, 0, 0);
  color->AddRGBPoint(low + window, 1, 1, 1);
  m_VolumeProperty->SetScalarOpacity(opacity);
  m_VolumeProperty->SetColor(color);
}

void
MedianView::HandleKey(const std::string & key)
{
  const bool grow = key == "plus" || key == "KP_Add" || key == "equal";
  if (grow || key == "minus" || key == "KP_Subtract")
  {
    for (std::uint64_t & radius : m_Radius)
    {
      if (grow || radius > 0)
      {
        radius += grow ? 1 : -1;
      }
    }
    Apply();
  }
  else if (key == "Up" || key == "Down")
  {
    SetSlice(m_Slice + (key == "Up" ? 1 : -1));
  }
  else
  {
    return;
  }
  m_Window->Render();
}

void
MedianView::Interact()
{
  vtkNew<vtkRenderWindowInteractor> interactor;
  vtkNew<vtkInteractorStyleImage>   style;
  vtkNew<Events>                    events;
  events->m_View = this;
  // Left button: window and level; with shift: turn.
  style->SetInteractionModeToImage3D();
  interactor->SetInteractorStyle(style);
  interactor->SetRenderWindow(m_Window);
  for (const unsigned long event :
       { vtkCommand::KeyPressEvent, vtkCommand::MouseWheelForwardEvent, vtkCommand::MouseWheelBackwardEvent })
  {
    interactor->AddObserver(event, events, 1);
  }
  m_Window->Render();
  interactor->Start();
}

void
MedianView::WritePicture(const std::string & path)
{
  m_Window->Render();
  vtkNew<vtkWindowToImageFilter> picture;
  picture->SetInput(m_Window);
  picture->ReadFrontBufferOff();
  vtkNew<vtkPNGWriter> writer;
  writer->SetInputConnection(picture->GetOutputPort());
  writer->SetFileName(path.c_str());
  const QuietScope quiet;
  writer->Write();
  std::error_code error;
  if (writer->GetErrorCode() != 0 || !std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) == 0)
  {
    throw UserError("cannot write '" + path + "'");
  }
}
