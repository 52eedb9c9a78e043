# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the tests of compiled code: a kernel over memrefs, written as text, becomes an executable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.pass_manager import run_upstream
from relax_mlir.dialects.core.infos import Info, TensorInfo
from relax_mlir.runtime import Artifact, Constant, Executable
from relax_mlir.runtime.cpu import host_features, host_triple
from relax_mlir.targets.host.entry import add_packed_entry
from relax_mlir.targets.host.packed_allocate import BORROW, GIVE_BACK
from relax_mlir.targets.host.packed_call import add_constant_table, add_global_call, add_raise, add_tensor_borrowing
from relax_mlir.targets.host.signature import Result, Signature
from relax_mlir.targets.llvm.object_file import emit_object

import relax_mlir

_TO_LLVM = [
    "expand-strided-metadata",
    "convert-scf-to-cf",
    "finalize-memref-to-llvm",
    "convert-func-to-llvm",
    "convert-arith-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
]

DIALECTS = ("builtin", "func", "memref", "arith", "scf", "cf", "llvm")


def signature(name: str, inputs: Iterable[tuple[str, Info]], outputs: Sequence[Result] = ()) -> Signature:
    return Signature(name, tuple(inputs), tuple(outputs))


def lowered(text: str) -> Any:
    """A module of functions over memrefs, in the LLVM dialect."""
    context = new_context(DIALECTS)
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
    run_upstream(module.operation, _TO_LLVM)
    return module


def module_for(
    text: str,
    signatures: Sequence[Signature],
    *,
    calls: Iterable[str] = (),
    raises: Iterable[tuple[str, str]] = (),
    borrowing: bool = False,
    constants: int = 0,
    alignment: int = 1,
) -> Any:
    """The lowered module with entries. The text declares what it calls of the functions that are added to it."""
    module = lowered(text)
    if borrowing:
        _drop_declaration(module, BORROW)
        _drop_declaration(module, GIVE_BACK)
        add_tensor_borrowing(module)
    for kind, message in raises:
        _drop_declaration(module, add_raise(lowered(""), kind, message))
        add_raise(module, kind, message)
    for name in calls:
        _drop_declaration(module, f"__relax_call_global.{name}")
        add_global_call(module, name)
    if constants:
        _drop_declaration(module, "__relax_constants")
        add_constant_table(module, constants)
    for each in signatures:
        add_packed_entry(module, each, alignment=alignment)
    assert module.operation.verify()
    return module


def artifact_for(
    text: str,
    signatures: Sequence[Signature],
    *,
    constants: Sequence[Constant] = (),
    opt_level: int = 2,
    **options: Any,
) -> Artifact:
    module = module_for(text, signatures, constants=len(constants), **options)
    return Artifact(
        tuple(each.describe() for each in signatures),
        (memoryview(emit_object(module, opt_level)),),
        tuple(constants),
        host_triple(),
        tuple(sorted(host_features())),
        relax_mlir.__version__,
    )


def executable(text: str, *signatures: Signature, **options: Any) -> Executable:
    return Executable(artifact_for(text, signatures, **options))


def _drop_declaration(module: Any, name: str) -> None:
    for view in list(module.body):
        op = view.operation
        if "sym_name" in op.attributes and ir.StringAttr(op.attributes["sym_name"]).value == name:
            op.erase()


def ignoring(name: str, inputs: Iterable[tuple[str, Info]], outputs: Sequence[Result] = ()) -> str:
    """A kernel that takes what the entry passes and does nothing."""
    types = []
    for info in [*(info for _, info in inputs), *outputs]:
        if isinstance(info, TensorInfo):
            types += ["!llvm.ptr", "!llvm.ptr", "i64", *["i64"] * (2 * len(info.shape or ()))]
        else:
            types.append(_SCALARS.get(getattr(info, "dtype", ""), "i64") if hasattr(info, "dtype") else "!llvm.ptr")
    parameters = ", ".join(f"%a{index}: {type_}" for index, type_ in enumerate(types))
    return f"""
llvm.func @{name}_impl({parameters}) -> i32 {{
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}}
"""


_SCALARS = {"f64": "f64", "f32": "f64", "f16": "f64", "bf16": "f64", "i1": "i1"}
