# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/attributes.md from the table of attributes and the comments in it."""

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
Frontends, passes and targets exchange facts as attributes. The verifier rejects attributes on other operations or of
other types, and unknown names that begin with `tir.`. After each pass behind *until*, no operation may have the
attribute, which the pass manager checks; without one, it stays. Attributes of the [codegen
contract](codegens/contract.md) have the version that introduced them; others are internal.
Attributes of operators are in [relax-operators.md](relax-operators.md) and [tir-operators.md](tir-operators.md).
"""
COLUMNS = "| attribute | on | type | description | written by | read by |\n|" + " --- |" * 6


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
    until = ", until " + ", ".join(f"`{name}`" for name in row.until.split(", ")) if row.until else ""
    contract = f" Contract {row.contract}." if row.contract else ""
    cells = [f"`{row.name}`", row.on.text, row.kind.text, doc + contract, writer, reader + until]
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def pages() -> dict[Path, str]:
    return {ROOT / "docs" / "attributes.md": "\n".join(page()) + "\n"}


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
