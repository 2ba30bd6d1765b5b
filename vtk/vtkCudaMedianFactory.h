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
#ifndef vtkCudaMedianFactory_h
#define vtkCudaMedianFactory_h

#include "CudaMedianVTKExport.h"

#include "vtkObjectFactory.h"

/** \class vtkCudaMedianFactory
 * Makes vtkObjectFactory give a vtkCudaMedianImage3D where a vtkImageMedian3D is asked for.
 *
 * VTK asks its factories in vtkImageMedian3D::New() only when it was built with VTK_ALL_NEW_OBJECT_FACTORY. For others
 * the library CudaMedianVTKOverride stands in front of VTK's own. */
class CudaMedianVTK_EXPORT vtkCudaMedianFactory : public vtkObjectFactory
{
public:
  static vtkCudaMedianFactory *
  New();
  vtkTypeMacro(vtkCudaMedianFactory, vtkObjectFactory);

  const char *
  GetVTKSourceVersion() override;
  const char *
  GetDescription() override;

  /** Registers one, if none is registered yet. */
  static void
  RegisterOneFactory();

protected:
  vtkCudaMedianFactory();
  ~vtkCudaMedianFactory() override = default;

private:
  vtkCudaMedianFactory(const vtkCudaMedianFactory &) = delete;
  void
  operator=(const vtkCudaMedianFactory &) = delete;
};

#endif
