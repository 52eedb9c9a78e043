# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of `py` of the pages on jax, in a process of its own for each page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["docs/jax.md", "docs/tutorials/jax_function.md"])
def test_a_page_runs(page: str, tmp_path: Path) -> None:
    blocks = _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(blocks) > 2
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
