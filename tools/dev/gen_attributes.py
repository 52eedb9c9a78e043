# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/attributes.md from the table of attributes and the comments in it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from generated import ROOT, main

if TYPE_CHECKING:
    from relax_mlir.dialects.core.ir_attributes import IRAttribute

TABLE = ROOT / "dialects" / "core" / "ir_attributes.py"
HEAD = """\
<!-- Written by tools/dev/gen_attributes.py from dialects/core/ir_attributes.py (`make generate`): do not edit. -->
# Attributes in the IR
What frontends, passes and targets tell one another by attributes. The verifier refuses them in other places and of
other types, and unknown ones that begin with `tir.`. *Until* is the last stage or pass behind which one may stand;
without, it stays as long as what it is on. *Contract* is the version of the [codegen contract](codegens/contract.md)
since which an attribute belongs to it; the others are internal. Attributes of operators are in
[relax-operators.md](relax-operators.md) and [tir-operators.md](tir-operators.md).
"""
COLUMNS = "| attribute | on | type | what it says | written by | read by | until | contract |\n|" + " --- |" * 8


def page() -> Iterator[str]:
    from relax_mlir.dialects.core.ir_attributes import TABLE as ROWS

    yield HEAD
    comment: list[str] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        title, row = re.fullmatch(r"# ---- (.*) ----", line), re.match(r'(?:[A-Z_]+ = _row\(|    )"([a-z_.]+)"', line)
        if line.startswith("#: "):
            comment.append(line[3:])
        elif title and title[1] != "verification":
            yield f"\n## {title[1][0].upper()}{title[1][1:]}\n{COLUMNS}"
        elif row and row[1] in ROWS:
            yield _line(ROWS[row[1]], " ".join(comment))
            comment = []
        elif not line.endswith("= _row("):
            comment = []


def _line(row: IRAttribute, doc: str) -> str:
    writer, reader = row.flow.split(" -> ")
    until = f"`{row.until}`" if row.until else ""
    cells = [f"`{row.name}`", row.on.text, row.kind.text, doc, writer, reader, until, row.contract or "internal"]
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def pages() -> dict[Path, str]:
    return {ROOT / "docs" / "attributes.md": "\n".join(page()) + "\n"}


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
