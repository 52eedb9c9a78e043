# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of an intrinsic on arrays: lowered for llvm, in a loop over memrefs, by MLIR's ExecutionEngine."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import relax_mlir.targets  # noqa: F401  # makes this project's targets known
from relax_mlir.bindings.mlir import ROOT, ir
from relax_mlir.bindings.pass_manager import run_upstream
from relax_mlir.dialects.context import create_context
from relax_mlir.passes.kernels.tir_lower_intrinsics import LowerIntrinsics
from relax_mlir.targets.core.common_stages import TO_LLVM
from relax_mlir.targets.llvm.passes.llvm_store_narrow_floats import StoreNarrowFloats

NUMPY_TYPES = {
    "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64), "i1": np.dtype(np.bool_), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32), "i64": np.dtype(np.int64), "index": np.dtype(np.int64),
}  # fmt: skip


class Compiled:
    """Machine code of a module's functions."""

    def __init__(self, module: Any):
        # As in the target: LLVM expands bf16 into calls of a library that is not linked.
        run_upstream(module.operation, TO_LLVM)
        StoreNarrowFloats().run(module.operation)
        engine = importlib.import_module(f"{ROOT}.execution_engine")
        self._engine = engine.ExecutionEngine(module, opt_level=2)

    def __call__(self, function: str, *arrays: np.ndarray[Any, Any]) -> None:
        # The engine wraps functions so that they take an array of pointers to their arguments.
        address = self._engine.raw_lookup(f"_mlir_ciface_{function}")
        pointers = [ctypes.pointer(_descriptor(array)) for array in arrays]
        packed = (ctypes.c_void_p * len(arrays))(*(ctypes.addressof(pointer) for pointer in pointers))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(packed)


class _Memref(ctypes.Structure):
    _fields_ = [
        ("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64), ("stride", ctypes.c_int64),
    ]  # fmt: skip


def _descriptor(array: np.ndarray[Any, Any]) -> _Memref:
    return _Memref(array.ctypes.data, array.ctypes.data, 0, array.size, 1)


def loop_text(name: str, op: str, ins: Sequence[str], outs: Sequence[str], attributes: str = "", lanes: int = 0) -> str:
    """Return a function over memrefs that applies an intrinsic to each element, or to vectors of `lanes` lanes."""
    arguments = [f"%a{i}: memref<?x{dtype}>" for i, dtype in enumerate([*ins, *outs])]
    typed = [f"vector<{lanes}x{dtype}>" if lanes else dtype for dtype in [*ins, *outs]]
    loads, stores = [], []
    for i, dtype in enumerate([*ins, *outs]):
        memory = f"%a{i}[%i] : memref<?x{dtype}>"
        if i < len(ins):
            loads.append(f"%v{i} = " + (f"vector.load {memory}, {typed[i]}" if lanes else f"memref.load {memory}"))
        else:
            value = f"%r#{i - len(ins)}" if len(outs) > 1 else "%r"
            stores.append(f"vector.store {value}, {memory}, {typed[i]}" if lanes else f"memref.store {value}, {memory}")
    operands = ", ".join(f"%v{i}" for i in range(len(ins)))
    count = f":{len(outs)}" if len(outs) > 1 else ""
    signature = f"({', '.join(typed[: len(ins)])}) -> ({', '.join(typed[len(ins) :])})"
    return f"""
func.func @{name}({", ".join(arguments)}) attributes {{llvm.emit_c_interface}} {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes or 1} : index
  %n = memref.dim %a0, %c0 : memref<?x{ins[0]}>
  scf.for %i = %c0 to %n step %step {{
    {chr(10).join(loads)}
    %r{count} = "{op}"({operands}) {attributes} : {signature}
    {chr(10).join(stores)}
  }}
  return
}}"""


def compiled(text: str, *, fast_math: bool = False, target: str = "llvm") -> Compiled:
    with create_context():
        module = ir.Module.parse(text)
    LowerIntrinsics(target=target, fast_math=fast_math)(module)
    return Compiled(module)


def run_intrinsic(
    op: str,
    *arrays: np.ndarray[Any, Any],
    dtypes: Sequence[str] = (),
    outs: Sequence[str] = (),
    attributes: str = "",
    lanes: int = 0,
    fast_math: bool = False,
) -> Any:
    """Return the results of an intrinsic on one-dimensional arrays. `dtypes` is for types that numpy lacks."""
    names = {dtype: name for name, dtype in reversed(NUMPY_TYPES.items()) if name != "index"}
    ins = list(dtypes) or [names[array.dtype] for array in arrays]
    outs = list(outs) or [ins[0]]
    program = compiled(loop_text("f", op, ins, outs, attributes, lanes), fast_math=fast_math)
    results = [np.zeros(arrays[0].size, NUMPY_TYPES[dtype]) for dtype in outs]
    program("f", *map(np.ascontiguousarray, arrays), *results)
    return results[0] if len(results) == 1 else results
