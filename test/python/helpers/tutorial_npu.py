# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Codegen `mynpu` of the tutorial of quantization: a NumPy chip with exact integers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).resolve().parents[3] / "docs/tutorials/quantize_for_my_accelerator.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def register_mynpu() -> dict[str, Any]:
    """Run the page's blocks that define and register the codegen. Return their names."""
    text = _PAGE.read_text(encoding="utf-8").partition("## 3.")[0]
    names: dict[str, Any] = {"__name__": "tutorial"}
    for block in _BLOCK.findall(text):
        exec(block, names)
    return names
