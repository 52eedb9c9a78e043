# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of test files in lit tests: the file exists, or the text says that it is Apache TVM's."""

from __future__ import annotations

import re
from pathlib import Path

TEST = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"\btest_\w+\.py\b")


def test_files_that_are_named_are_there() -> None:
    here = {each.name for each in TEST.rglob("test_*.py")}
    missing: list[str] = []
    unsaid: list[str] = []
    for file in TEST.rglob("*.*"):
        if file.suffix in (".py", ".mlir") and not {TEST / "python", TEST / "pytorch"} & {*file.parents}:
            text = file.read_text(encoding="utf-8", errors="replace")
            names = [f"{file.name}: {name}" for name in NAMED.findall(text) if name not in here]
            (missing if "Apache TVM" in text else unsaid).extend(names)
    assert len(missing) > 20
    assert not unsaid, "say that these are Apache TVM's, or name others"
