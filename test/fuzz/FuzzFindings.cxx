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
#include "FuzzFindings.h"

#include "FuzzImage.h"

namespace cudamedianfuzz
{

std::string
GetSignature(const Case & c, const Finding & finding)
{
  auto signature =
    finding.kind + " with " + cudamedian::ToString(c.backend) + ", " + cudamedian::ToString(c.algorithm) + ": ";
  // Of differences the text says which values, and at its end what ran.
  const auto ran = finding.text.rfind("; ran");
  for (const char character : finding.text.substr(ran == std::string::npos ? 0 : ran).substr(0, 200))
  {
    const bool isDigit = character >= '0' && character <= '9';
    if (!isDigit || signature.back() != '#')
    {
      signature += isDigit ? '#' : character;
    }
  }
  return signature;
}

std::string
DescribeDifference(const Case &              c,
                   std::int64_t              number,
                   const std::vector<char> & expected,
                   const std::vector<char> & actual,
                   const FilterResult &      result)
{
  const auto  type = GetOutputType(c);
  std::string place;
  auto        rest = number;
  for (int axis = 0; axis < c.dimension; ++axis)
  {
    place += (axis > 0 ? "," : "") + std::to_string(rest % c.region[axis]);
    rest /= c.region[axis];
  }
  return "output " + place + " is " + PixelToText(type, actual, number) + " but must be " +
         PixelToText(type, expected, number) + "; ran " + result.report.backend + ", " + result.report.algorithm;
}

void
CountRules(const Case & c, Counts & counts)
{
  const auto count = [&counts](bool isSo, const char * what) {
    if (isSo)
    {
      ++counts[what];
    }
  };
  count(c.IsPlain(), "asked for: medians of odd boxes");
  count(c.shape != Shape::Box, "asked for: shapes");
  count(c.shorter != Extent{}, "asked for: even sizes");
  count(c.shift != Extent{}, "asked for: shifts");
  count(c.rank >= 0, "asked for: ranks");
  count(c.evenMedian == EvenMedian::Mean, "asked for: means of two values");
  count(c.evenMedian == EvenMedian::Lower, "asked for: lower values");
  count(c.HasShrunkBorder(), "asked for: clipped windows");
  count(c.border != CaseRules().border && !c.HasShrunkBorder(), "asked for: borders");
  count(c.mask != Mask::None, "asked for: masks");
  count(c.hasIgnored, "asked for: ignored values");
  count(c.omitsNaN, "asked for: NaN omitted");
  count(c.outlierRule != OutlierRule::None, "asked for: outliers");
}

} // namespace cudamedianfuzz
