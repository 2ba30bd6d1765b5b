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
// The command line program as a module of 3D Slicer: its description, what it prints while it runs, and what it
// returns.

#include "CommandLineProgram.h"

#include "itkImage.h"
#include "itkImageFileWriter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <regex>

#include <poll.h>
#include <stdlib.h>

namespace
{

namespace fs = std::filesystem;
using cudamediantest::ProgramResult;
using cudamediantest::ReadText;
using cudamediantest::RunProgram;

/** All that the first group of a pattern matches. */
std::vector<std::string>
FindAll(const std::string & text, const std::string & pattern)
{
  const std::regex         regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
  {
    found.push_back((*match)[1]);
  }
  return found;
}

class CudaMedianSlicerModule : public testing::Test
{
protected:
  void
  SetUp() override
  {
    const auto image = itk::Image<short, 3>::New();
    image->SetRegions(itk::Size<3>{ { 40, 30, 20 } });
    image->Allocate();
    short * const pixels = image->GetBufferPointer();
    for (itk::SizeValueType i = 0; i < image->GetBufferedRegion().GetNumberOfPixels(); ++i)
    {
      pixels[i] = static_cast<short>(i * 7919 % 1009);
    }
    itk::WriteImage(image, File("input.mha"));
  }

  std::string
  File(const std::string & name) const
  {
    return m_Directory.Path() / name;
  }

  static std::string
  Description()
  {
    const ProgramResult result = RunProgram({ "--xml" });
    EXPECT_EQ(result.exitCode, 0);
    EXPECT_EQ(result.error, "");
    return result.output;
  }

  /** Runs the program as Slicer does and expects success. \returns standard output */
  std::string
  Run() const
  {
    const ProgramResult result = RunProgram(
      { "--returnparameterfile", File("parameters"), "--backend", "cpu", File("input.mha"), File("output.mha") });
    EXPECT_EQ(result.exitCode, 0);
    EXPECT_EQ(result.error, "");
    return result.output;
  }

private:
  cudamediantest::TemporaryDirectory m_Directory;
};

TEST_F(CudaMedianSlicerModule, DescribesItselfWithItsVersion)
{
  const std::string description = Description();
  EXPECT_EQ(description.rfind("<?xml", 0), 0u) << description;
  EXPECT_EQ(FindAll(description, "<version>([^<]*)</version>").at(0) + "\n", RunProgram({ "--version" }).output);
}

TEST_F(CudaMedianSlicerModule, TakesEveryFlagAndValueOfItsDescription)
{
  const std::string notKnown = "--help lists the options";
  ASSERT_NE(RunProgram({ "--bogus", "1", "in", "out" }).error.find(notKnown), std::string::npos);

  const std::string              description = Description();
  const std::vector<std::string> flags = FindAll(description, "<longflag>([^<]*)</longflag>");
  ASSERT_FALSE(flags.empty());
  for (const std::string & flag : flags)
  {
    SCOPED_TRACE(flag);
    // Slicer takes no others.
    EXPECT_TRUE(std::regex_match(flag, std::regex("--[_a-zA-Z][_a-zA-Z0-9]*")));
    // The element that holds the flag: from the flag back to its tag and on to the end of that.
    const std::size_t at = description.find("<longflag>" + flag + "<");
    const std::string tag = FindAll(description.substr(0, at), "\n    <([a-z-]+)>\n").back();
    const std::string element = description.substr(at, description.find("</" + tag + ">", at) - at);
    if (tag == "boolean")
    {
      EXPECT_EQ(RunProgram({ flag, File("input.mha"), File("output.mha") }).error, "");
      continue;
    }
    std::vector<std::string> values = FindAll(element, "<element>([^<]*)</element>");
    if (values.empty())
    {
      const std::string byDefault = FindAll(element, "<default>([^<]*)</default>").at(0);
      values = { byDefault.empty() ? "0" : byDefault };
    }
    for (const std::string & value : values)
    {
      SCOPED_TRACE(value);
      // The file is not there: whatever was wrong with the flag or the value would be told first.
      const std::string error = RunProgram({ flag, value, File("missing.mha"), File("output.mha") }).error;
      EXPECT_EQ(error.find(notKnown), std::string::npos) << error;
      EXPECT_EQ(error.find("not one of"), std::string::npos) << error;
    }
  }
}

TEST_F(CudaMedianSlicerModule, DescriptionStandsAlone)
{
  const ProgramResult result = RunProgram({ "--xml", File("input.mha"), File("output.mha") });
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_NE(result.error.find("--xml: it takes nothing else"), std::string::npos) << result.error;
  EXPECT_EQ(result.output, "");
}

TEST_F(CudaMedianSlicerModule, FlagsWithoutHyphensMeanTheSame)
{
  const std::string input = File("input.mha");
  ASSERT_EQ(RunProgram({ "--radius", "2,1,1", "--slice-wise", input, File("one.mha") }).exitCode, 0);
  for (const std::string flag : { "--sliceWise", "--slicewise" })
  {
    ASSERT_EQ(RunProgram({ "--neighborhood", "2,1,1", flag, input, File("two.mha") }).exitCode, 0);
    EXPECT_EQ(ReadText(File("one.mha")), ReadText(File("two.mha")));
  }
  ASSERT_EQ(RunProgram({ "--neighborhood", "2,1,1", input, File("two.mha") }).exitCode, 0);
  EXPECT_NE(ReadText(File("one.mha")), ReadText(File("two.mha")));
}

TEST_F(CudaMedianSlicerModule, RefusesAnAlgorithmThatIsNone)
{
  const ProgramResult result = RunProgram({ "--algorithm", "guess", File("input.mha"), File("output.mha") });
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_NE(result.error.find("--algorithm guess: not one of automatic, "), std::string::npos) << result.error;
}

TEST_F(CudaMedianSlicerModule, TellsStartProgressAndEnd)
{
  const std::string output = Run();
  EXPECT_EQ(output.rfind("<filter-start>\n<filter-name>CudaMedianImageFilter</filter-name>\n", 0), 0u) << output;
  const std::string end = "</filter-time>\n</filter-end>\n";
  ASSERT_GE(output.size(), end.size());
  EXPECT_EQ(output.substr(output.size() - end.size()), end);
  EXPECT_EQ(FindAll(output, "<filter-time>([0-9]+\\.[0-9]+)</filter-time>").size(), 1u) << output;
  EXPECT_EQ(FindAll(output, "<filter-comment>([^<]*)</filter-comment>"),
            (std::vector<std::string>{ "Median filter", "Reading the image", "Filtering", "Writing the image" }));

  std::vector<double> progress;
  for (const std::string & number : FindAll(output, "<filter-progress>([^<]*)</filter-progress>"))
  {
    progress.push_back(std::stod(number));
  }
  ASSERT_GE(progress.size(), 3u);
  EXPECT_EQ(progress.front(), 0);
  EXPECT_EQ(progress.back(), 1);
  // Each step is above the one before.
  EXPECT_EQ(std::adjacent_find(progress.begin(), progress.end(), std::greater_equal<>()), progress.end()) << output;
}

TEST_F(CudaMedianSlicerModule, ReturnsTheReportInOneLine)
{
  std::ofstream(File("parameters")) << "of a run before\nreport = old\n";
  Run();
  const std::string parameters = ReadText(File("parameters"));
  EXPECT_EQ(parameters.rfind("report = Backend: CPU", 0), 0u) << parameters;
  EXPECT_EQ(parameters.find('\n'), parameters.size() - 1);
  for (const std::string part : { "; Algorithm: ", "; Window: (3, 3, 3, 1); ", "; Total time: " })
  {
    EXPECT_NE(parameters.find(part), std::string::npos) << part;
  }
}

TEST_F(CudaMedianSlicerModule, RefusesAParameterFileThatCannotBe)
{
  const ProgramResult result =
    RunProgram({ "--returnparameterfile", File("missing/parameters"), File("input.mha"), File("output.mha") });
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_NE(result.error.find("there is no directory"), std::string::npos) << result.error;
  EXPECT_FALSE(fs::exists(File("output.mha")));
}

TEST_F(CudaMedianSlicerModule, AFailedRunReturnsNothing)
{
  const ProgramResult result =
    RunProgram({ "--returnparameterfile", File("parameters"), File("missing.mha"), File("output.mha") });
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
  EXPECT_EQ(result.output.find("<filter-end>"), std::string::npos) << result.output;
  EXPECT_FALSE(fs::exists(File("parameters")));
}

/** What the program prints on standard error where that is a terminal. */
std::string
TextOnTerminal(const std::vector<std::string> & arguments)
{
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
  {
    throw std::runtime_error("no terminal: " + std::string(std::strerror(errno)));
  }
  // Held open here, or what was printed would be gone with the program.
  const int                  other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  cudamediantest::RunOptions options;
  options.prepare = [other] { dup2(other, STDERR_FILENO); };
  EXPECT_EQ(RunProgram(arguments, options).exitCode, 0);
  std::string text;
  pollfd      ready{ terminal, POLLIN, 0 };
  for (std::array<char, 256> buffer{}; poll(&ready, 1, 0) == 1 && (ready.revents & POLLIN) != 0;)
  {
    text.append(buffer.data(), static_cast<std::size_t>(read(terminal, buffer.data(), buffer.size())));
  }
  close(other);
  close(terminal);
  return text;
}

TEST_F(CudaMedianSlicerModule, ShowsTheBarOfATerminalToNobodyElse)
{
  const std::string input = File("input.mha");
  const std::string output = File("output.mha");
  EXPECT_NE(TextOnTerminal({ input, output }).find("%"), std::string::npos);
  EXPECT_EQ(TextOnTerminal({ "--returnparameterfile", File("parameters"), input, output }), "");
}

} // namespace
