# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python blocks of docs/onnx.md, run in their order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from own_rules import without_new_gradients

PATH = Path(__file__).resolve().parents[4] / "docs" / "onnx.md"
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_python_runs() -> None:
    text = PATH.read_text()
    given: dict[str, Any] = {"__name__": "docs"}
    blocks = list(FENCE.finditer(text))
    assert len(blocks) > 3
    with without_new_gradients():
        for block in blocks:
            line = text.count("\n", 0, block.start()) + 1
            exec(compile("\n" * line + block[1], str(PATH), "exec"), given)
