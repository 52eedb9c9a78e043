# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that a start imports: a saved model needs neither the compiler nor readers of other formats."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import relax_mlir as rx
from tiny_models import tiny, write_gguf

_COMPILER = ("torch_mlir", "relax_mlir.passes", "gguf", "safetensors")


def imported(code: str, *names: str) -> list[str]:
    """Return the names, out of `names`, of the modules that a new process has after the code."""
    shown = f"import sys\n{code}\nprint(*(name for name in {names!r} if name in sys.modules))"
    return subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True).stdout.split()


def test_the_package_does_not_import_the_plug_in() -> None:
    assert imported("import relax_mlir as rx\ndir(rx)", "relax_mlir_llm") == []
    assert imported("import relax_mlir as rx\nrx.llm.load", "relax_mlir_llm", *_COMPILER, "tokenizers") == [
        "relax_mlir_llm"
    ]


def test_a_saved_model_does_not_import_the_compiler(tmp_path: Path) -> None:
    folder = tmp_path / "model.rxl"
    rx.llm.load(write_gguf(tiny("llama"), tmp_path / "tiny.gguf"), cache=False).save(folder)
    code = f"import relax_mlir as rx\nassert len(list(rx.llm.load({str(folder)!r}).generate('he', 4))) > 0"
    assert imported(code, "tokenizers", "jinja2", *_COMPILER) == ["tokenizers"]
