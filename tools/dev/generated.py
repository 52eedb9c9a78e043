# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared part of the generators of files: write the files, or with --check report stale ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cell(text: str) -> str:
    """Return the text for a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


def main(doc: str | None, files: Callable[[], dict[Path, str]], how: str = "make generate") -> int:
    """Write or check the files. `how` is the command that updates them."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if a file is not current")
    check_only = parser.parse_args().check
    stale = {path: text for path, text in files().items() if not path.is_file() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        if check_only:
            print(f"{path.relative_to(ROOT)} is not current: run {how}", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale and check_only else 0
