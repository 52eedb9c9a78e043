# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one relax operator on arrays: legalized for llvm, its PrimFunc compiled and called through a packed entry."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy
from native import artifact_for, signature
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.passes.legalize.builder import parameter_info
from relax_mlir.passes.tir_lower_intrinsics import LowerIntrinsics
from relax_mlir.runtime import Executable

import relax_mlir as rx

_TO_LOOPS = (
    "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
    "canonicalize,drop-equivalent-buffer-results{modify-public-functions=1},func.func(convert-linalg-to-loops),"
    "convert-math-to-llvm"
)
_MLIR_NAMES = {numpy.dtype(ml_dtypes.bfloat16): "bf16", numpy.dtype(numpy.float16): "f16", numpy.dtype(bool): "i1"}


def dtype_name(array: Any) -> str:
    """numpy's element type as the dialects name it."""
    kinds = {"f": "f", "i": "i", "u": "ui"}
    named = _MLIR_NAMES.get(array.dtype)
    return named or f"{kinds[array.dtype.kind]}{array.dtype.itemsize * 8}"


def run_op(name: str, *arrays: Any, symbols: Sequence[Sequence[str | int]] = (), **attributes: Any) -> Any:
    """The operator's result; `symbols` are the operands' shapes as the compiler is to see them, else as they are."""
    shapes = tuple(tuple(shape) for shape in symbols) or tuple(array.shape for array in arrays)
    infos = tuple(rx.tensor(shape, dtype_name(array)) for shape, array in zip(shapes, arrays, strict=True))
    return compiled(name, infos, tuple(attributes.items()))["main"](*arrays)


@functools.lru_cache(maxsize=256)
def compiled(name: str, infos: tuple[TensorInfo, ...], attributes: tuple[tuple[str, Any], ...]) -> Executable:
    module = rx.Module()
    with module.function("main", infos) as f:
        result = rx.find_op(name)(*f, **dict(attributes))
        info = decode(result.type)
        f.returns(result)
    rx.LegalizeOps(target="llvm")(module)
    module.verify()
    LowerIntrinsics(target="llvm")(module)
    prim = _only_prim_func(module)
    with module:
        _call_as_kernel(prim, [*infos, info])
    rx.Pipeline(_TO_LOOPS, verify_each=False).run(module)
    inputs = [(f"x{index}", each) for index, each in enumerate(infos)]
    return Executable(artifact_for(str(module), [signature("main", inputs, [info])]))


def _only_prim_func(module: rx.Module) -> str:
    """Leaves nothing but the PrimFunc in the module; its name."""
    found = [op.operation for op in module.body.operations]
    prims = [operation for operation in found if is_prim_func(operation)]
    assert len(prims) == 1, str(module)
    for operation in found:
        if operation != prims[0]:
            operation.erase()
    return str(prims[0].attributes["sym_name"].value)


def _call_as_kernel(prim: str, infos: Sequence[Any]) -> None:
    """A function @main_impl that passes its memrefs on and says that all went well."""
    types = []
    for info in infos:
        sizes = "".join(f"{'?' if size is None else size}x" for size in parameter_info(info).shape)  # type: ignore[union-attr]
        types.append(f"memref<{sizes}{parameter_info(info).dtype}>")  # type: ignore[union-attr]
    tensors = [type_.replace("memref", "tensor") for type_ in types]
    parameters = ", ".join(f"%m{index}: {type_}" for index, type_ in enumerate(types))
    lines = [
        f"%t{index} = bufferization.to_tensor %m{index} restrict writable : {memref} to {tensor}"
        for index, (memref, tensor) in enumerate(zip(types, tensors, strict=True))
    ]
    arguments = ", ".join(f"%t{index}" for index in range(len(types)))
    last = len(types) - 1
    text = f"""
func.func @main_impl({parameters}) -> i32 {{
  {chr(10).join(lines)}
  %r = func.call @{prim}({arguments}) : ({", ".join(tensors)}) -> {tensors[last]}
  bufferization.materialize_in_destination %r in restrict writable %m{last} : ({tensors[last]}, {types[last]}) -> ()
  %ok = arith.constant 0 : i32
  return %ok : i32
}}
func.func private @{prim}({", ".join(tensors)}) -> {tensors[last]}
"""
    parsed = ir.Module.parse(text)
    ir.InsertionPoint.current.block.append(parsed.body.operations[0].operation.detach_from_parent())
