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
// A program as others write them: it uses vtkImageMedian3D and knows of no other. Prints which class it got, and the
// medians of a row.

#include "vtkImageData.h"
#include "vtkImageMedian3D.h"
#include "vtkNew.h"
#include "vtkObjectFactory.h"
#include "vtkSmartPointer.h"

#include <iostream>

int
main(int argc, char *[])
{
  vtkNew<vtkImageData> image;
  image->SetDimensions(7, 1, 1);
  image->AllocateScalars(VTK_SHORT, 1);
  const short row[] = { 1, 9, 1, 2, 8, 3, 5 };
  for (int x = 0; x < 7; ++x)
  {
    *static_cast<short *>(image->GetScalarPointer(x, 0, 0)) = row[x];
  }
  // VTK asks its factories for this class only where it was built so; the program may ask them itself.
  vtkSmartPointer<vtkImageMedian3D> filter;
  if (argc > 1)
  {
    filter.TakeReference(vtkImageMedian3D::SafeDownCast(vtkObjectFactory::CreateInstance("vtkImageMedian3D")));
  }
  else
  {
    filter = vtkSmartPointer<vtkImageMedian3D>::New();
  }
  if (!filter)
  {
    std::cerr << "no vtkImageMedian3D" << std::endl;
    return 1;
  }
  filter->SetKernelSize(5, 1, 1);
  filter->SetInputData(image);
  filter->Update();
  std::cout << filter->GetClassName() << ":";
  for (int x = 0; x < 7; ++x)
  {
    std::cout << " " << *static_cast<short *>(filter->GetOutput()->GetScalarPointer(x, 0, 0));
  }
  std::cout << std::endl;
  return 0;
}
