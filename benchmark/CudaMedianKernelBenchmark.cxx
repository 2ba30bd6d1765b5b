// Times of the kernels alone, on images that lie in device memory, beside the floor of each; and the sweep over tiles,
// blocks and shares by which policies are chosen.

#include "DeviceProfiles.h"
#include "ExtremumSweep.h"
#include "KernelMeasurement.h"
#include "WindowSweep.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

/** A kernel that does nothing. */
cudaError_t
LaunchNothing(cudaStream_t stream);

namespace
{

using namespace cudamedianbenchmark;

struct Options
{
  std::vector<std::string> windows{ "3x3",   "5x5",     "7x7",     "9x9",      "11x11",    "13x13",  "15x15",
                                    "17x17", "19x19",   "21x21",   "25x25",    "31x31",    "41x41",  "51x51",
                                    "75x75", "101x101", "151x151", "201x201",  "3x3x3",    "5x5x3",  "5x5x5",
                                    "7x7x3", "7x7x7",   "9x9x9",   "11x11x11", "15x15x15", "21x21x3" };
  std::vector<std::string> pixels{ "uint8", "int16", "float32" };
  std::vector<std::string> tiles;
  std::vector<int>         sums;
  std::vector<int>         excesses;
  std::vector<int>         residentBlocks;
  std::vector<int>         steps;
  std::vector<std::string> blocks;
  std::vector<int>         registers;
  std::vector<std::string> published;
  std::string              jsonFile;
  Algorithm                algorithm{ Algorithm::Automatic };
  int                      launches{ 21 };
  std::size_t              scratchMebibytes{ 256 }; // as the filter takes
  std::size_t              regionMebibytes{ 0 };
  bool                     tune{ false };
  std::size_t              shapes{ 60 };
  bool                     small{ false };
  bool                     scans{ false };
  bool                     count{ false };
  bool                     rows{ false };
  std::size_t              random{ 0 };
  unsigned int             seed{ 1 };
  std::string              commit{ CUDAMEDIAN_COMMIT };
};

/** "8x2" as a tile or a block. */
Extent
ParseExtent(const std::string & text)
{
  Extent             extent{ { 1, 1, 1, 1 } };
  std::istringstream stream(text);
  std::string        part;
  for (int axis = 0; axis < Dimension && std::getline(stream, part, 'x'); ++axis)
  {
    extent[axis] = std::stoll(part);
  }
  return extent;
}

/** Sets tile, root, division and phases from a text such as --tiles takes. */
void
SetTile(const std::string & tile, KernelPolicy & policy)
{
  // tile:root, a p or q behind for a division that takes powers of two first or last, then @phases/column/columns
  const auto at = tile.find('@');
  const auto shape = tile.substr(0, at);
  const auto colon = shape.find(':');
  policy.tile = ParseExtent(shape.substr(0, colon));
  policy.tiling.root = colon == std::string::npos ? policy.tile : ParseExtent(shape.substr(colon + 1));
  policy.tiling.division = shape.back() == 'p'   ? Division::PowerFirst
                           : shape.back() == 'q' ? Division::PowerLast
                                                 : Division::Halves;
  policy.phases = {};
  if (at != std::string::npos)
  {
    const auto slash = tile.find('/', at);
    policy.phases.sharedPhases = std::stoi(tile.substr(at + 1));
    policy.phases.firstColumn = slash == std::string::npos ? 0 : std::stoi(tile.substr(slash + 1));
    const auto second = slash == std::string::npos ? slash : tile.find('/', slash + 1);
    policy.phases.columns = second == std::string::npos ? 0 : std::stoi(tile.substr(second + 1));
  }
}

/** The published programs of a window that are asked for: those with the names, or for "all" each that is right. */
std::vector<std::string>
ListPublished(const Extent & radius, const Options & options)
{
  if (options.published == std::vector<std::string>{ "all" })
  {
    return ListPublishedPrograms(radius);
  }
  std::vector<std::string> names;
  std::copy_if(options.published.begin(), options.published.end(), std::back_inserter(names), [&](const auto & name) {
    try
    {
      BuildPublishedProgram(name, radius);
      return true;
    }
    catch (const std::invalid_argument & error)
    {
      std::printf("%s: %s\n", JoinShort(Window(radius).GetExtent()).c_str(), error.what());
      return false;
    }
  });
  return names;
}

/** What is swept: a policy, for the window's own program or for a published one. */
struct Variant
{
  KernelPolicy policy;
  std::string  published;
};

/** The chosen policy, with each of the tiles, sums, blocks and what else is asked for in its place; then the
 * published programs with each of the sums, blocks and registers. */
std::vector<Variant>
ListVariants(const Extent & radius, const KernelKind & kind, const DeviceTraits & device, const Options & options)
{
  const auto orElse = [](const auto & list, const auto & value) {
    return list.empty() ? std::decay_t<decltype(list)>{ value } : list;
  };
  const auto           chosen = GetKernelPolicy(radius, kind, device);
  std::vector<Variant> variants;
  const auto           add = [&](const KernelPolicy & first, const std::string & published) {
    for (const auto sum : orElse(options.sums, chosen.lowering.sumPercent))
      for (const auto excess : orElse(options.excesses, chosen.lowering.excessPercent))
        for (const auto & block : orElse(options.blocks, ""))
          for (const auto resident : orElse(options.residentBlocks, first.residentBlocks))
            for (const auto steps : orElse(options.steps, first.steps))
              // As the policies have it, whatever the tile.
              for (const auto values : orElse(options.registers, kind.pixelBytes == 8 ? 100 : 200))
              {
                auto policy = first;
                policy.lowering.sumPercent = sum;
                policy.lowering.excessPercent = excess;
                if (!block.empty())
                {
                  policy.blockX = static_cast<int>(ParseExtent(block)[0]);
                  policy.blockY = static_cast<int>(ParseExtent(block)[1]);
                }
                policy.residentBlocks = resident;
                policy.steps = steps;
                policy.registers = static_cast<std::size_t>(values);
                variants.push_back({ policy, published });
              }
  };
  for (const auto & tile : orElse(options.tiles, ""))
  {
    auto policy = chosen;
    if (!tile.empty())
    {
      SetTile(tile, policy);
      policy.lineBytes = 0; // in blocks that stage their footprint
    }
    add(policy, "");
  }
  for (const auto & name : ListPublished(radius, options))
  {
    add(AdaptPolicy(chosen, BuildPublishedProgram(name, radius)), name);
  }
  return variants;
}

/** Compiles the kernels of variants, by all of the host's threads. */
std::vector<RuntimeKernel>
CompileVariants(const Extent &               radius,
                const PixelKind &            pixel,
                const KernelKind &           kind,
                const std::vector<Variant> & variants,
                const KernelTarget &         target)
{
  std::vector<RuntimeKernel> kernels(variants.size());
  std::atomic<std::size_t>   next{ 0 };
  std::vector<std::thread>   compilers;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
  {
    compilers.emplace_back([&] {
      for (std::size_t n = next++; n < variants.size(); n = next++)
      {
        const auto & policy = variants[n].policy;
        const auto & published = variants[n].published;
        try
        {
          const auto program =
            published.empty() ? BuildTileProgram(radius, policy) : BuildPublishedProgram(published, radius);
          kernels[n] = CompileRuntimeKernel(program, pixel.keyFormat, kind, policy, target);
        }
        catch (const std::exception & error)
        {
          kernels[n].explanation = (published.empty() ? Describe(policy) : published) + ": " + error.what();
        }
      }
    });
  }
  for (auto & compiler : compilers)
  {
    compiler.join();
  }
  return kernels;
}

/** Measures and prints each variant that compiles and fits. */
std::vector<Row>
Sweep(Benchmark &       benchmark,
      const Extent &    radius,
      const PixelKind & pixel,
      const Extent &    size,
      const Options &   options)
{
  const auto & device = benchmark.GetDevice();
  const auto   kind = GetKernelKind(static_cast<int>(PixelBytes(pixel.type)), device.computeCapability);
  const auto   variants = ListVariants(radius, kind, device, options);
  const auto   kernels = CompileVariants(radius, pixel, kind, variants, GetKernelTarget(device));
  const auto   window = JoinShort(Window(radius).GetExtent());

  std::vector<Row> rows;
  for (std::size_t n = 0; n < variants.size(); ++n)
  {
    const auto & [policy, published] = variants[n];
    if (kernels[n].kernel == nullptr)
    {
      std::printf("%s: %s\n", window.c_str(), kernels[n].explanation.c_str());
      continue;
    }
    const auto sharedBytes = kernels[n].kernel->shape.sharedBytes;
    if (sharedBytes > device.blockSharedBytes)
    {
      std::printf("%s %s: %d bytes of shared memory\n",
                  window.c_str(),
                  published.empty() ? Describe(policy).c_str() : published.c_str(),
                  sharedBytes);
      continue;
    }
    rows.push_back(benchmark.Measure(*kernels[n].kernel, policy, pixel, size, "NVRTC", options.launches, published));
    Print(rows.back());
  }
  return rows;
}

void
AddOptions(CLI::App & application, Options & options)
{
  application.add_option("--windows", options.windows, "windows such as 5x5 5x5x3")->delimiter(',');
  application.add_option("--pixels", options.pixels, "uint8, int16, float32, float64")->delimiter(',');
  application.add_option("--launches", options.launches, "launches to take the median of")->check(CLI::Range(1, 1000));
  application
    .add_option("--algorithm",
                options.algorithm,
                "automatic, as the filter would choose, or one of the others to force it; extremes are least values")
    ->transform(CLI::CheckedTransformer(std::map<std::string, Algorithm>{ { "automatic", Algorithm::Automatic },
                                                                          { "program", Algorithm::TileProgram },
                                                                          { "ranks", Algorithm::LocalRank },
                                                                          { "histograms", Algorithm::SlidingHistogram },
                                                                          { "merges", Algorithm::MergeTiling },
                                                                          { "extremes", Algorithm::Extremum } }));
  application
    .add_option("--scratch", options.scratchMebibytes, "MiB of scratch memory for algorithms that look at data")
    ->check(CLI::Range(1, 8192));
  application
    .add_option("--regions",
                options.regionMebibytes,
                "MiB of scratch memory between passes that find extremes, which go region by region; 0: all at once")
    ->capture_default_str();
  application.add_option("--shapes", options.shapes, "shapes of a pass that finds extremes, the fastest by the model")
    ->check(CLI::Range(1, 1000));
  application.add_flag(
    "--tune", options.tune, "sweep the policies listed by the next eight options, or with --algorithm extremes shapes");
  application
    .add_option("--tiles",
                options.tiles,
                "tile:root, such as 8x2:2x2 4x4:4x4p (p, q: powers of two first, last), "
                "@phases/column/columns for shared ones")
    ->delimiter(',');
  application.add_option("--sums", options.sums, "percent of maxima taken by sums")->delimiter(',');
  application.add_option("--excesses", options.excesses, "percent of maxima left to their users")->delimiter(',');
  application
    .add_option("--resident", options.residentBlocks, "blocks that the compiler leaves registers for, 0 for its choice")
    ->delimiter(',');
  application.add_option("--steps", options.steps, "steps of a block along an axis, 0 for one place")->delimiter(',');
  application.add_option("--blocks", options.blocks, "threads of a block, such as 32x4")->delimiter(',');
  application.add_option("--registers", options.registers, "values in registers, 0 for no limit")->delimiter(',');
  application
    .add_option("--published",
                options.published,
                "published programs to sweep beside the window's own: all, or names such as forgetful1x2, network94")
    ->delimiter(',');
  application.add_flag("--small", options.small, "512x512 images against an empty kernel");
  application.add_flag("--scans", options.scans, "images that are like scans, in whole numbers, for random bits");
  application.add_flag("--rows",
                       options.rows,
                       "print the rows for the tables of src/algorithm too: of rates, or with --tune of TileTuning.inc "
                       "or ExtremumTuning.inc");
  application.add_option("--commit", options.commit, "what the rows say was measured; the default was found by CMake");
  application.add_option("--json", options.jsonFile, "file for the table");
  application
    .add_option("--random", options.random, "random windows in place of --windows, each beside the next larger one")
    ->check(CLI::Range(2, 400));
  application.add_option("--seed", options.seed, "which random windows");
  application.add_flag("--count", options.count, "print the cost model for an H200; needs no GPU");
}

/** Calls a function with each window and pixel type that is asked for. */
template <typename TFunction>
void
ForEachCase(const Options & options, const TFunction & function)
{
  std::vector<Extent> radii =
    options.random > 0 ? ListRandomWindows(options.random, options.seed) : std::vector<Extent>();
  if (options.random == 0)
  {
    std::transform(options.windows.begin(), options.windows.end(), std::back_inserter(radii), ParseWindow);
  }
  for (const auto & radius : radii)
  {
    for (const auto & pixel : pixelKinds)
    {
      if (std::find(options.pixels.begin(), options.pixels.end(), pixel.name) != options.pixels.end())
      {
        function(radius, pixel);
      }
    }
  }
}

/** What the cost model says of an H200. */
void
PrintCounts(const Options & options)
{
  const auto & device = GetH200Traits();
  ForEachCase(options, [&](const Extent & radius, const PixelKind & pixel) {
    if (!IsCoveredByKernels(radius))
    {
      std::printf("%s: no tile program\n", JoinShort(Window(radius).GetExtent()).c_str());
      return;
    }
    const auto kind = GetKernelKind(static_cast<int>(PixelBytes(pixel.type)), device.computeCapability);
    const auto policy = GetKernelPolicy(radius, kind, device);
    Row        row;
    Count(radius, policy, pixel, device, row);
    row.how = "not run";
    Print(row);
    for (const auto & name : ListPublished(radius, options))
    {
      row.published = name;
      Count(radius, AdaptPolicy(policy, BuildPublishedProgram(name, radius)), pixel, device, row);
      Print(row);
    }
  });
}

void
Run(const Options & options)
{
  Benchmark benchmark(options.scratchMebibytes << 20);
  benchmark.SetRegionBytes(options.regionMebibytes << 20);
  benchmark.SetScans(options.scans);
  const auto &             device = benchmark.GetDevice();
  Json                     table = Json::array();
  std::vector<std::string> tableRows;
  std::vector<Row>         rows;
  if (!options.tune && (options.random > 0 || options.algorithm == Algorithm::TileProgram))
  {
    std::vector<std::pair<Extent, PixelKind>> cases;
    ForEachCase(options, [&](const Extent & radius, const PixelKind & pixel) { cases.emplace_back(radius, pixel); });
    benchmark.Compile(cases, options.algorithm == Algorithm::TileProgram);
  }
  PrintHeader();
  ForEachCase(options, [&](const Extent & radius, const PixelKind & pixel) {
    const auto size = radius[2] > 0   ? Extent{ { 512, 512, 256, 1 } }
                      : options.small ? Extent{ { 512, 512, 1, 1 } }
                                      : Extent{ { 6720, 4480, 1, 1 } };
    if (!options.tune)
    {
      const auto row = benchmark.MeasureChosen(options.algorithm, radius, pixel, size, options.launches);
      Print(row);
      rows.push_back(row);
      table.push_back(AsJson(row));
      tableRows.push_back(MakeRateRow(row, device, options.commit));
      return;
    }
    if (options.algorithm == Algorithm::Extremum)
    {
      const auto texts =
        SweepExtremes(benchmark, radius, pixel, size, options.shapes, options.launches, options.commit, rows);
      tableRows.insert(tableRows.end(), texts.begin(), texts.end());
      return;
    }
    const auto swept = Sweep(benchmark, radius, pixel, size, options);
    std::for_each(swept.begin(), swept.end(), [&](const Row & row) { table.push_back(AsJson(row)); });
    tableRows.push_back(MakeTuningRow(swept, device, options.commit));
  });
  if (options.rows)
  {
    std::for_each(tableRows.begin(), tableRows.end(), [](const auto & row) { std::printf("%s\n", row.c_str()); });
  }
  if (options.random > 0)
  {
    PrintNeighbours(rows, 0.7);
  }
  if (options.small)
  {
    const auto seconds = TimeLaunches(101, [](std::size_t) { return LaunchNothing(nullptr); });
    std::printf("an empty kernel takes %.2f us\n", seconds * 1e6);
  }
  if (options.tune && options.algorithm == Algorithm::Extremum)
  {
    std::for_each(rows.begin(), rows.end(), [&](const Row & row) { table.push_back(AsJson(row)); });
  }
  if (!options.jsonFile.empty())
  {
    std::ofstream(options.jsonFile) << table.dump(1) << "\n";
  }
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    CLI::App application{ "Times the median kernels on images in device memory, beside their floors." };
    Options  options;
    AddOptions(application, options);
    CLI11_PARSE(application, argc, argv);
    if (options.count)
    {
      PrintHeader();
      PrintCounts(options);
    }
    else
    {
      Run(options);
    }
    return 0;
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianKernelBenchmark: " << error.what() << std::endl;
    return 1;
  }
}
