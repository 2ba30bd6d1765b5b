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
#ifndef RankHost_h
#define RankHost_h

#include "HostBlockShape.h"
#include "HostMethod.h"
#include "RankPolicy.h"

namespace cudamedian
{

/** Local ranks on the host, in blocks of a shape. */
std::shared_ptr<const HostMethod>
MakeRankMethod(const RankShape & shape);

/** Windows that keep a threshold, in blocks of a shape. */
std::shared_ptr<const HostMethod>
MakeThresholdMethod(const HostBlockShape & shape);

} // namespace cudamedian

#endif
