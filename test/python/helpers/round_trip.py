# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Round trip of a module as a script: the same text again, and the same operations."""

from __future__ import annotations

import functools
from typing import Any

from relax_mlir.bindings.diagnostics import errors_as_relax_error
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.script.print_script import print_script
from relax_mlir.dialects.script.words import LEAVES
from relax_mlir.dialects.verification import verify_ir
from relax_mlir.frontends.script.common.source import Source
from relax_mlir.frontends.script.module import read_script


def context() -> Any:
    made = create_context()
    made.allow_unregistered_dialects = True
    return made


@functools.cache
def shared() -> Any:
    """Return a context for many modules: making one takes longer than most tests."""
    return context()


def parse(text: str) -> Any:
    """Parse a module. Raise RelaxError if it is not valid."""
    made = shared()
    with errors_as_relax_error(made, "no module"):
        module = ir.Module.parse(text, made)
    verify_ir(module.operation, "not valid")
    return module


def read(script: str, *, fresh: bool = False) -> Any:
    """Read a script as a module. With `fresh` only the dialects of scripts are loaded."""
    return read_script(Source(script, "script.py"), context=context() if fresh else shared())


def check(module: Any, *, fragments: int = 0, fresh: bool = False) -> str:
    """Return the script of a module after a round trip. `fragments` is the number of parts in MLIR's text."""
    script = print_script(module.operation)
    assert script.count("I.mlir(") == fragments, script
    back = read(script, fresh=fresh)
    assert print_script(back.operation) == script
    assert comparable(back.operation) == comparable(module.operation), script
    return script


def check_text(text: str, *, fragments: int = 0, fresh: bool = False) -> str:
    return check(parse(text), fragments=fragments, fresh=fresh)


def comparable(operation: Any) -> str:
    """Return generic text with numbers and sizes recreated at their uses: scripts do not state their place."""
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
