# What cudamedian uses of VTK's arrays.
from typing import Any

from numpy.typing import NDArray

def numpy_to_vtk(num_array: NDArray[Any], deep: bool = ..., array_type: int | None = ...) -> Any: ...
def vtk_to_numpy(vtk_array: object) -> NDArray[Any]: ...
