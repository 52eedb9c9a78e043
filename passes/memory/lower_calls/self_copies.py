# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In-place updates: kernels that copy and modify an input skip the copy if the result aliases the input."""

from __future__ import annotations

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_in
from ....emit.arithmetic import result_of
from ....emit.numbers import as_index
from .overwriting import Kernel

#: Dialects without side effects. Together with `_ACCESSES` they bound the visible effects of a copy.
_QUIET = frozenset(("arith", "vector", "scf", "affine"))
_WRITES = frozenset(("memref.store", "vector.transfer_write", "vector.store", "linalg.generic", "memref.copy"))
_ACCESSES = _WRITES | {"memref.load", "linalg.yield"}
_PLACE_OF = "memref.extract_aligned_pointer_as_index"


def skip_copies_to_itself(function: Operation, kernel: Kernel, read: int, written: int) -> None:
    """Guard the loops that only copy one parameter to the other: they run only if the memory differs."""
    parameters = body_of(function).arguments
    for op, writes in kernel.copies(read, written):
        if _is_quiet(op, writes):
            with op.context, op.location:
                _run_if_apart(op, parameters[read], parameters[written])


def _is_quiet(op: Operation, writes: int) -> bool:
    """Check whether an operation has exactly this number of writes and no other side effects."""
    inside = [op, *operations_in(op)]
    is_known = all(operation.name.partition(".")[0] in _QUIET or operation.name in _ACCESSES for operation in inside)
    return is_known and not len(op.results) and sum(operation.name in _WRITES for operation in inside) == writes


def _run_if_apart(op: Operation, read: Value, written: Value) -> None:
    with ir.InsertionPoint(op):
        one, other = (as_index(result_of(_PLACE_OF, [memref], ir.IndexType.get())) for memref in (read, written))
        branch = ir.Operation.create("scf.if", operands=[(one != other).value], regions=2)
        block = branch.regions[0].blocks.append()
    op.detach_from_parent()
    block.append(op)
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield")
