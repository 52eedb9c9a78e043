# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory effects of separately compiled kernels, analysed once and stated by their contracts."""

from __future__ import annotations

import math

from ....bindings.ir import Operation, Type
from ....bindings.mlir import ir
from ....bindings.navigation import body_of
from ....dialects.core.kernel_contract import KernelContract
from ....emit.memrefs import storage_bytes
from .overwriting import Kernel


class SeparateKernel(Kernel):
    """Kernel with a contract that states the permitted overwrites. Its calls cannot be removed or shortened."""

    pairs = ()
    fixed = None

    def __init__(self, contract: KernelContract) -> None:
        self._stated = set(contract.overwrites)

    def may_overwrite(self, read: int, written: int, is_alike: bool) -> bool:
        return (read, written, int(is_alike)) in self._stated

    def copies(self, read: int, written: int) -> list[tuple[Operation, int]]:
        return []


def overwrites_of(function: Operation, outputs: int) -> tuple[tuple[int, int, int], ...] | None:
    """Return the permitted overwrites of a PrimFunc on memrefs whose last parameters are its outputs.

    Return None for a kernel that the memory plan may change. Such a kernel only moves elements, or copies an operand
    which its result may alias.
    """
    kernel = Kernel(function)
    if kernel.pairs:
        return None
    types = [argument.type for argument in body_of(function).arguments]
    found = []
    for written in range(len(types) - outputs, len(types)):
        for read, type_ in enumerate(types[: len(types) - outputs]):
            if not isinstance(type_, ir.MemRefType):
                continue
            may_be_alike = _may_be_alike(type_, types[written])
            if may_be_alike and not kernel.may_overwrite(read, written, is_alike=True):
                continue  # an overwrite permitted for any position is also permitted element by element
            if may_be_alike:
                if kernel.copies(read, written):
                    return None
                found.append((read, written, 1))
            if kernel.may_overwrite(read, written, is_alike=False):
                found.append((read, written, 0))
    return tuple(found)


def _may_be_alike(one: Type, other: Type) -> bool:
    """Check whether calls may pass two memrefs with equal numbers and sizes of elements."""
    if storage_bytes(one.element_type) != storage_bytes(other.element_type):
        return False
    is_fixed = one.has_static_shape and other.has_static_shape
    return not is_fixed or math.prod(one.shape) == math.prod(other.shape)
