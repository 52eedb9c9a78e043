# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions by which programs use the device vpu, written with the C functions of its vendor's library."""

from __future__ import annotations

from relax_mlir.targets.host.library.device import OUT_OF_MEMORY
from relax_mlir.targets.host.library.device_functions import device_functions
from relax_mlir.targets.host.library.prelude import OK
from relax_mlir.targets.host.native.language import I32, I64, NULL, Array, Ptr, c_function, local_function


@c_function
def vpu_alloc(size: I64) -> Ptr: ...
@c_function
def vpu_free(address: Ptr) -> None: ...
@c_function
def vpu_copy(to: Ptr, source: Ptr, size: I64) -> I32: ...
@c_function
def vpu_wait() -> I32: ...


@local_function
def take(place: Array[Ptr], size: I64) -> I32:
    place[0] = vpu_alloc(size)
    return OUT_OF_MEMORY if place[0] == NULL else OK


@local_function
def give(address: Ptr) -> I32:
    vpu_free(address)
    return OK


vpu_functions = device_functions(
    "vpu", allocate=take, free=give, write=vpu_copy, read=vpu_copy, copy=vpu_copy, wait=vpu_wait
)
