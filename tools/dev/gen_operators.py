# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the operator references docs/<dialect>-operators.md from the operator tables."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from generated import cell, main

if TYPE_CHECKING:
    from relax_mlir.dialects.core.dialect import Dialect
    from relax_mlir.dialects.core.opdef import OpDef

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED = "<!-- Written by tools/dev/gen_operators.py from the operator tables (`make generate`): do not edit. -->"
LEGEND = """\
Operands come first: `*name` takes any number, `name?` may be left out, what is no tensor names its kind.
Attributes have a kind and, where they may be left out, a default. Operators marked + are this project's
own; the others have the names, operands, attributes and defaults of Relax.
"""


def page(dialect: Dialect) -> str:
    from relax_mlir.dialects.core.documentation import call_text

    ops = sorted(dialect.ops.values(), key=lambda op: (op.family, op.name))
    own = sum(op.own for op in ops)
    lines = [GENERATED, f"# Operators of the dialect {dialect.name}", dialect.doc, ""]
    lines += [f"{len(ops)} operators, {own} of them this project's own." if own else f"{len(ops)} operators.", LEGEND]
    for family, members in groupby(ops, key=lambda op: op.family):
        lines += [f"## {family}", "| operator | what it is |", "| --- | --- |"]
        lines += [f"| `{cell(call_text(op))}`{' +' if op.own else ''} | {description(op)} |" for op in members]
        lines.append("")
    return "\n".join(lines)


def description(op: OpDef) -> str:
    """The operator's own sentence, then one for each argument that has more to say than its kind."""
    from relax_mlir.dialects.core.documentation import arguments

    sentences = [op.doc] + [f"`{each.name}`: {each.doc}" for each in arguments(op) if each.doc]
    return cell(" ".join(f"{sentence.rstrip('.')}." for sentence in sentences))


def pages() -> dict[Path, str]:
    # Importing a dialect declares its operators.
    import relax_mlir.dialects.relax
    import relax_mlir.dialects.tir  # noqa: F401
    from relax_mlir.dialects.core.dialect import registered_dialects

    dialects = (registered_dialects()[name] for name in ("relax", "tir"))
    return {DOCS / f"{dialect.name}-operators.md": page(dialect) for dialect in dialects}


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
