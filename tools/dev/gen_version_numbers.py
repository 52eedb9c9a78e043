# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the numbers of the release, the contract and the format of programs into the pages that state them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from generated import ROOT, main

DOCS = ROOT / "docs"


def files() -> dict[Path, str]:
    """Return the pages with the numbers in the code."""
    from relax_mlir.runtime.artifact import FORMAT_VERSION, READ_VERSIONS
    from relax_mlir.support.contract import CONTRACT_VERSION
    from relax_mlir.support.version import VERSION

    older = [str(each) for each in READ_VERSIONS if each != FORMAT_VERSION]
    listed = " and ".join(filter(None, [", ".join(older[:-1]), older[-1]]))
    now, read = str(FORMAT_VERSION), f"{FORMAT_VERSION}; of versions {listed}"
    numbers = {
        "codegens/contract.md": {
            r"(\| the release, `rx.__version__`, [\w.]+ \| )[^|]+( \|)": VERSION,
            r"(\| the contract, `rx.codegens.CONTRACT_VERSION`, [\w.]+ \| )[^|]+( \|)": CONTRACT_VERSION,
            r"(\| the format of `.rxa` files \| )\d+( \|)": now,
            r"(a release reads files of its own format version and of versions )[\d, and]*\d()": listed,
        },
        "versions.md": {
            r"(read by releases of the same format version, )\d+; of versions [\d, and]*\d( too)": read,
            r"(of the same macro number and not newer: )[\d.]+\d( \|)": CONTRACT_VERSION,
        },
        "runtime.md": {r"(u32 format version )\d+(,)": now},
    }
    return {DOCS / name: _written(DOCS / name, places) for name, places in numbers.items()}


def _written(page: Path, places: dict[str, str]) -> str:
    text = page.read_text("utf-8")
    for pattern, number in places.items():
        text, count = re.subn(pattern, rf"\g<1>{number}\g<2>", text)
        if count != 1:
            raise SystemExit(f"{page.relative_to(ROOT)} has {count} places like '{pattern}', expected one")
    return text


if __name__ == "__main__":
    sys.exit(main(__doc__, files))
