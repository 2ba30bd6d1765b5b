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
#ifndef CudaMedianVTKReference_h
#define CudaMedianVTKReference_h

#include "vtkCudaMedianImage3D.h"

#include "vtkDataSetAttributes.h"
#include "vtkImageData.h"
#include "vtkIntArray.h"
#include "vtkNew.h"
#include "vtkPointData.h"
#include "vtkSmartPointer.h"
#include "vtkUnsignedCharArray.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

/** What vtkCudaMedianImage3D has beyond vtkImageMedian3D, by each window's own values. */
namespace cudamediantest
{

using Filter = vtkCudaMedianImage3D;
using Triple = std::array<int, 3>;

/** What is asked of the filter. */
struct RankCase
{
  Triple kernel{ 3, 3, 3 };
  int    rank{ -1 };
  int    boundary{ Filter::Shrink };
  int    evenMedian{ Filter::Mean };
  bool   hasMask{ false };
  bool   omitsBlanked{ false };
  bool   hasIgnoredValue{ false };
  bool   copiesInvalid{ false };
};

constexpr int boundaryConstant = 2;
constexpr int ignoredValue = 1;

/** An image of few values, with a mask, and with some points blanked. */
inline vtkSmartPointer<vtkImageData>
MakeImage(int type, const Triple & first, const Triple & size, int components, std::mt19937_64 & generator)
{
  auto image = vtkSmartPointer<vtkImageData>::New();
  image->SetExtent(
    first[0], first[0] + size[0] - 1, first[1], first[1] + size[1] - 1, first[2], first[2] + size[2] - 1);
  image->AllocateScalars(type, components);
  vtkDataArray * const array = image->GetPointData()->GetScalars();
  for (vtkIdType i = 0; i < array->GetNumberOfTuples(); ++i)
  {
    for (int component = 0; component < components; ++component)
    {
      array->SetComponent(i, component, static_cast<double>(generator() % 12));
    }
  }
  vtkNew<vtkIntArray> mask;
  mask->SetName("inside");
  for (vtkIdType i = 0; i < image->GetNumberOfPoints(); ++i)
  {
    // 256 has a byte of 0.
    mask->InsertNextValue(generator() % 3 == 0 ? 0 : 256);
  }
  image->GetPointData()->AddArray(mask);
  vtkUnsignedCharArray * const ghosts = image->AllocatePointGhostArray();
  for (vtkIdType i = 0; i < image->GetNumberOfPoints(); ++i)
  {
    // Points that another piece has as well are no less than others.
    const int hidden = generator() % 4 == 0 ? vtkDataSetAttributes::HIDDENPOINT : 0;
    const int duplicate = generator() % 4 == 0 ? vtkDataSetAttributes::DUPLICATEPOINT : 0;
    ghosts->SetValue(i, static_cast<unsigned char>(hidden | duplicate));
  }
  return image;
}

inline void
Ask(Filter * filter, vtkImageData * image, const RankCase & wanted)
{
  filter->SetInputData(image);
  filter->SetKernelSize(wanted.kernel[0], wanted.kernel[1], wanted.kernel[2]);
  filter->SetRank(wanted.rank);
  filter->SetBoundaryMode(wanted.boundary);
  filter->SetBoundaryConstant(boundaryConstant);
  filter->SetEvenMedian(wanted.evenMedian);
  filter->SetMaskArrayName(wanted.hasMask ? "inside" : nullptr);
  filter->SetOmitBlankedPoints(wanted.omitsBlanked);
  filter->SetUseIgnoredValue(wanted.hasIgnoredValue);
  filter->SetIgnoredValue(ignoredValue);
  filter->SetCopyInvalidPoints(wanted.copiesInvalid);
  filter->SetNumberOfThreads(2);
}

/** The place in the image that a window sees at a place along an axis; -1 for none, -2 for the constant. */
inline int
FindPlace(int place, int size, int boundary)
{
  if (place >= 0 && place < size)
  {
    return place;
  }
  const auto modulo = [](int number, int divisor) { return (number % divisor + divisor) % divisor; };
  switch (boundary)
  {
    case Filter::Nearest:
      return std::clamp(place, 0, size - 1);
    case Filter::Constant:
      return -2;
    case Filter::Reflect:
    {
      const int period = modulo(place, 2 * size);
      return std::min(period, 2 * size - 1 - period);
    }
    case Filter::Mirror:
    {
      const int period = size > 1 ? modulo(place, 2 * size - 2) : 0;
      return std::min(period, 2 * size - 2 - period);
    }
    case Filter::Wrap:
      return modulo(place, size);
    default:
      return -1;
  }
}

/** An image whose points each have a window's own values. */
class Reference
{
public:
  Reference(vtkImageData * image, const RankCase & wanted)
    : m_Image(image)
    , m_Case(wanted)
    , m_Array(image->GetPointData()->GetScalars())
  {
    image->GetDimensions(m_Size.data());
  }

  /** The value of a point, from 0 along each axis. */
  double
  Find(const Triple & at, int component) const
  {
    const double own = GetValue(GetNumber(at), component);
    if (!IsValid(GetNumber(at), component) && m_Case.copiesInvalid)
    {
      return own;
    }
    std::vector<double> values;
    Triple              offset;
    for (offset[2] = 0; offset[2] < m_Case.kernel[2]; ++offset[2])
    {
      for (offset[1] = 0; offset[1] < m_Case.kernel[1]; ++offset[1])
      {
        for (offset[0] = 0; offset[0] < m_Case.kernel[0]; ++offset[0])
        {
          See(at, offset, component, values);
        }
      }
    }
    return values.empty() ? own : Choose(values);
  }

private:
  vtkIdType
  GetNumber(const Triple & at) const
  {
    return at[0] + static_cast<vtkIdType>(m_Size[0]) * (at[1] + static_cast<vtkIdType>(m_Size[1]) * at[2]);
  }

  double
  GetValue(vtkIdType number, int component) const
  {
    return m_Array->GetComponent(number, component);
  }

  bool
  IsBlanked(vtkIdType number) const
  {
    return (m_Image->GetPointGhostArray()->GetValue(number) & vtkDataSetAttributes::HIDDENPOINT) != 0;
  }

  bool
  IsValid(vtkIdType number, int component) const
  {
    return !(m_Case.hasMask && m_Image->GetPointData()->GetArray("inside")->GetTuple1(number) == 0) &&
           !(m_Case.omitsBlanked && IsBlanked(number)) &&
           !(m_Case.hasIgnoredValue && GetValue(number, component) == ignoredValue);
  }

  /** Adds what the window of a point sees at an offset from its first place. */
  void
  See(const Triple & at, const Triple & offset, int component, std::vector<double> & values) const
  {
    Triple place;
    bool   isConstant = false;
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      place[axis] = FindPlace(at[axis] - m_Case.kernel[axis] / 2 + offset[axis], m_Size[axis], m_Case.boundary);
      if (place[axis] == -1)
      {
        return;
      }
      isConstant = isConstant || place[axis] == -2;
    }
    if (isConstant)
    {
      values.push_back(boundaryConstant);
    }
    else if (IsValid(GetNumber(place), component))
    {
      values.push_back(GetValue(GetNumber(place), component));
    }
  }

  double
  Choose(std::vector<double> & values) const
  {
    std::sort(values.begin(), values.end());
    const auto count = values.size();
    const auto all = m_Case.kernel[0] * m_Case.kernel[1] * m_Case.kernel[2];
    if (m_Case.rank >= 0)
    {
      // Windows with fewer values are asked for the least or the greatest alone.
      return m_Case.rank == all - 1 ? values.back() : values[static_cast<std::size_t>(m_Case.rank)];
    }
    const double upper = values[count / 2];
    const double lower = values[(count - 1) / 2];
    const bool   isFloat = m_Array->GetDataType() == VTK_FLOAT || m_Array->GetDataType() == VTK_DOUBLE;
    const double mean = isFloat ? (lower + upper) / 2 : std::floor((lower + upper) / 2);
    return m_Case.evenMedian == Filter::Upper ? upper : m_Case.evenMedian == Filter::Lower ? lower : mean;
  }

  vtkImageData * m_Image;
  RankCase       m_Case;
  vtkDataArray * m_Array;
  Triple         m_Size{};
};

/** The number of values in which a filter's output is not the reference's. */
inline int
CountWrong(Filter * filter, vtkImageData * image, const RankCase & wanted)
{
  const Reference      reference(image, wanted);
  vtkImageData * const output = filter->GetOutput();
  int                  wrong = 0;
  int                  extent[6];
  output->GetExtent(extent);
  for (int z = extent[4]; z <= extent[5]; ++z)
  {
    for (int y = extent[2]; y <= extent[3]; ++y)
    {
      for (int x = extent[0]; x <= extent[1]; ++x)
      {
        const int * const first = image->GetExtent();
        const Triple      at{ x - first[0], y - first[2], z - first[4] };
        for (int component = 0; component < output->GetNumberOfScalarComponents(); ++component)
        {
          wrong += output->GetScalarComponentAsDouble(x, y, z, component) != reference.Find(at, component) ? 1 : 0;
        }
      }
    }
  }
  return wrong;
}

} // namespace cudamediantest

#endif
