from enum import Enum

class TransformBackends(Enum):
    TORCH = "torch"
    NUMPY = "numpy"
