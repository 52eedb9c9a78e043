# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation of MLIR contexts with the required settings."""

from __future__ import annotations

from collections.abc import Iterable

from ..support.errors import RelaxError
from .diagnostics import attach_reporter
from .ir import Context
from .mlir import ir

#: Dialects that the wheel registers. The bindings can load a dialect by name but cannot list the names.
UPSTREAM_DIALECTS = tuple(
    "acc affine amdgpu arith arm_neon arm_sme arm_sve async bufferization builtin cf complex dlti emitc func gpu "
    "index irdl linalg llvm math memref ml_program mpi nvgpu nvvm omp pdl pdl_interp ptr quant rocdl scf shape shard "
    "smt sparse_tensor spirv tensor tosa transform ub vcix vector wasmssa x86 xegpu xevm".split()
)


def new_context(dialects: Iterable[str] = ()) -> Context:
    """Create a context and load the named upstream dialects.

    The parser loads others on demand.

    Multithreading stays off: C++ threads that call Python verifiers would deadlock with the interpreter's lock.
    """
    # An empty list, because None loads every dialect (20 ms).
    context = ir.Context(load_on_create_dialects=[])
    context.enable_multithreading(False)
    attach_reporter(context)
    load_dialects(context, ("builtin", "irdl", *dialects))
    return context


def load_dialects(context: Context, names: Iterable[str]) -> None:
    """Load upstream dialects.

    Operations of dialects that are not loaded would be created as unregistered operations.

    Raises RelaxError for an unknown dialect.
    """
    for name in names:
        if not context.is_dialect_loaded(name):
            try:
                # `context.dialects[name]` would import a large Python module.
                context.get_dialect_descriptor(name)
            except (ValueError, ir.MLIRError):
                raise RelaxError(f"MLIR has no dialect '{name}'") from None
