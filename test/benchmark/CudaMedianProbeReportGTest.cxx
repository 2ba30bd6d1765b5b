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
// What benchmarks report in the form of ITK's performance benchmarks.

#include "ProbeReport.h"

#include "CommandLineProgram.h"

#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageRegionConstIterator.h"
#include "itkMedianImageFilter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

namespace
{

using Json = nlohmann::ordered_json;
using cudamediantest::ReadText;
using cudamediantest::RunProgram;
using cudamediantest::TemporaryDirectory;
using ImageType = itk::Image<unsigned char, 3>;

/** The environment variable, for the length of a test. */
class MoreJson
{
public:
  explicit MoreJson(const char * text) { setenv("ITKPERFORMANCEBENCHMARK_AUX_JSON", text, 1); }
  MoreJson(const MoreJson &) = delete;
  MoreJson &
  operator=(const MoreJson &) = delete;
  ~MoreJson() { unsetenv("ITKPERFORMANCEBENCHMARK_AUX_JSON"); }
};

/** Probes that have run, under the names given. */
void
Probe(itk::TimeProbesCollectorBase & probes, const char * name, unsigned int runs)
{
  for (unsigned int i = 0; i < runs; ++i)
  {
    probes.Start(name);
    probes.Stop(name);
  }
}

ImageType::Pointer
MakeImage()
{
  const auto image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { 23, 17, 11 } });
  image->Allocate();
  auto * const  pixels = image->GetBufferPointer();
  unsigned long state = 20261126;
  for (std::size_t i = 0; i < image->GetBufferedRegion().GetNumberOfPixels(); ++i)
  {
    state = state * 6364136223846793005u + 1442695040888963407u;
    pixels[i] = static_cast<unsigned char>(state >> 56);
  }
  return image;
}

void
ExpectProbes(const Json & report, const std::set<std::string> & names, unsigned int runs)
{
  std::set<std::string> found;
  for (const auto & probe : report.at("Probes"))
  {
    found.insert(probe.at("Name").get<std::string>());
    EXPECT_EQ(probe.at("Iterations").get<unsigned int>(), runs);
    EXPECT_EQ(probe.at("Units"), "s");
    EXPECT_GE(probe.at("Mean").get<double>(), probe.at("Minimum").get<double>());
    EXPECT_GE(probe.at("Maximum").get<double>(), probe.at("Mean").get<double>());
  }
  EXPECT_EQ(found, names);
}

} // namespace

TEST(CudaMedianProbeReport, SaysWhatItksBenchmarksSay)
{
  itk::TimeProbesCollectorBase probes;
  Probe(probes, "one", 3);
  Probe(probes, "another", 3);
  const Json report = cudamedianbenchmark::MakeProbeReport(probes, "abc1234");
  ExpectProbes(report, { "one", "another" }, 3);
  EXPECT_TRUE(report.at("SystemInformation").is_object());
  EXPECT_TRUE(report.at("ITKBuildInformation").is_object());
  EXPECT_GT(report.at("RunTimeInformation").at("GetGlobalDefaultNumberOfThreads").get<int>(), 0);
  EXPECT_FALSE(report.at("RunTimeInformation").at("GetGlobalDefaultThreader").get<std::string>().empty());
  EXPECT_EQ(report.at("CudaMedianInformation").at("Commit"), "abc1234");
}

TEST(CudaMedianProbeReport, TakesWhatTheEnvironmentAdds)
{
  itk::TimeProbesCollectorBase probes;
  Probe(probes, "one", 1);
  {
    const MoreJson more(R"({ "ITK_MANUAL_BUILD_INFORMATION": { "GIT_CONFIG_SHA1": "fee22c1e" } })");
    const Json     report = cudamedianbenchmark::MakeProbeReport(probes, "");
    EXPECT_EQ(report.at("ITK_MANUAL_BUILD_INFORMATION").at("GIT_CONFIG_SHA1"), "fee22c1e");
  }
  const MoreJson broken("{ no JSON");
  EXPECT_THROW(cudamedianbenchmark::MakeProbeReport(probes, ""), std::exception);
}

TEST(CudaMedianProbeReport, TheNameMayHoldTheTime)
{
  EXPECT_EQ(cudamedianbenchmark::StampedName("a.json"), "a.json");
  const std::string name = cudamedianbenchmark::StampedName("a__DATESTAMP__b.json");
  ASSERT_EQ(name.size(), std::string("a2026-11-26-12.00.00b.json").size());
  EXPECT_EQ(name.compare(0, 3, "a20"), 0);
  EXPECT_EQ(name.compare(name.size() - 6, 6, "b.json"), 0);
}

TEST(CudaMedianProbeReport, AFileThatCannotBeWrittenIsAnError)
{
  itk::TimeProbesCollectorBase probes;
  Probe(probes, "one", 1);
  EXPECT_THROW(cudamedianbenchmark::ProbeReport("/nowhere/times.json"), std::runtime_error);
  cudamedianbenchmark::ProbeReport full("/dev/full");
  EXPECT_THROW(full.Write(probes, ""), std::runtime_error);
}

TEST(CudaMedianProbeBenchmark, TakesTheArgumentsOfItksMedianBenchmark)
{
  const TemporaryDirectory folder;
  const auto               image = MakeImage();
  const std::string        input = folder.Path() / "input.mha";
  const std::string        output = folder.Path() / "output.mha";
  const std::string        times = folder.Path() / "times.json";
  itk::WriteImage(image, input);
  const auto result = RunProgram({ times, "2", "1", input, output, "--backend", "cpu" });
  ASSERT_EQ(result.exitCode, 0) << result.error;

  const Json report = Json::parse(ReadText(times));
  ExpectProbes(report, { "Median", "CudaMedian" }, 2);
  EXPECT_EQ(report.at("RunTimeInformation").at("GetGlobalDefaultNumberOfThreads"), 1);

  const auto median = itk::MedianImageFilter<ImageType, ImageType>::New();
  median->SetInput(image);
  median->SetRadius(2);
  median->Update();
  const auto written = itk::ReadImage<ImageType>(output);
  ASSERT_EQ(written->GetLargestPossibleRegion(), image->GetLargestPossibleRegion());
  const auto * const expected = median->GetOutput()->GetBufferPointer();
  EXPECT_TRUE(
    std::equal(expected, expected + image->GetBufferedRegion().GetNumberOfPixels(), written->GetBufferPointer()));
}

TEST(CudaMedianProbeBenchmark, SaysWhatIsWrong)
{
  const TemporaryDirectory folder;
  const std::string        input = folder.Path() / "input.mha";
  const std::string        output = folder.Path() / "output.mha";
  const auto               missing = RunProgram({ folder.Path() / "times.json", "1", "1", input, output });
  EXPECT_NE(missing.exitCode, 0);
  EXPECT_NE(missing.error.find("input.mha"), std::string::npos) << missing.error;
  itk::WriteImage(MakeImage(), input);
  const auto full = RunProgram({ "/dev/full", "1", "1", input, output, "--backend", "cpu" });
  EXPECT_NE(full.exitCode, 0);
  EXPECT_NE(full.error.find("cannot write /dev/full"), std::string::npos) << full.error;
}
