# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR contexts, set up the one way that works."""

from __future__ import annotations

from collections.abc import Iterable

from ..support.errors import RelaxError
from .diagnostics import attach_reporter
from .ir import Context
from .mlir import ir

#: Those that the wheel registers. The bindings can load one by name but not list the names.
UPSTREAM_DIALECTS = tuple(
    "acc affine amdgpu arith arm_neon arm_sme arm_sve async bufferization builtin cf complex dlti emitc func gpu "
    "index irdl linalg llvm math memref ml_program mpi nvgpu nvvm omp pdl pdl_interp ptr quant rocdl scf shape shard "
    "smt sparse_tensor spirv tensor tosa transform ub vcix vector wasmssa x86 xegpu xevm".split()
)


def new_context(dialects: Iterable[str] = ()) -> Context:
    """A context with the named upstream dialects loaded; others load when the parser meets them.

    Multithreading stays off: with it on, C++ threads that call Python verifiers deadlock with the interpreter's lock.
    """
    # An empty list, because None loads every dialect there is (20 ms).
    context = ir.Context(load_on_create_dialects=[])
    context.enable_multithreading(False)
    attach_reporter(context)
    load_dialects(context, ("builtin", "irdl", *dialects))
    return context


def load_dialects(context: Context, names: Iterable[str]) -> None:
    """Loads upstream dialects: what a pass is about to create must be loaded, or its ops come out unregistered."""
    for name in names:
        if not context.is_dialect_loaded(name):
            try:
                # Not `context.dialects[name]`, which imports a large Python module.
                context.get_dialect_descriptor(name)
            except (ValueError, ir.MLIRError):
                raise RelaxError(f"MLIR has no dialect '{name}'") from None
