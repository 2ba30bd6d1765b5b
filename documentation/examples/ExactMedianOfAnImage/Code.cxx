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
#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"

#include <cstdlib>
#include <iostream>

int
main(int argc, char * argv[])
{
  if (argc != 4)
  {
    std::cerr << "Usage: " << argv[0] << " <InputImage> <OutputImage> <Radius>" << std::endl;
    return EXIT_FAILURE;
  }

  using ImageType = itk::Image<unsigned char, 2>;
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetFileName(argv[1]);

  const auto median = itk::CudaMedianImageFilter<ImageType>::New();
  median->SetInput(reader->GetOutput());
  median->SetRadius(static_cast<itk::SizeValueType>(std::atoi(argv[3])));

  const auto writer = itk::ImageFileWriter<ImageType>::New();
  writer->SetInput(median->GetOutput());
  writer->SetFileName(argv[2]);
  try
  {
    writer->Update();
  }
  catch (const itk::ExceptionObject & error)
  {
    std::cerr << error << std::endl;
    return EXIT_FAILURE;
  }

  // Where the filter ran, with which algorithm, for how long, and why.
  std::cout << median->GetExecutionReportAsString();
  return EXIT_SUCCESS;
}
