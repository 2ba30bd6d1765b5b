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
#include "CommandLine.h"

#include <CLI/CLI.hpp>

#include <iterator>

namespace
{

/** What the user may set, by name. */
struct Setting
{
  const char * names;
  const char * takes; ///< what follows the name; null: nothing does
  const char * help;
  void (*set)(Options & options, const std::string & text);
};

/** In the order of --help, which is also the order they are set in: a setting may look at those above it. */
constexpr Setting Settings[] = {
  { "--radius,--neighborhood",
    "NUMBERS",
    "radius of the window in pixels: one number, or one per axis as in 2,2,1 (default 1)",
    [](Options & options, const std::string & text) { options.radius = ParseRadius(text); } },
  { "--size",
    "NUMBERS",
    "size of the window in pixels instead, even ones too: one number, or one per axis; one of even size has one pixel "
    "more before its output than behind",
    [](Options & options, const std::string & text) { options.size = ParseSize(text); } },
  { "--slice-wise,--sliceWise,--slicewise",
    nullptr,
    "filter slice by slice: the radius along the last axis counts as 0",
    [](Options & options, const std::string &) { options.sliceWise = true; } },
  { "--rank",
    "NUMBER",
    "instead of the median, the value of this rank in the window: 0 is the least",
    [](Options & options, const std::string & text) { options.rank = ParseRank(text); } },
  { "--percentile",
    "NUMBER",
    "the same in percent, from 0 to 100, rounded down to a rank",
    [](Options & options, const std::string & text) { options.percentile = ParsePercentile(text); } },
  { "--border",
    "NAMES",
    "what lies beyond the image: nearest (the default), constant or constant:VALUE (of 0, or a value), reflect "
    "(mirrored "
    "at the edge), mirror (at the last pixel), wrap or shrink (nothing); one name, or one per axis",
    [](Options & options, const std::string & text) { ParseBorder(text, options); } },
  { "--even-median",
    "NAME",
    "the median of an even number of pixels: upper (the default), mean or lower, of the two in the middle",
    [](Options & options, const std::string & text) { options.evenMedian = ParseEvenMedian(text); } },
  { "--footprint",
    "SHAPE",
    "pixels of a window that is no box: disk:2 (along two axes), ball:2, ball:3mm (by the image's spacing), "
    "ellipsoid:3,3,1, cross or cross:2, or an image whose values say how often each pixel counts",
    [](Options & options, const std::string & text) { options.footprint = ParseFootprint(text); } },
  { "--ball",
    "MILLIMETRES",
    "the same as --footprint ball:...mm",
    [](Options & options, const std::string & text) { options.footprint = ParseFootprint("ball:" + text + "mm"); } },
  { "--center-weight",
    "NUMBER",
    "how many times the pixel itself counts in its window (default 1)",
    [](Options & options, const std::string & text) { options.centerWeight = ParseCenterWeight(text); } },
  { "--mask",
    "FILE",
    "image of integers, of the same size and place: pixels where it is 0 do not count",
    [](Options & options, const std::string & text) { options.mask = text; } },
  { "--ignore",
    "VALUE",
    "pixels of this value do not count",
    [](Options & options, const std::string & text) { options.ignored = text; } },
  { "--nan",
    "NAME",
    "order (NaN is above all numbers, the default) or omit (it does not count)",
    [](Options & options, const std::string & text) { options.omitsNaN = ParseNaN(text); } },
  { "--empty",
    "VALUE",
    "what is written where no pixel of a window counts: input (the pixel itself, the default) or a value",
    [](Options & options, const std::string & text) { options.emptyWindow = text; } },
  { "--invalid",
    "VALUE",
    "what is written for a pixel that does not count: computed (the median of those that do, the default), copied (the "
    "pixel itself) or a value",
    [](Options & options, const std::string & text) { options.invalidOutput = text; } },
  { "--outliers",
    "THRESHOLD",
    "replace a pixel only where it is farther than this from its median: a distance of values as in 100, or a number "
    "of median absolute deviations as in 3mad",
    [](Options & options, const std::string & text) { ParseOutliers(text, options); } },
  { "--backend",
    "NAME",
    "where to run: auto (the faster, the default), cuda or cpu",
    [](Options & options, const std::string & text) { options.backend = ParseBackend(text); } },
  { "--algorithm",
    "NAME",
    "how to find the medians: automatic (the fastest, the default), tileProgram, localRank, slidingHistogram, "
    "mergeTiling or selection",
    [](Options & options, const std::string & text) { options.algorithm = ParseAlgorithm(text); } },
  { "--wait",
    nullptr,
    "where the fastest kernel is not compiled yet, compile it first, in seconds, instead of running what there is",
    [](Options & options, const std::string &) { options.waitsForKernels = true; } },
  { "--devices",
    "NUMBERS",
    "CUDA devices that share the work, as in 0,1 (default: the current one)",
    [](Options & options, const std::string & text) {
      options.devices = ParseDevices(text);
      if (options.backend == cudamedian::Backend::Cpu)
      {
        throw UserError("--devices " + text + ": --backend cpu uses no device");
      }
    } },
  { "--memory",
    "BYTES",
    "device memory to use at most, in bytes; K, M and G are powers of 1024",
    [](Options & options, const std::string & text) { options.deviceMemoryBudget = ParseByteCount(text); } },
  { "--series",
    "NAME",
    "of a folder of DICOM slices, the series to take: its UID or its number; 'list' lists them",
    [](Options & options, const std::string & text) { options.series = text; } },
  { "--verify",
    nullptr,
    "also run itk::MedianImageFilter and compare; exit with 2 if voxels differ",
    [](Options & options, const std::string &) { options.verify = true; } },
  { "--report",
    nullptr,
    "print what ran, where, and why",
    [](Options & options, const std::string &) { options.report = true; } },
  { "--returnparameterfile",
    "FILE",
    "file for what ran, for 3D Slicer: progress goes to standard output as Slicer reads it",
    [](Options & options, const std::string & text) { options.parameterFile = text; } },
  { "--xml",
    nullptr,
    "print the description of this program for 3D Slicer; takes nothing else",
    [](Options &, const std::string &) { throw UserError("--xml: it takes nothing else"); } },
};

} // namespace

Options
ReadCommandLine(CLI::App & app, int argc, const char * const argv[])
{
  Options       options;
  CLI::Option * given[std::size(Settings)] = {};
  std::string   texts[std::size(Settings)];
  bool          flags[std::size(Settings)] = {};
  for (std::size_t i = 0; i < std::size(Settings); ++i)
  {
    const auto & [names, takes, help, set] = Settings[i];
    given[i] = takes ? app.add_option(names, texts[i], help)->type_name(takes) : app.add_flag(names, flags[i], help);
  }
  app.set_version_flag("--version", CUDAMEDIAN_VERSION, "print the version");
  const auto input = app.add_option("input", options.input, "image to read, or a folder of DICOM slices")->required();
  const auto output =
    app
      .add_option("output", options.output, "image to write, or a folder that is new (ends with /) or empty, for DICOM")
      ->required();

  // Two of them need no output, or no image at all.
  app.get_option("--series")->each([output](const std::string & name) { output->required(name != "list"); });
  const auto selfTest = app.add_flag_callback(
    "--self-test",
    [&options, input, output] {
      options.selfTest = true;
      input->required(false);
      output->required(false);
    },
    "check every kernel and algorithm on the host and on all GPUs, or those of --devices, and print a table");
  app.get_option("--returnparameterfile")->excludes(selfTest);
  app.get_option("--size")->excludes(app.get_option("--radius"));
  app.get_option("--percentile")->excludes(app.get_option("--rank"));
  for (const char * other : { "--radius", "--size", "--ball", "--center-weight" })
  {
    app.get_option("--footprint")->excludes(app.get_option(other));
  }
  app.get_option("--ball")->excludes(app.get_option("--center-weight"));

  app.parse(argc, argv);
  for (std::size_t i = 0; i < std::size(Settings); ++i)
  {
    if (given[i]->count() > 0 && (Settings[i].takes || flags[i]))
    {
      Settings[i].set(options, texts[i]);
    }
  }
  return options;
}
