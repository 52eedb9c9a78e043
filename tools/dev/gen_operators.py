# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the operator references docs/<dialect>-operators.md from the operator tables."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from generated import cell, main

if TYPE_CHECKING:
    from relax_mlir.dialects.core.dialect import Dialect
    from relax_mlir.dialects.core.opdef import OpDef

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED = "<!-- Written by tools/dev/gen_operators.py from the operator tables (`make generate`): do not edit. -->"
OPERANDS = "`*name` takes any number of operands, `name?` is optional. Attributes have a kind, optional ones a default."
LEGENDS = {
    "relax": """\
The {own} operators marked + belong to this project; all others have the names, operands, attributes and defaults of
Relax. An operand without a kind is a tensor. A `dtype` or `out_dtype` of None selects the element type of the operands.
""",
    "tir": "An operand without a kind is a scalar or a vector of numbers. Operators apply to vectors elementwise.\n",
}
#: Kind of an operand that the page leaves out, by dialect.
PLAIN = {"relax": ": tensor", "tir": ": elementwise"}
#: Descriptions that the page gives once, in its legend.
IMPLIED = {f"element type; default: as {name}" for name in ("x", "data", "the operands")}


def page(dialect: Dialect) -> str:
    from relax_mlir.dialects.core.documentation import call_text

    ops = sorted(dialect.ops.values(), key=lambda op: (op.family, op.name))
    legend = LEGENDS[dialect.name].format(own=sum(op.own for op in ops))
    lines = [GENERATED, f"# Operators of the dialect {dialect.name}", dialect.doc, ""]
    lines += [f"{len(ops)} operators. {OPERANDS}", legend]
    for family, group in groupby(ops, key=lambda op: op.family):
        members = list(group)
        common = common_arguments(members)
        lines += [f"## {family}", *legend_of(common), "| operator | description |", "| --- | --- |"]
        for op in members:
            call = cell(call_text(op).replace(PLAIN[dialect.name], ""))
            lines.append(f"| `{call}`{' +' if op.own else ''} | {description(op, common)} |")
        lines.append("")
    return "\n".join(lines)


def described(op: OpDef) -> Iterator[tuple[str, str]]:
    """Yield the name and the description of each argument, except for descriptions that the legend implies."""
    from relax_mlir.dialects.core.documentation import arguments

    return ((each.name, each.doc) for each in arguments(op) if each.doc not in IMPLIED)


def common_arguments(ops: Sequence[OpDef]) -> dict[str, str]:
    """Return descriptions of a family that several rows would repeat, if all rows describe arguments of the name."""
    counts = Counter(pair for op in ops for pair in described(op))
    bare = {name for name, doc in counts if not doc}
    common: dict[str, str] = {}
    for (name, doc), count in counts.most_common():
        if count > 1 and name not in bare:
            common.setdefault(name, doc)
    return common


def legend_of(common: dict[str, str]) -> list[str]:
    if not common:
        return []
    return ["Unless a row says otherwise:\n", *(f"- `{name}`: {cell(doc)}" for name, doc in common.items()), ""]


def description(op: OpDef, common: dict[str, str]) -> str:
    """Return the operator's own sentence, then one for each argument that the family's legend does not describe."""
    own = [f"`{name}`: {doc}" for name, doc in described(op) if doc and common.get(name) != doc]
    return cell(" ".join(f"{sentence.rstrip('.')}." for sentence in (op.doc, *own)))


def pages() -> dict[Path, str]:
    # Importing a dialect declares its operators.
    import relax_mlir.dialects.relax
    import relax_mlir.dialects.tir  # noqa: F401
    from relax_mlir.dialects.core.dialect import registered_dialects

    dialects = (registered_dialects()[name] for name in ("relax", "tir"))
    return {DOCS / f"{dialect.name}-operators.md": page(dialect) for dialect in dialects}


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
