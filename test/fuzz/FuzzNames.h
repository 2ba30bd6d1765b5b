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
#ifndef FuzzNames_h
#define FuzzNames_h

/** The words of cases, in the order of what they name. */
namespace cudamedianfuzz
{

inline constexpr const char * patternNames[] = { "list",     "constant", "two",     "few",  "special",
                                                 "sorted",   "reverse",  "columns", "rows", "step",
                                                 "clusters", "smooth",   "nan",     "full" };
inline constexpr const char * algorithmNames[] = { "auto", "tile", "rank", "histogram", "selection", "merge" };
inline constexpr const char * backendNames[] = { "auto", "cuda", "cpu" };
inline constexpr const char * borderNames[] = { "nearest", "constant", "reflect", "mirror", "wrap", "shrink" };
inline constexpr const char * middleNames[] = { "upper", "mean", "lower" };
inline constexpr const char * shapeNames[] = { "box",   "ellipsoid", "cross",    "ring",
                                               "holes", "weighted",  "centered", "list" };
inline constexpr const char * invalidNames[] = { "computed", "copied", "value" };
inline constexpr const char * outlierNames[] = { "none", "absolute", "deviations" };

} // namespace cudamedianfuzz

#endif
