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
// An image, its median and their difference: CudaMedianViewer input [--radius 2,2,1] [--offscreen picture.png]

#include "../Interruption.h"
#include "../Options.h"
#include "../Terminal.h"
#include "ImagePipeline.h"
#include "MedianView.h"

#include "itkObject.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <iostream>

namespace
{

int
Fail(const std::string & message)
{
  std::cerr << "CudaMedianViewer: " << OneLine(message) << std::endl;
  return 1;
}

int
Run(int argc, char * argv[])
{
  itk::Object::GlobalWarningDisplayOff();
  std::string         input;
  std::string         picture;
  std::string         radius = "1";
  int                 slice = 0;
  std::vector<double> windowLevel;
  CLI::App app("Shows an image, its median and their difference. Keys: + and - change the radius, Up and Down (or the "
               "wheel) the slice; the left button changes window and level, with shift it turns.",
               "CudaMedianViewer");
  app.add_option("--radius", radius, "radius of the window in pixels: one number, or one per axis (default 1)")
    ->type_name("NUMBERS");
  const CLI::Option * const sliceOption = app.add_option("--slice", slice, "slice to begin with (default: the middle)");
  app.add_option("--window-level", windowLevel, "grey values from black to white, and the middle one (default: all)")
    ->expected(2)
    ->delimiter(',');
  app.add_option("--offscreen", picture, "write a picture (PNG) and end")->type_name("FILE");
  app.add_option("input", input, "image to read")->required();
  try
  {
    app.parse(argc, argv);
    // VTK 9.1 needs one for off-screen windows too.
    if (std::getenv("DISPLAY") == nullptr)
    {
      throw UserError("there is no X display (DISPLAY is not set); xvfb-run makes one for --offscreen");
    }
    if (!windowLevel.empty() && !(windowLevel[0] > 0))
    {
      throw UserError("--window-level: the window has to be above 0");
    }
    MedianView view(ImagePipeline::Read(input), ParseRadius(radius), !picture.empty());
    if (sliceOption->count() > 0)
    {
      view.SetSlice(slice);
    }
    if (!windowLevel.empty())
    {
      view.SetWindowLevel(windowLevel[0], windowLevel[1]);
    }
    if (picture.empty())
    {
      view.Interact();
    }
    else
    {
      view.WritePicture(picture);
    }
    return 0;
  }
  catch (const CLI::Success & success)
  {
    return app.exit(success);
  }
  catch (const CLI::ParseError & error)
  {
    return Fail(error.what() + std::string(" (--help lists the options)"));
  }
  catch (const itk::ExceptionObject & error)
  {
    return Fail(Description(error));
  }
  catch (const std::bad_alloc &)
  {
    return Fail("not enough memory for this image");
  }
  catch (const std::exception & error)
  {
    return Fail(error.what());
  }
}

} // namespace

int
main(int argc, char * argv[])
{
  const Interruption interruption;
  return Run(argc, argv);
}
