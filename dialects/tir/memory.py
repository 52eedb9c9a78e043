# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory hints."""

from __future__ import annotations

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ..core.attributes import Int, Str
from ..core.infos import Info
from ..core.opdef import Call, OpProblem
from .dialect import op


def _prefetch(call: Call) -> list[Info]:
    call.require(0 <= call.locality <= 3, f"{call.describe('locality')} must be between 0 (none) and 3 (keep close)")
    return []


def _verify_prefetch(operation: Operation, call: Call) -> None:
    address, *indices = (value.type for value in operation.operands)
    if str(address).startswith("!llvm.ptr"):
        rank = 0
    elif isinstance(address, ir.MemRefType):
        rank = address.rank
    else:
        raise OpProblem(f"operand 'address' ({address}) must be a memref of known rank or a pointer")
    if len(indices) != rank:
        raise OpProblem(f"operand 'address' ({address}) takes {rank} indices, got {len(indices)}")
    for position, index in enumerate(indices):
        if not isinstance(index, ir.IndexType):
            raise OpProblem(f"operand 'indices' #{position} ({index}) must be of type index")


op("prefetch", "address:any *indices:any",
   attrs={"rw": Str("read", choices=("read", "write")), "locality": Int(3, doc="0 (none) to 3 (keep close)"),
          "cache": Str("data", choices=("data", "instruction"))},
   results="", infer=_prefetch, verify=_verify_prefetch, pure=False,
   doc="Prefetches the cache line of a memref's element, or at a pointer.")  # fmt: skip
