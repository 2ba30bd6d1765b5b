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

#include "DicomOutput.h"
#include "DicomSeries.h"
#include "FilterImage.h"
#include "ImageFile.h"
#include "Interruption.h"
#include "Options.h"
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
  if (imageIO->GetNumberOfComponents() != 1)
  {
    throw UserError("'" + options.input + "' has pixels of type " +
                    itk::ImageIOBase::GetPixelTypeAsString(imageIO->GetPixelType()) + " with " +
                    std::to_string(imageIO->GetNumberOfComponents()) +
                    " components; the median is defined for scalar pixels only");
  }
  const unsigned int         dimension = imageIO->GetNumberOfDimensions();
  std::vector<std::uint64_t> radius = RadiusPerAxis(options.radius, dimension); // before anything is read or written
  std::optional<OutputFile>  outputFile;
  std::optional<DicomOutput> outputSeries;
  if (isFolder && NamesFolder(options.output))
  {
    radius.back() = options.sliceWise ? 0 : radius.back();
    outputSeries.emplace(options.output, *imageIO, radius);
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

int
RunCommandLine(int argc, char * argv[])
{
  // Warnings of the image formats would stand between the user and the one line that matters.
  itk::Object::GlobalWarningDisplayOff();

  Options     options;
  std::string radius = "1";
  std::string backend = "auto";
  std::string algorithm = "automatic";
  std::string devices;
  std::string memory;
  std::string parameterFile;
  CLI::App app("The exact median of itk::MedianImageFilter, on an NVIDIA GPU or on the CPU.", "CudaMedianImageFilter");
  app
    .add_option("--radius,--neighborhood",
                radius,
                "radius of the window in pixels: one number, or one per axis as in 2,2,1 (default 1)")
    ->type_name("NUMBERS");
  app.add_flag("--slice-wise,--sliceWise,--slicewise",
               options.sliceWise,
               "filter slice by slice: the radius along the last axis counts as 0");
  app.add_option("--backend", backend, "where to run: auto (the faster, the default), cuda or cpu")->type_name("NAME");
  app
    .add_option("--algorithm",
                algorithm,
                "how to find the medians: automatic (the fastest, the default), tileProgram, localRank, "
                "slidingHistogram, mergeTiling or selection")
    ->type_name("NAME");
  const CLI::Option * const devicesOption =
    app.add_option("--devices", devices, "CUDA devices that share the work, as in 0,1 (default: the current one)")
      ->type_name("NUMBERS");
  const CLI::Option * const memoryOption =
    app.add_option("--memory", memory, "device memory to use at most, in bytes; K, M and G are powers of 1024")
      ->type_name("BYTES");
  CLI::Option * const seriesOption =
    app
      .add_option("--series",
                  options.series,
                  "of a folder of DICOM slices, the series to take: its UID or its number; 'list' lists them")
      ->type_name("NAME");
  app.add_flag("--verify", options.verify, "also run itk::MedianImageFilter and compare; exit with 2 if voxels differ");
  app.add_flag("--report", options.report, "print what ran, where, and why");
  CLI::Option * const input =
    app.add_option("input", options.input, "image to read, or a folder of DICOM slices")->required();
  CLI::Option * const output =
    app
      .add_option("output", options.output, "image to write, or a folder that is new (ends with /) or empty, for DICOM")
      ->required();
  seriesOption->each([output](const std::string & name) { output->required(name != "list"); });
  bool                selfTest = false;
  CLI::Option * const parameterFileOption =
    app
      .add_option("--returnparameterfile",
                  parameterFile,
                  "file for what ran, for 3D Slicer: progress goes to standard output as Slicer reads it")
      ->type_name("FILE");
  bool describe = false;
  app.add_flag("--xml", describe, "print the description of this program for 3D Slicer; takes nothing else");
  app.set_version_flag("--version", CUDAMEDIAN_VERSION, "print the version");
  CLI::Option * const selfTestOption = app.add_flag_callback(
    "--self-test",
    [&] {
      selfTest = true;
      input->required(false);
      output->required(false);
    },
    "check every kernel and algorithm on the host and on all GPUs, or those of --devices, and print a table");
  parameterFileOption->excludes(selfTestOption);

  try
  {
    app.parse(argc, argv);
    options.radius = ParseRadius(radius);
    options.backend = ParseBackend(backend);
    options.algorithm = ParseAlgorithm(algorithm);
    if (describe)
    {
      throw UserError("--xml: it takes nothing else");
    }
    if (devicesOption->count() > 0)
    {
      options.devices = ParseDevices(devices);
      if (options.backend == cudamedian::Backend::Cpu)
      {
        throw UserError("--devices " + devices + ": --backend cpu uses no device");
      }
    }
    if (memoryOption->count() > 0)
    {
      options.deviceMemoryBudget = ParseByteCount(memory);
    }
    if (selfTest)
    {
      return RunSelfTest(options);
    }
    const bool isList = options.series == "list";
    if (isList)
    {
      ListSeries(options);
    }
    std::optional<SlicerModule> module;
    if (parameterFileOption->count() > 0 && !isList)
    {
      module.emplace(parameterFile);
      options.module = &*module;
      module->Begin("Reading the image");
    }
    const int exitCode = isList ? 0 : Run(options);
    if (module && exitCode == 0)
    {
      EndModule(*module, options);
    }
    if (!std::cout.flush())
    {
      // The stream does not say why; another byte does.
      const bool        failed = write(STDOUT_FILENO, "\n", 1) < 0;
      const std::string reason = failed ? std::string(": ") + std::strerror(errno) : std::string();
      const std::string what = isList          ? "the series cannot be listed: "
                               : exitCode == 0 ? "'" + options.output + "' is in place, but "
                                               : "'" + options.output + "' was not written, but ";
      throw UserError(what + "standard output cannot be written" + reason);
    }
    return exitCode;
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
