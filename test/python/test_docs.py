# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the pages in docs/ show runs, each page's blocks in their order in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The blocks of docs/onnx.md are run by test_onnx_docs.py; those of compiling.md need a model of the reader's own.
DOCS = ROOT / "docs"
PAGES = ["cuda.md", "extending.md", "passes.md", "patterns.md", "schedules.md", "script.md", "targets.md", "te.md"]
PAGES += ["training.md"]
PAGES += sorted(str(path.relative_to(DOCS)) for room in ("codegens", "tutorials") for path in DOCS.glob(f"{room}/*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = list(FENCE.finditer(text))
    assert blocks, f"docs/{page} shows no Python"
    # Lines keep their numbers: what fails is found in the page.
    lines = [""] * (text.count("\n") + 1)
    for block in blocks:
        start = text.count("\n", 0, block.start()) + 1
        for offset, line in enumerate(block[1].splitlines()):
            lines[start + offset] = line
    program = tmp_path / "page.py"
    program.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
