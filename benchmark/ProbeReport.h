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
#ifndef ProbeReport_h
#define ProbeReport_h

#include "itkCudaMedianDevice.h"

#include "itkBuildInformation.h"
#include "itkMultiThreaderBase.h"
#include "itkTimeProbesCollectorBase.h"
#include "itkVersion.h"

#include <itksys/SystemInformation.hxx>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cudamedianbenchmark
{

/** A file name in which `__DATESTAMP__` stands for the time of day, as in the names that ITK's benchmarks take. */
inline std::string
StampedName(std::string name)
{
  const std::string token = "__DATESTAMP__";
  const auto        place = name.find(token);
  if (place != std::string::npos)
  {
    const std::time_t now = std::time(nullptr);
    char              stamp[64] = "";
    std::strftime(stamp, sizeof(stamp), "%Y-%m-%d-%H.%M.%S", std::localtime(&now));
    name.replace(place, token.size(), stamp);
  }
  return name;
}

/** What the probes measured and where, in the form of ITK's module PerformanceBenchmarking: `SystemInformation` and
 * `Probes` are ITK's own report, `ITKBuildInformation` and `RunTimeInformation` what that module adds, and
 * `CudaMedianInformation` this project's part. The object in the environment variable
 * `ITKPERFORMANCEBENCHMARK_AUX_JSON` is added to it, as there. Throws std::exception where ITK's report, or that
 * object, is not JSON. */
inline nlohmann::ordered_json
MakeProbeReport(itk::TimeProbesCollectorBase & probes, const std::string & commit)
{
  std::stringstream text;
  probes.JSONReport(text, true);
  auto report = nlohmann::ordered_json::parse(text.str());

  auto & build = report["ITKBuildInformation"];
  for (const auto & entry : itk::BuildInformation::GetInstance()->GetMap())
  {
    build[entry.first] = entry.second.m_Value;
    build[entry.first + "_description"] = entry.second.m_Description;
  }
  using Threader = itk::MultiThreaderBase;
  auto & run = report["RunTimeInformation"];
  run["GetGlobalDefaultNumberOfThreads"] = Threader::GetGlobalDefaultNumberOfThreads();
  run["GetGlobalDefaultThreader"] = Threader::ThreaderTypeToString(Threader::GetGlobalDefaultThreader());
  run["ReportWritingLoadAverage"] = itksys::SystemInformation().GetLoadAverage();
  auto & own = report["CudaMedianInformation"];
  own["Commit"] = commit;
  own["ITKVersion"] = itk::Version::GetITKVersion();
  own["Device"] = cudamedian::QueryCudaDevice().description;
  if (const char * const more = std::getenv("ITKPERFORMANCEBENCHMARK_AUX_JSON"))
  {
    report.update(nlohmann::ordered_json::parse(more));
  }
  return report;
}

/** A file that ITK's tools read. Opened before anything is timed, so that a wrong name costs no measurements. */
class ProbeReport
{
public:
  /** Throws std::runtime_error where the file cannot be opened. */
  explicit ProbeReport(const std::string & name)
    : m_Name(name)
    , m_File(StampedName(name))
  {
    Check();
  }

  /** Writes the report. Throws std::runtime_error where it cannot be written whole. */
  void
  Write(itk::TimeProbesCollectorBase & probes, const std::string & commit)
  {
    m_File << MakeProbeReport(probes, commit).dump(2) << '\n' << std::flush;
    Check();
  }

private:
  void
  Check() const
  {
    if (!m_File)
    {
      throw std::runtime_error("cannot write " + m_Name);
    }
  }

  std::string   m_Name;
  std::ofstream m_File;
};

} // namespace cudamedianbenchmark

#endif
