#-- # Grading Level Criteria Report
#-- EVALUATION DATE: 2026-11-26
#-- EVALUATORS: [The CudaMedian developers]
#--
#-- ## Compliance level 5 star (AKA ITK main modules, or remote modules that could become core modules)
#--   - [ ] Widespread community dependance
#--   - [ ] Above 90% code coverage
#--   - [ ] CI dashboards and testing monitored rigorously
#--   - [X] Key API features are exposed in wrapping interface
#--   - [ ] All requirements of Levels 4,3,2,1
#--
#-- ## Compliance Level 4 star (Very high-quality code, perhaps small community dependance)
#--   - [X] Meets all ITK code style standards
#--   - [X] No external requirements beyond those needed by ITK proper
#--   - [ ] Builds and passes tests on all supported platforms within 1 month of each core tagged release
#--            - [ ] Windows Shared Library Build with Visual Studio
#--            - [ ] Mac with clang compiller
#--            - [X] Linux with gcc compiler
#--   - [ ] Active developer community dedicated to maintaining code-base
#--   - [ ] 75% code coverage demonstrated for testing suite
#--   - [ ] Continuous integration testing performed
#--   - [ ] All requirements of Levels 3,2,1
#--
#-- ## Compliance Level 3 star (Quality beta code)
#--   - [X] API | executable interface is considered mostly stable and feature complete
#--   - [X] 10% C0-code coverage demonstrated for testing suite
#--   - [X] Some tests exist and pass on at least some platform
#--   - [X] All requirements of Levels 2,1
#--
#-- ## Compliance Level 2 star (Alpha code feature API development or niche community/execution environment dependance )
#--   - [X] Compiles for at least 1 niche set of execution envirionments, and perhaps others
#--         (may depend on specific external tools like a java environment, or specific external libraries to work )
#--   - [X] All requirements of Levels 1
#--
#-- ## Compliance Level 1 star (Pre-alpha features under development and code of unknown quality)
#--   - [X] Code complies on at least 1 platform
#--
#-- ## Compliance Level 0 star ( Code/Feature of known poor-quality or deprecated status )
#--   - [ ] Code reviewed and explicitly identified as not recommended for use
#--
#-- ### Please document here any justification for the criteria above
#       Level 3: the filter's tests compare with itk::MedianImageFilter and run in ITK's own test driver
#       (scripts/test-module.sh external remote). Changed operators that no test notices are listed in
#       documentation/mutation-survivors.md. documentation/building.md says which versions of ITK were tried, and how.
#       CUDA and Highway are found where they are there, and left out where not.
#       For level 4 are missing: a build and a run of the tests on Windows and on macOS, where none of the code has been
#       compiled; runs of .github/workflows, which were checked as text alone; a measured coverage of lines; and
#       maintainers beyond those who wrote it.

set(CudaMedian_GIT_REPOSITORY "" CACHE STRING "Address of CudaMedian's repository, or folder of a clone")
mark_as_advanced(CudaMedian_GIT_REPOSITORY)
if(NOT CudaMedian_GIT_REPOSITORY AND Module_CudaMedian)
  message(FATAL_ERROR "Module_CudaMedian needs CudaMedian_GIT_REPOSITORY")
endif()

itk_fetch_module(CudaMedian
  "The exact median of itk::MedianImageFilter on NVIDIA GPUs, and with tile programs on the CPU."
  MODULE_COMPLIANCE_LEVEL 3
  GIT_REPOSITORY "${CudaMedian_GIT_REPOSITORY}"
  GIT_TAG 0405f65cfee83983099774dcf6a221b14e1573cb
  )
