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
#include "HostMethod.h"
#include "MedianBackend.h"

#include <algorithm>
#include <chrono>

namespace cudamedian
{
namespace
{

/** A run on the host, in the image's own memory. Nothing stands in its way. */
class CpuRun : public BackendRun
{
public:
  explicit CpuRun(const MedianRequest & request)
    : m_Request(request)
  {}

  Obstacle
  Reserve(const Plan &, bool, bool) override
  {
    return {};
  }

  void
  Execute(const Plan & plan, ExecutionReport & report) override
  {
    const auto start = std::chrono::steady_clock::now();
    plan.candidate.onHost->Run(m_Request, plan.slabs.front().output, report);
    report.algorithm += plan.candidate.onHost->Describe();
    report.device = "host";
    report.workUnits = std::max(1U, m_Request.workUnits);
    report.kernelSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  const MedianRequest & m_Request;
};

/** The host is always there, and has no devices. */
class CpuBackend : public MedianBackend
{
public:
  DeviceAvailability
  Query(const std::vector<int> &) const override
  {
    return { true, "host" };
  }
  int
  CountDevices() const override
  {
    return 0;
  }
  std::vector<int>
  Resolve(const std::vector<int> &) const override
  {
    return {};
  }
  DeviceTraits
  GetTraits(const std::vector<int> &) const override
  {
    return {};
  }
  double
  MeasureCopyBytes(const std::vector<int> &) const override
  {
    return 0;
  }
  std::size_t
  GetFreeMemory(const std::vector<int> &) const override
  {
    return 0;
  }
  ImageMemory
  FindImageMemory(const MedianRequest &) const override
  {
    return { true, true };
  }
  void
  Synchronize(int) const override
  {}
  std::unique_ptr<BackendRun>
  Start(const MedianRequest & request, std::size_t) const override
  {
    return std::make_unique<CpuRun>(request);
  }
};

} // namespace

const MedianBackend &
GetCpuBackend()
{
  static const auto & backend = *new CpuBackend;
  return backend;
}

} // namespace cudamedian
