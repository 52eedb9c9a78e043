# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the operator references docs/<dialect>-operators.md from the operator tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relax_mlir.dialects.core.attributes import AttrKind
    from relax_mlir.dialects.core.dialect import Dialect
    from relax_mlir.dialects.core.opdef import OpDef, OperandDef

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED = "<!-- Written by tools/dev/gen_operators.py from the operator tables (`make generate`): do not edit. -->"
LEGEND = """\
Operands come first: `*name` takes any number, `name?` may be left out, what is no tensor names its kind.
Attributes have a kind and, where they may be left out, a default. Operators marked + are this project's
own; the others have the names, operands, attributes and defaults of Relax.
"""


def page(dialect: Dialect) -> str:
    ops = sorted(dialect.ops.values(), key=lambda op: (op.family, op.name))
    own = sum(op.own for op in ops)
    lines = [GENERATED, f"# Operators of the dialect {dialect.name}", dialect.doc, ""]
    lines += [
        f"{len(ops)} operators, {own} of them this project's own." if own else f"{len(ops)} operators.",
        LEGEND,
    ]
    for family, members in groupby(ops, key=lambda op: op.family):
        lines += [f"## {family}", "| operator | what it is |", "| --- | --- |"]
        lines += [f"| `{signature(op)}`{' +' if op.own else ''} | {description(op)} |" for op in members]
        lines.append("")
    return "\n".join(lines)


def signature(op: OpDef) -> str:
    """`relax.nn.relu(data)`, with `-> a, b` where the results have names of their own."""
    results = [result.name if result.arity != "variadic" else f"*{result.name}" for result in op.results]
    shown = "" if results == ["result"] else f" -> {', '.join(results) or '()'}"
    return cell(f"{op.full_name}({', '.join(parameters(op))}){shown}")


def description(op: OpDef) -> str:
    """The operator's own sentence, then one for each attribute that has more to say than its kind."""
    sentences = [op.doc]
    for name, kind in op.attrs.items():
        allowed = getattr(kind, "choices", ())
        choices = f"one of {', '.join(allowed)}" if allowed else ""
        if kind.doc or choices:
            sentences.append(f"`{name}`: {kind.doc or choices}")
    return cell(" ".join(f"{sentence.rstrip('.')}." for sentence in sentences))


def parameters(op: OpDef) -> Iterator[str]:
    operands = {operand.name: operand for operand in op.operands}
    for name in op.parameters:
        if name in operands:
            yield operand_text(operands[name])
        elif name in op.attrs:
            yield attribute_text(name, op.attrs[name])
        else:
            yield f"{name}: types"


def operand_text(operand: OperandDef) -> str:
    prefix, suffix = {"variadic": ("*", ""), "optional": ("", "?")}.get(operand.arity, ("", ""))
    kind = "" if operand.kind == "tensor" else f": {operand.kind}"
    return f"{prefix}{operand.name}{suffix}{kind}"


def attribute_text(name: str, kind: AttrKind) -> str:
    default = "" if kind.required else f" = {kind.default!r}"
    return f"{name}: {kind.label}{default}"


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def pages() -> dict[Path, str]:
    # Importing a dialect declares its operators.
    import relax_mlir.dialects.relax
    import relax_mlir.dialects.tir  # noqa: F401
    from relax_mlir.dialects.core.dialect import registered_dialects

    dialects = (registered_dialects()[name] for name in ("relax", "tir"))
    return {DOCS / f"{dialect.name}-operators.md": page(dialect) for dialect in dialects}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if a page is not current")
    check_only = parser.parse_args().check
    stale = {path: text for path, text in pages().items() if not path.is_file() or path.read_text("utf-8") != text}
    if not check_only:
        for path, text in stale.items():
            path.write_text(text, encoding="utf-8")
        return 0
    for path in stale:
        print(f"docs/{path.name} is not current: run make generate", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
