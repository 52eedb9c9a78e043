# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor maps: descriptions of matrices for the device's block copies. The driver writes a map to host memory."""

from __future__ import annotations

from typing import Annotated

from ..native.language import I32, I64, Array, Ptr, Status, Struct, library_function
from .device import DeviceTable, device_status


class MatrixMap(Struct):
    """Description of a matrix, with the innermost axis first."""

    dtype: I64
    rank: I64
    sizes: Annotated[Array[I64], 5]
    #: Bytes between neighbours along all axes but the first.
    strides: Annotated[Array[I64], 4]
    #: Sizes of a block, and its strides in elements.
    block: Annotated[Array[I32], 6]
    steps: Annotated[Array[I32], 5]


#: CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, and the default of other choices.
SWIZZLE, PROMOTION, DEFAULT = I32(3), I32(2), I32(0)


@library_function
def device_tensor_map(table: DeviceTable, kernel: I64, map: Ptr, address: Ptr, matrix: MatrixMap) -> Status:
    """Write the tensor map of a matrix for a kernel by its place: 128 bytes, aligned to 64."""
    status = table.encode_map(
        map, I32(matrix.dtype), I32(matrix.rank), address, matrix.sizes, matrix.strides, matrix.block, matrix.steps,
        DEFAULT, SWIZZLE, PROMOTION, DEFAULT,
    )  # fmt: skip
    device_status(table, table.kernel_names[kernel], "cuTensorMapEncodeTiled", status)
