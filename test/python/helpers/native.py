# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the tests of compiled code: kernels over memrefs as text, and their executables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.pass_manager import run_upstream
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.infos import Info, ScalarInfo, TensorInfo
from relax_mlir.emit import memrefs
from relax_mlir.passes.memory.lower_calls import scalar_arguments
from relax_mlir.runtime import Artifact, Constant, Executable
from relax_mlir.runtime.cpu import host_features, host_triple
from relax_mlir.targets.host.entry import add_entry
from relax_mlir.targets.host.passes.host_lower_errors import LowerErrors
from relax_mlir.targets.host.passes.host_lower_packed import LowerPacked
from relax_mlir.targets.host.signature import Signature, single
from relax_mlir.targets.host.support import CONSTANT_TABLE, SET_CONSTANTS, Support, named_in, table_text
from relax_mlir.targets.llvm.objects.object_file import emit_object

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

DIALECTS = ("memref", "arith", "scf", "cf", "llvm")


def signature(name: str, inputs: Iterable[tuple[str, Info]], outputs: Sequence[Info] = ()) -> Signature:
    return Signature(name, tuple(single(info, each) for each, info in inputs), tuple(map(single, outputs)))


def _context() -> Any:
    context = create_context()
    load_dialects(context, DIALECTS)
    return context


def _parsed(text: str) -> Any:
    with _context(), ir.Location.unknown():
        return ir.Module.parse(text)


def lowered(text: str) -> Any:
    """Return a module of functions over memrefs, in the LLVM dialect."""
    module = _parsed(text)
    run_upstream(module.operation, _TO_LLVM)
    return module


def module_for(text: str, signatures: Sequence[Signature], *, constants: int = 0) -> Any:
    """Return the lowered module with entries, each of which has a function `<name>_impl`."""
    module = _parsed((table_text(CONSTANT_TABLE, SET_CONSTANTS, constants) if constants else "") + text)
    operation = module.operation
    support = Support(operation)
    functions = named_in(operation)
    for each in signatures:
        add_entry(support, each, functions[f"{each.name}_impl"])
    LowerPacked()(operation)
    LowerErrors()(operation)
    run_upstream(operation, _TO_LLVM)
    assert operation.verify()
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


def ignoring(name: str, inputs: Iterable[tuple[str, Info]], outputs: Sequence[Info] = ()) -> str:
    """Return a kernel that takes the arguments of the entry and does nothing."""
    with _context() as context:
        types = [_parameter(info, context) for info in [*(info for _, info in inputs), *outputs]]
    parameters = ", ".join(f"%a{index}: {type_}" for index, type_ in enumerate(types))
    return f"func.func @{name}_impl({parameters}) {{\n  return\n}}\n"


def _parameter(info: Info, context: Any) -> str:
    if isinstance(info, TensorInfo) and info.shape is not None:
        return str(memrefs.memref_type(info, context))
    return str(scalar_arguments.passed_type(info, context)) if isinstance(info, ScalarInfo) else "!llvm.ptr"
