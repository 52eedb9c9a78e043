# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transfer of modules from JAX's own copy of MLIR to ours: as text, or as bytecode if the module is large.

Both copies have chlo operations, which an exported program has lost.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

from relax_mlir.frontends.module import Module
from relax_mlir.support.errors import ModelError, RefusalError

from .jax_arrays import TESTED
from .stablehlo.from_stablehlo import from_stablehlo
from .stablehlo.registry import COLLECTIVES, REFUSED

#: Bytecode size beyond which text, twice as large for constants, would be slow.
_LARGE = 1 << 20
_UNREADABLE = "cannot read"


def imported(program: Any) -> Module:
    """Return the module of a program that JAX has lowered. Raise ModelError if it cannot be read."""
    _check_one_device(program)
    operation = without_shardings(program).operation
    stream = io.BytesIO()
    operation.write_bytecode(stream)
    forms = [lambda: operation.get_asm(enable_debug_info=True), stream.getvalue]
    first, second = reversed(forms) if stream.tell() > _LARGE else forms
    try:
        return from_stablehlo(first())
    except ModelError as error:
        # The two MLIR versions may print an operation differently, and a printed form may not parse.
        if not error.message.startswith(_UNREADABLE):
            raise
        unreadable = error
    try:
        return from_stablehlo(second())
    except ModelError as error:
        if not error.message.startswith(_UNREADABLE):
            raise
        import jax

        note = f"jax {jax.__version__} wrote it, {TESTED} was tested: pip install 'jax=={TESTED}.*'"
        raise unreadable.altered(notes=(*unreadable.notes, note)) from None


def opened(artifact: bytes) -> Any:
    """Deserialize a portable artifact in JAX's MLIR. Raise ModelError if it cannot be read."""
    try:
        from jax._src.interpreters.mlir import make_ir_context
        from jaxlib.mlir.dialects import stablehlo
    except ImportError:
        import jax

        raise ModelError(f"jax {jax.__version__} is not known: {TESTED} was tested") from None
    try:
        return stablehlo.deserialize_portable_artifact(make_ir_context(), artifact)
    except ValueError as error:
        raise ModelError(f"the StableHLO program cannot be read: {error}") from None


def main_of(program: Any) -> Any:
    return next(operation for operation in program.body.operations if operation.attributes["sym_name"].value == "main")


def without_shardings(program: Any) -> Any:
    """Remove sharding annotations, which mean nothing on a single device, and return the module."""
    from jaxlib.mlir import ir

    def visit(operation: Any) -> Any:
        if is_constraint := _is_constraint(operation):
            operation.results[0].replace_all_uses_with(operation.operands[0])
        if is_constraint or operation.name == "sdy.mesh":
            operation.erase()
        elif operation.name == "func.func":
            for which in ("arg_attrs", "res_attrs"):
                if which in operation.attributes and "sdy." in str(operation.attributes[which]):
                    del operation.attributes[which]
        return ir.WalkResult.ADVANCE

    with program.context:
        program.operation.walk(visit, ir.WalkOrder.POST_ORDER)
    return program


def _is_constraint(operation: Any) -> bool:
    """Check whether an operation is a sharding constraint, which is a custom call before JAX 0.7."""
    if operation.name == "stablehlo.custom_call":
        return bool(operation.attributes["call_target_name"].value == "Sharding")
    return bool(operation.name == "sdy.sharding_constraint")


def _check_one_device(program: Any) -> None:
    for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
        attributes = program.operation.attributes
        count = attributes[name].value if name in attributes else 1
        if count != 1:
            raise RefusalError(
                f"the function is for {count} devices ({name}), and a program is for one: "
                f"pass arrays that are on one device, and take shard_map, pmap and shardings out{_collect(program)}"
            )


def _collect(program: Any) -> str:
    """Return a text that lists the collective operations with their counts."""
    from jaxlib.mlir import ir

    found: Counter[str] = Counter()

    def visit(operation: Any) -> Any:
        if operation.name in (*COLLECTIVES, *REFUSED):
            found[operation.name] += 1
        return ir.WalkResult.ADVANCE

    program.operation.walk(visit)
    shown = ", ".join(f"{name} ({count})" for name, count in sorted(found.items()))
    return f"; it has {shown}" if shown else ""
