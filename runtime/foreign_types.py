# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes of NumPy, tvm-ffi and ctypes for annotations. NumPy and tvm-ffi are not imported for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import _ctypes

    import numpy
    import tvm_ffi
    from typing_extensions import CapsuleType

Array: TypeAlias = "numpy.ndarray"
Tensor: TypeAlias = "tvm_ffi.Tensor"
ArrayOrTensor: TypeAlias = "numpy.ndarray | tvm_ffi.Tensor"
ElementType: TypeAlias = "tvm_ffi.dtype"
PackedFunction: TypeAlias = "tvm_ffi.Function"
CodeModule: TypeAlias = "tvm_ffi.Module"
CFunction: TypeAlias = "_ctypes.CFuncPtr"


class Exporter(Protocol):
    """Object of any framework that exports its memory by DLPack."""

    @property
    def __dlpack__(self) -> Callable[..., CapsuleType]: ...
