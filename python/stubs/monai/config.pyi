# What cudamedian uses of MONAI.
from collections.abc import Collection, Hashable

KeysCollection = Collection[Hashable] | Hashable
