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
#include "vtkCudaMedianFactory.h"

#include "vtkCudaMedianImage3D.h"

#include "vtkNew.h"
#include "vtkObjectFactoryCollection.h"
#include "vtkVersion.h"

vtkStandardNewMacro(vtkCudaMedianFactory);

VTK_CREATE_CREATE_FUNCTION(vtkCudaMedianImage3D);

vtkCudaMedianFactory::vtkCudaMedianFactory()
{
  this->RegisterOverride("vtkImageMedian3D",
                         "vtkCudaMedianImage3D",
                         "exact median on CUDA, or with tile programs on the CPU",
                         1,
                         vtkObjectFactoryCreatevtkCudaMedianImage3D);
}

const char *
vtkCudaMedianFactory::GetVTKSourceVersion()
{
  return VTK_SOURCE_VERSION;
}

const char *
vtkCudaMedianFactory::GetDescription()
{
  return "vtkImageMedian3D by vtkCudaMedianImage3D";
}

void
vtkCudaMedianFactory::RegisterOneFactory()
{
  vtkObjectFactoryCollection * const factories = vtkObjectFactory::GetRegisteredFactories();
  vtkCollectionSimpleIterator        iterator;
  factories->InitTraversal(iterator);
  while (vtkObjectFactory * const factory = factories->GetNextObjectFactory(iterator))
  {
    if (vtkCudaMedianFactory::SafeDownCast(factory) != nullptr)
    {
      return;
    }
  }
  const vtkNew<vtkCudaMedianFactory> factory;
  vtkObjectFactory::RegisterFactory(factory);
}
