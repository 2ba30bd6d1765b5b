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
// A project outside this one uses the class for VTK's pipelines.

#include "vtkCudaMedianImage3D.h"

#include "vtkImageData.h"
#include "vtkNew.h"

int
main()
{
  vtkNew<vtkImageData> image;
  image->SetDimensions(3, 1, 1);
  image->AllocateScalars(VTK_SHORT, 1);
  auto * const pixels = static_cast<short *>(image->GetScalarPointer());
  pixels[0] = 1;
  pixels[1] = 9;
  pixels[2] = 5;
  vtkNew<vtkCudaMedianImage3D> median;
  median->SetInputData(image);
  median->SetKernelSize(3, 1, 1);
  median->Update();
  return *static_cast<short *>(median->GetOutput()->GetScalarPointer(1, 0, 0)) == 5 ? 0 : 1;
}
