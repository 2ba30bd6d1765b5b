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
// The median of an image file, as a command: CudaMedianImageFilter [options] input output

#include "CommandLine.h"
#include "DerivationNote.h"
#include "DicomOutput.h"
#include "DicomSeries.h"
#include "FilterImage.h"
#include "ImageFile.h"
#include "Interruption.h"
#include "OutputFile.h"
#include "SlicerModule.h"
#include "Terminal.h"

#include "itkCudaMedianSelfTest.h"
#include "itkImageIOFactory.h"

// Registers the image formats this program is built with.
#include "itkImageFileReader.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>

#include <unistd.h>

namespace
{

constexpr int ExitFailure = 1;

/** \throws UserError when no format writes files of this name. */
void
CheckOutputFormat(const std::string & path)
{
  const QuietScope quiet;
  if (itk::ImageIOFactory::CreateImageIO(path.c_str(), itk::ImageIOFactory::IOFileModeEnum::WriteMode).IsNull())
  {
    throw UserError("cannot write '" + path + "': no image format is known by that name");
  }
}

/** Whether the output is to be a folder with a new DICOM series. */
bool
NamesFolder(const std::string & path)
{
  return (!path.empty() && path.back() == '/') || std::filesystem::is_directory(path);
}

int
Run(const Options & options)
{
  const bool isFolder = std::filesystem::is_directory(options.input);
  if (!isFolder && !options.series.empty())
  {
    throw UserError("--series " + options.series + ": '" + options.input + "' is not a folder of DICOM slices");
  }
  const itk::ImageIOBase::Pointer imageIO =
    isFolder ? OpenDicomSeries(options.input, options.series) : OpenImage(options.input);
  const unsigned int         dimension = imageIO->GetNumberOfDimensions();
  const AxisWindows          windows = GetWindows(options, GetSpacing(*imageIO)); // before anything is read or written
  std::optional<OutputFile>  outputFile;
  std::optional<DicomOutput> outputSeries;
  if (options.verify && !IsPlainMedian(windows))
  {
    throw UserError(
      "--verify: itk::MedianImageFilter has neither other ranks, borders, even sizes and footprints, nor masks and "
      "outliers, to compare with");
  }
  if (isFolder && NamesFolder(options.output))
  {
    outputSeries.emplace(options.output, *imageIO, MakeDerivationNote(options, windows, options.output));
  }
  else
  {
    outputFile.emplace(options.output);
    CheckOutputFormat(outputFile->Destination().string());
  }
  const Destination destination{ outputFile ? &*outputFile : nullptr, outputSeries ? &*outputSeries : nullptr };
  switch (dimension)
  {
    case 1:
      return FilterImage<1>(options, imageIO, destination);
    case 2:
      return FilterImage<2>(options, imageIO, destination);
    case 3:
      return FilterImage<3>(options, imageIO, destination);
    case 4:
      return FilterImage<4>(options, imageIO, destination);
    default:
      throw UserError("'" + options.input + "' has " + std::to_string(dimension) +
                      " dimensions; images of 1 to 4 dimensions are taken");
  }
}

int
Fail(const std::string & message)
{
  std::cerr << "CudaMedianImageFilter: " << OneLine(message) << std::endl;
  return ExitFailure;
}

/** \throws UserError when a check fails. */
int
RunSelfTest(const Options & options)
{
  if (!options.input.empty())
  {
    throw UserError("--self-test takes no images, but '" + options.input + "' is given");
  }
  const auto results = cudamedian::SelfTest(options.devices);
  cudamedian::PrintSelfTest(results, std::cout);
  const auto failed =
    std::count_if(results.begin(), results.end(), [](const auto & result) { return !result.wrong.empty(); });
  if (failed > 0)
  {
    throw UserError(std::to_string(failed) + " of " + std::to_string(results.size()) + " checks of --self-test failed");
  }
  if (!std::cout.flush())
  {
    throw UserError("standard output cannot be written");
  }
  return 0;
}

/** \throws UserError */
void
ListSeries(const Options & options)
{
  if (!options.output.empty())
  {
    throw UserError("--series list writes no image, but '" + options.output + "' is given");
  }
  if (!std::filesystem::is_directory(options.input))
  {
    throw UserError("--series list: '" + options.input + "' is not a folder");
  }
  ListDicomSeries(options.input, std::cout);
}

/** \throws UserError which tells also that the image is there. */
void
EndModule(SlicerModule & module, const Options & options)
{
  try
  {
    module.End();
  }
  catch (const UserError & error)
  {
    throw UserError("'" + options.output + "' is in place, but " + error.what());
  }
}

/** \throws UserError when what was printed did not arrive; `outcome` begins its text. */
void
FlushStandardOutput(const std::string & outcome)
{
  if (!std::cout.flush())
  {
    // The stream does not say why; another byte does.
    const bool        failed = write(STDOUT_FILENO, "\n", 1) < 0;
    const std::string reason = failed ? std::string(": ") + std::strerror(errno) : std::string();
    throw UserError(outcome + "standard output cannot be written" + reason);
  }
}

/** Filters the image, and tells 3D Slicer where that runs the program. \throws UserError */
int
RunFilter(Options options)
{
  std::optional<SlicerModule> module;
  if (options.parameterFile)
  {
    options.module = &module.emplace(*options.parameterFile);
    module->Begin("Reading the image");
  }
  const int exitCode = Run(options);
  if (module && exitCode == 0)
  {
    EndModule(*module, options);
  }
  FlushStandardOutput("'" + options.output + (exitCode == 0 ? "' is in place, but " : "' was not written, but "));
  return exitCode;
}

/** Does what the command line asks for. \throws UserError */
int
Act(const Options & options)
{
  if (options.selfTest)
  {
    return RunSelfTest(options);
  }
  if (options.series == "list")
  {
    ListSeries(options);
    FlushStandardOutput("the series cannot be listed: ");
    return 0;
  }
  return RunFilter(options);
}

int
RunCommandLine(int argc, char * argv[])
{
  // Warnings of the image formats would stand between the user and the one line that matters.
  itk::Object::GlobalWarningDisplayOff();

  CLI::App app("The exact median of itk::MedianImageFilter, on an NVIDIA GPU or on the CPU.", "CudaMedianImageFilter");
  try
  {
    return Act(ReadCommandLine(app, argc, argv));
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
  // Before anything else: Slicer asks every program that it finds, and does not wait for long.
  if (AsksForModuleDescription(argc, argv))
  {
    return PrintModuleDescription();
  }
  int exitCode = ExitFailure;
  {
    const Interruption interruption(IsRunBySlicer(argc, argv) ? Interruption::Watcher::Apart
                                                              : Interruption::Watcher::Child);
    exitCode = RunCommandLine(argc, argv);
  }
  if (exitCode == ExitFailure)
  {
    // Image libraries that met a damaged file or a full disk may print more, or crash, when they are unloaded.
    std::cout.flush();
    _exit(exitCode);
  }
  return exitCode;
}
