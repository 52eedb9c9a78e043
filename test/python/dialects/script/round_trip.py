# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a module as a script, reads that back, and compares: the same text again, and the same operations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from relax_mlir.bindings.diagnostics import errors_as_relax_error
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.script import print_script
from relax_mlir.dialects.script.words import LEAVES
from relax_mlir.dialects.verification import verify_ir
from relax_mlir.frontends.script.module import read_script
from relax_mlir.frontends.script.source import Source
from relax_mlir.support.errors import RelaxError

_TESTS = Path(__file__).resolve().parents[3]


def context() -> Any:
    made = create_context()
    made.allow_unregistered_dialects = True
    return made


def parse(text: str) -> Any:
    """Raises RelaxError for what is no valid module."""
    made = context()
    with errors_as_relax_error(made, "no module"):
        module = ir.Module.parse(text, made)
    verify_ir(module.operation, "not valid")
    return module


def read(script: str) -> Any:
    """A script as a module, in a context of its own."""
    return read_script(Source(script, "script.py"), context=context())


def check(module: Any, *, fragments: int = 0) -> str:
    """The script of a module that comes back as it was. `fragments`: how many parts of it are MLIR's text."""
    script = print_script(module)
    assert script.count("I.mlir(") == fragments, script
    back = read(script)
    assert print_script(back) == script
    assert comparable(back.operation) == comparable(module.operation), script
    return script


def check_text(text: str, *, fragments: int = 0) -> str:
    return check(parse(text), fragments=fragments)


def comparable(operation: Any) -> str:
    """Generic text, with numbers and sizes made anew where they are used: scripts don't say where they were made."""
    copy = operation.clone()
    operations: list[Any] = []
    copy.walk(lambda op: (operations.append(op), ir.WalkResult.ADVANCE)[1])
    for op in operations:
        if op.name in LEAVES or op.parent is None:
            continue
        for index, operand in enumerate(list(op.operands)):
            made = operand.owner
            if not isinstance(made, ir.Block) and made.operation.name in LEAVES:
                op.operands[index] = made.operation.clone(ir.InsertionPoint(op)).results[0]
    for op in operations:
        if op.name in LEAVES and not any(True for _ in op.results[0].uses):
            op.erase()
    return str(copy.get_asm(print_generic_op_form=True, use_local_scope=True, assume_verified=True))


def modules_of_tests() -> Iterator[tuple[str, Any]]:
    """Each part of each lit test that is a valid module."""
    for path in sorted(_TESTS.rglob("*.mlir")):
        for number, text in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)):
            try:
                yield f"{path.name} {number}", parse(text)
            except RelaxError:  # a test of what is not valid
                continue
