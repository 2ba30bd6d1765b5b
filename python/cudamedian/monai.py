# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""MONAI's transforms of medians: the same names, arguments and results, on the device that the image is on.

MONAI copies each window to a channel of a convolution's output, which takes as many times the image's memory as a
window has pixels. These take that of the output.

Differences: NaN orders above +infinity, where MONAI's median of a window with NaN is NaN. No gradient flows through:
a tensor that needs one is refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from monai.config import KeysCollection
from monai.data.meta_obj import get_track_meta
from monai.transforms.transform import MapTransform, Transform
from monai.utils.enums import TransformBackends
from monai.utils.misc import ensure_tuple_rep
from monai.utils.type_conversion import convert_data_type, convert_to_dst_type, convert_to_tensor

from . import _filter

__all__ = ["MedianSmooth", "MedianSmoothd"]


class MedianSmooth(Transform):
    """Replace each pixel by the median of the window around it: `monai.transforms.MedianSmooth`.

    Parameters
    ----------
    radius : int or sequence of int, default 1
        Radius of the window along each axis of space, one number or one for each, in NumPy's order.

    Raises
    ------
    ValueError
        There are not as many radii as axes of space, or one is below 0 or too large.

    """

    backend = [TransformBackends.TORCH, TransformBackends.NUMPY]  # noqa: RUF012 - as MONAI's

    def __init__(self, radius: Sequence[int] | int = 1) -> None:
        """Keep the radius."""
        self.radius = radius

    def __call__(self, img: Any) -> Any:
        """Return the medians of an image.

        Parameters
        ----------
        img : MetaTensor, tensor or array
            An image whose first axis is that of channels, each of which is filtered by itself, on the device that it is
            on. Pixels become float32, as in MONAI.

        Returns
        -------
        MetaTensor or tensor
            The medians, as float32, on the image's device and with its metadata; a MetaTensor also of a tensor or an
            array where MONAI tracks metadata.

        Raises
        ------
        ValueError
            The image needs a gradient.

        """
        image = convert_to_tensor(img, track_meta=get_track_meta())
        if image.requires_grad:
            raise ValueError("img needs a gradient, which a median does not give: use img.detach()")
        pixels = convert_data_type(image, torch.Tensor, dtype=torch.float)[0].as_subclass(torch.Tensor).contiguous()
        axes = pixels.ndim - 1
        radius = ensure_tuple_rep(self.radius, axes)
        medians = _filter.median_filter(pixels, radius=radius, axes=tuple(range(1, axes + 1)))
        return convert_to_dst_type(medians, dst=image, dtype=medians.dtype)[0]


class MedianSmoothd(MapTransform):
    """Do the same to images of a dictionary: `monai.transforms.MedianSmoothd`.

    Parameters
    ----------
    keys : str or sequence of str
        The keys of the images.
    radius : int or sequence of int
        Radius of the window along each axis of space, one number or one for each, in NumPy's order.
    allow_missing_keys : bool, default False
        Whether a dictionary may lack a key.

    """

    backend = MedianSmooth.backend

    def __init__(self, keys: KeysCollection, radius: Sequence[int] | int, allow_missing_keys: bool = False) -> None:
        """Keep the keys and the radius."""
        super().__init__(keys, allow_missing_keys)
        self.converter = MedianSmooth(radius)

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """Return the dictionary with the medians of its images.

        Parameters
        ----------
        data : mapping
            The dictionary; what is under other keys is passed on.

        Returns
        -------
        dict
            Another one.

        Raises
        ------
        KeyError
            A key is missing.

        """
        result = dict(data)
        for key in self.key_iterator(result):
            result[key] = self.converter(result[key])
        return result
