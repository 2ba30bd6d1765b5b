# Fails where a library names a file in a folder by its whole path, or does not hold a text that it has to.
#
# usage: cmake -DLIBRARY=<file> -DFOLDER=<folder of the sources> [-DEXPECTED=<text>] -P PathsInLibrary.cmake
string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" folder "${FOLDER}")
# Where a program looks for libraries in the folder of the build is no name of a source.
file(STRINGS "${LIBRARY}" found REGEX "${folder}/.*\\.(h|hxx|hpp|cxx|cpp|c|cu|cuh)$")
if(found)
  message(FATAL_ERROR "${LIBRARY} names sources by their whole paths: ${found}")
endif()
if(EXPECTED)
  file(STRINGS "${LIBRARY}" found REGEX "${EXPECTED}")
  if(NOT found)
    message(FATAL_ERROR "${LIBRARY} does not hold ${EXPECTED}")
  endif()
endif()
