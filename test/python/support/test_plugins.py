# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plug-ins in this process: their names, and a single import of each."""

from __future__ import annotations

from pathlib import Path

from relax_mlir.support.plugins import load_plugin


def test_the_first_time_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "loaded_once.py"
    path.write_text("")
    assert [load_plugin(str(path)), load_plugin(str(path)), load_plugin("loaded_once")] == [True, False, False]
