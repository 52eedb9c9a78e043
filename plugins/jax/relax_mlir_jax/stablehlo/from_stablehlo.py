# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of StableHLO modules, such as jax's exports."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relax_mlir.bindings.diagnostics import Diagnostic, errors_as_relax_error, failure
from relax_mlir.bindings.ir import Context
from relax_mlir.bindings.ir import Module as MlirModule
from relax_mlir.bindings.mlir import ROOT, expect_dialect, ir, passmanager
from relax_mlir.frontends.core.bytecode import MAGIC
from relax_mlir.frontends.core.problems import Problems, Words
from relax_mlir.frontends.core.programs import content_of, program_on_trial, read_program
from relax_mlir.frontends.module import Module
from relax_mlir.frontends.reader import Reader
from relax_mlir.passes.core.journal import timed
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.callbacks import enters
from relax_mlir.support.collector import uncollected
from relax_mlir.support.errors import ModelError

from .bytecode_shardings import without_shardings
from .hlo_functions import add_functions
from .registry import CONVERTERS
from .sdy_dialect import generic_text

WORDS = Words(node="operation", whole="the module")
_TRIAL = f"{__name__}:read_on_trial"
#: Producer string of a portable artifact, after the magic number and a byte for the bytecode version.
_PORTABLE = b"StableHLO_v"
#: The dialect of shardings is missing in the wheel, so that its operations cannot be skipped.
_SHARDINGS = "dialect 'sdy'"


@types_checked
@enters
@uncollected()
def from_stablehlo(source: object) -> Module:
    """Import a StableHLO program as a module.

    The source is text, bytes of a portable artifact or of MLIR's bytecode, the path of a file of either, or a result of
    jax.export. Public functions keep their names, usually `main`.

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
    """Load StableHLO's dialects into the context, and return their bindings module."""
    try:
        dialects = importlib.import_module(f"{ROOT}._mlir_libs._stablehlo")
    except ImportError:
        raise ModelError(f"the installed MLIR bindings ({ROOT}) have no StableHLO") from None
    for name in ("stablehlo", "chlo"):
        expect_dialect(name)
    dialects.register_dialect(context)
    dialects.register_stablehlo_passes()
    # The passes that lower chlo also load it.
    _run("stablehlo-legalize-quant-to-math", ir.Module.parse("module {}", context))
    return dialects


def _run(name: str, program: MlirModule) -> None:
    """Run a pass of the wheel on functions."""
    passmanager.PassManager.parse(f"builtin.module(func.func({name}))", program.context).run(program.operation)


def _read(source: object, context: Context) -> MlirModule:
    # The text has the shardings, and the serialized form loses them.
    is_divided = getattr(source, "nr_devices", 1) > 1
    held = source.mlir_module() if is_divided else getattr(source, "mlir_module_serialized", source)  # type: ignore[attr-defined]
    name = "<stablehlo>"
    if isinstance(held, os.PathLike) or (isinstance(held, str) and "\n" not in held and not held.startswith("module")):
        held, name = content_of(Path(held)), str(held)
    if isinstance(held, (bytearray, memoryview)):
        held = bytes(held)
    if not isinstance(held, (str, bytes)):
        raise ModelError(
            f"from_stablehlo takes text, bytes, a path or what jax.export gives, got {type(source).__name__}"
        )
    try:
        return read_program(held, name, context, _parse_text, _TRIAL)
    except ModelError as error:
        text = getattr(source, "mlir_module", None)
        if text is None or _SHARDINGS not in error.message:
            raise
        return read_program(text(), name, context, _parse_text, _TRIAL)


def read_on_trial(data: bytes, *, is_text: bool, name: str, dialects: Sequence[str]) -> bytes:
    """Read a program in a process that may crash."""
    return program_on_trial(data, name, _parse_text)


def _parse_text(source: str | bytes, name: str, context: Context) -> MlirModule:
    dialects, allowed = _dialects(context), context.allow_unregistered_dialects
    # Operations without a converter are reported together.
    context.allow_unregistered_dialects = True
    try:
        with errors_as_relax_error(context, f"cannot read '{name}'", ModelError) as errors:
            if isinstance(source, bytes) and _PORTABLE in source[: len(MAGIC) + 1 + len(_PORTABLE)]:
                program = _deserialize(dialects, source, name, context, errors)
            else:
                program = ir.Module.parse(generic_text(source) if isinstance(source, str) else source, context)
            if context.is_dialect_loaded("quant") and "!quant." in str(program):
                # Computations on quantized tensors become float computations between dequantize and quantize.
                _run("stablehlo-legalize-quantized-op-to-qdq", program)
            return program
    finally:
        context.allow_unregistered_dialects = allowed


def _deserialize(dialects: Any, data: bytes, name: str, context: Context, errors: list[Diagnostic]) -> MlirModule:
    """Return the module of a portable artifact."""
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
    """Return the problems of importing a file."""
    module, problems = Module(), Problems(WORDS)
    program = _read(Path(path), module.context)
    add_functions(module.operation, program.operation, problems)
    return problems


READER = Reader(from_stablehlo, problems_of, CONVERTERS.rows, CONVERTERS)
