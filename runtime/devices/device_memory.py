# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that stay on a device from call to call."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from ..arguments import numpy_or_refusal
from ..arrays import empty_on_host, numpy_type, share, tensor, to_numpy
from ..errors import UnsupportedArray
from ..foreign_types import Array, ArrayOrTensor, Exporter, Tensor
from ..memory import Memory, device_text, dlpack_device, on_host
from .copies import Copies, element_bytes

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class DeviceMemory(Memory):
    """Memory of a device's program. Operations run on the caller's stream."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies

    def zeros(self, shape: Sequence[int], dtype: DTypeLike) -> Tensor:
        # The system maps zeros that are only read to one page: the array takes memory of the device only.
        return self._upload(numpy_or_refusal("an array of zeros").zeros(shape, numpy_type(dtype)))

    def upload(self, array: Exporter) -> Tensor:
        return self._upload(on_host(array, "upload"))

    def download(self, array: Exporter) -> Array:
        given = self._own(array, "download")
        with self._copies.on_device():
            host = empty_on_host(given)
            self._copies.download(host, given)
            self._copies.wait()
        return to_numpy(host)

    def _copy(self, to: ArrayOrTensor, at: int, source: ArrayOrTensor, first: int, count: int) -> None:
        target, given = self._own(to, "copy_rows"), self._own(source, "copy_rows")
        row = prod(target.shape[1:]) * element_bytes(target.dtype)
        self._copies.copy_bytes(target.data_ptr() + at * row, given.data_ptr() + first * row, count * row)

    def _upload(self, array: Array) -> Tensor:
        host = tensor(numpy_or_refusal("upload").require(array, requirements="CW"))
        with self._copies.on_device():
            found = self._copies.upload(host)
            self._copies.wait()
        return found

    def _own(self, array: Exporter, what: str) -> Tensor:
        """Return a tensor of this device. Raises UnsupportedArray for other arrays."""
        if (device := dlpack_device(array, what)) != self._copies.device:
            raise UnsupportedArray(
                f"{what}: expected an array on {self._copies.name}, got one on {device_text(device)}"
            )
        given = share(array)
        if not given.is_contiguous():
            raise UnsupportedArray(f"{what}: expected a contiguous array, got strides {list(given.strides)}: copy it")
        return given
