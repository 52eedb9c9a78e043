# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pages show of torch runs: their blocks of `py`, in a process of its own for each page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: What blocks take for granted: packages that can be imported, and the model that a reader has.
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
