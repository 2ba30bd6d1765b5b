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
    "the median of an even number of pixels: upper (the default) or mean, of the two in the middle",
    [](Options & options, const std::string & text) { options.evenMedian = ParseEvenMedian(text); } },
  { "--backend",
    "NAME",
    "where to run: auto (the faster, the default), cuda or cpu",
    [](Options & options, const std::string & text) { options.backend = ParseBackend(text); } },
  { "--algorithm",
    "NAME",
    "how to find the medians: automatic (the fastest, the default), tileProgram, localRank, slidingHistogram, "
    "mergeTiling or selection",
    [](Options & options, const std::string & text) { options.algorithm = ParseAlgorithm(text); } },
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
