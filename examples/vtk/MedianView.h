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
#ifndef MedianView_h
#define MedianView_h

#include "ImagePipeline.h"

#include <vtkNew.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

class vtkCamera;
class vtkImageProperty;
class vtkImageSliceMapper;
class vtkRenderWindow;
class vtkTextActor;
class vtkVolumeProperty;

/** \class MedianView
 * A window with the original, the median and their difference side by side, and for volumes a second row with volume
 * renderings of the original and the median.
 *
 * The three slices share a camera. It looks along the third axis of the image: the first axis runs to the right and the
 * second downwards, whatever the image's direction. At the start the image just fits, with a twentieth of its
 * extent as margin: half a view's height shows 1.05 * max(height, width / aspect) / 2 millimetres. */
class MedianView
{
public:
  /** Filters with `radius`, and shows the middle slice. \throws UserError as ImagePipeline::Apply() */
  MedianView(std::unique_ptr<ImagePipeline> pipeline, std::vector<std::uint64_t> radius, bool offScreen);
  ~MedianView();
  MedianView(const MedianView &) = delete;
  MedianView &
  operator=(const MedianView &) = delete;

  /** Shows another slice; a number outside the image becomes the nearest inside. */
  void
  SetSlice(int slice);

  /** Black and white of the original and the median are `level` minus and plus half of `window`; the difference has 0
   * as its middle grey and the same window. */
  void
  SetWindowLevel(double window, double level);

  /** Lets the user work until the window is closed. */
  void
  Interact();

  /** Renders once and writes a PNG. \throws UserError when it cannot be written */
  void
  WritePicture(const std::string & path);

private:
  class Events;

  void
  Apply();

  void
  Say(const std::string & text);

  void
  HandleKey(const std::string & key);

  std::unique_ptr<ImagePipeline> m_Pipeline;
  std::vector<std::uint64_t>     m_Radius;
  bool                           m_OffScreen;
  int                            m_Slice{ 0 };
  vtkNew<vtkRenderWindow>        m_Window;
  vtkNew<vtkCamera>              m_SliceCamera;
  vtkNew<vtkCamera>              m_VolumeCamera;
  vtkNew<vtkImageProperty>       m_ImageProperty;
  vtkNew<vtkImageProperty>       m_DifferenceProperty;
  vtkNew<vtkVolumeProperty>      m_VolumeProperty;
  vtkNew<vtkImageSliceMapper>    m_SliceMappers[3];
  vtkNew<vtkTextActor>           m_Text;
};

#endif
