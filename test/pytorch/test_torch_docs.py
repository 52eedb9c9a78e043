# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of `py` with torch in pages, run in a process of its own for each page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Assumptions of blocks: importable packages, and the reader's model.
_MODEL = f"""
import sys
sys.path.append({str(Path(__file__).parent)!r})
import native_libraries
native_libraries.declare()
import torch
model, x = torch.nn.Linear(4, 3).eval(), torch.randn(2, 4)
"""


@pytest.mark.parametrize("page", ["README.md", "docs/torch.md", "docs/tutorials/hugging_face.md"])
def test_the_torch_of_a_page_runs(page: str, tmp_path: Path) -> None:
    blocks = _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks, f"{page} shows none"
    program = tmp_path / "page.py"
    program.write_text("\n".join([_MODEL, *blocks]), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_tutorial_of_quantization_runs(tmp_path: Path) -> None:
    """Run the blocks of `py` after the blocks of `python`, which define the codegen."""
    text = (ROOT / "docs/tutorials/quantize_for_my_accelerator.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:python|py)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert "import torch" in blocks[-1]
    program = tmp_path / "page.py"
    program.write_text("\n".join([_MODEL, *blocks]), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
