# The folders of the sources, which include each other's headers by name. test/core checks which room may know which.
set(CudaMedian_ROOMS "")
foreach(room IN ITEMS
    core program cpu cuda plan tools
    algorithm algorithm/tile algorithm/rank algorithm/histogram algorithm/merge algorithm/selection algorithm/extremum
    algorithm/vector)
  list(APPEND CudaMedian_ROOMS ${CMAKE_CURRENT_LIST_DIR}/${room})
endforeach()
