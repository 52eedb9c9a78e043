# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO modules, as jax exports them, as modules."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from ...bindings.diagnostics import Diagnostic, errors_as_relax_error, failure
from ...bindings.ir import Context
from ...bindings.mlir import ROOT, expect_dialect, ir, passmanager
from ...passes.core.journal import timed
from ...support.argument_types import types_checked
from ...support.callbacks import enters
from ...support.collector import uncollected
from ...support.errors import ModelError
from ..core.problems import Problems, Words
from ..module import Module
from .bytecode_shardings import without_shardings
from .hlo_functions import add_functions

WORDS = Words(node="operation", whole="the module")
#: How MLIR's bytecode begins; a portable artifact is one, of the vhlo dialect.
BYTECODE = b"ML\xefR"
#: Who has written a portable artifact: that stands behind, and a byte of bytecode's version.
_PORTABLE = b"StableHLO_v"
#: The dialect of shardings, which the wheel does not have: operations of it cannot be left out.
_SHARDINGS = "dialect 'sdy'"


@types_checked
@enters
@uncollected()
def from_stablehlo(source: object) -> Module:
    """The module of a StableHLO program: text, bytes of a portable artifact or of MLIR's bytecode, the path of a file
    of either, or what jax.export gives. Its public functions keep their names, `main` mostly.

    Raises one RelaxError that lists every operation that cannot be imported, with its line.
    """
    with timed("import"):
        module, problems = Module(), Problems(WORDS)
        program = _read(source, module.context)
        add_functions(module.operation, program.operation, problems)
        problems.check()
        module.verify()
    return module


def _dialects(context: Context) -> Any:
    """The bindings' module of StableHLO, which the context knows afterwards."""
    try:
        found = importlib.import_module(f"{ROOT}._mlir_libs._stablehlo")
    except ImportError:
        raise ModelError(f"the installed MLIR bindings ({ROOT}) have no StableHLO") from None
    for name in ("stablehlo", "chlo"):
        expect_dialect(name)
    found.register_dialect(context)
    found.register_stablehlo_passes()
    # chlo comes with the passes that take it.
    _run("stablehlo-legalize-quant-to-math", ir.Module.parse("module {}", context))
    return found


def _run(name: str, program: Any) -> None:
    """A pass of the wheel's on functions."""
    passmanager.PassManager.parse(f"builtin.module(func.func({name}))", program.context).run(program.operation)


def _read(source: object, context: Context) -> Any:
    held = getattr(source, "mlir_module_serialized", source)
    name = "<stablehlo>"
    if isinstance(held, os.PathLike) or (isinstance(held, str) and "\n" not in held and not held.startswith("module")):
        path = Path(held)
        try:
            held, name = path.read_bytes(), str(path)
        except OSError as error:
            raise ModelError(f"cannot read '{path}': {error.strerror}") from None
    if isinstance(held, (bytes, bytearray, memoryview)):
        held = bytes(held) if bytes(held[:4]) == BYTECODE else bytes(held).decode("utf-8", "surrogateescape")
    if not isinstance(held, (str, bytes)):
        raise ModelError(
            f"from_stablehlo takes text, bytes, a path or what jax.export gives, got {type(source).__name__}"
        )
    try:
        return _parsed(held, name, context)
    except ModelError as error:
        text = getattr(source, "mlir_module", None)
        if text is None or _SHARDINGS not in error.message:
            raise
        return _parsed(text(), name, context)


def _parsed(source: str | bytes, name: str, context: Context) -> Any:
    dialects, allowed = _dialects(context), context.allow_unregistered_dialects
    # Operations without a converter are told all at once.
    context.allow_unregistered_dialects = True
    try:
        with errors_as_relax_error(context, f"cannot read '{name}'", ModelError) as errors:
            if isinstance(source, bytes) and _PORTABLE in source[: len(BYTECODE) + 1 + len(_PORTABLE)]:
                program = _deserialized(dialects, source, name, context, errors)
            else:
                program = ir.Module.parse(source, context)
            if context.is_dialect_loaded("quant") and "!quant." in str(program):
                # What computes with quantized tensors becomes floats between quantize and dequantize.
                _run("stablehlo-legalize-quantized-op-to-qdq", program)
            return program
    finally:
        context.allow_unregistered_dialects = allowed


def _deserialized(dialects: Any, data: bytes, name: str, context: Context, errors: list[Diagnostic]) -> Any:
    """The module of a portable artifact."""
    try:
        return dialects.deserialize_portable_artifact(context, without_shardings(data))
    except ValueError:
        found = failure(f"cannot read '{name}'", errors, ModelError)
        if _SHARDINGS in found.message:
            found.notes = (
                *found.notes,
                "jax has written how arrays are sharded: pass what jax.export gives, or its mlir_module()",
            )
        raise found from None


def problems_of(path: str) -> Problems:
    """What of a file cannot be imported."""
    module, problems = Module(), Problems(WORDS)
    program = _read(Path(path), module.context)
    add_functions(module.operation, program.operation, problems)
    return problems
