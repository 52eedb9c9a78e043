# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import of torchaudio where its native library does not load, such as the library for GPUs beside a torch for CPUs.

The models need no native library: without one, torchaudio is imported as if its wheel had none.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

_EXTENSION = "torchaudio._extension"


def declare() -> None:
    """Make `import torchaudio` work, and the import of transformers, which imports torchaudio where it is installed."""
    try:
        importlib.import_module("torchaudio")
    except ModuleNotFoundError:
        return
    except OSError:
        for name in [each for each in sys.modules if each.partition(".")[0] == "torchaudio"]:
            del sys.modules[name]
        sys.modules[_EXTENSION] = _without_library()
        importlib.import_module("torchaudio")


def _without_library() -> types.ModuleType:
    found: Any = types.ModuleType(_EXTENSION)
    found._IS_TORCHAUDIO_EXT_AVAILABLE = found._IS_ALIGN_AVAILABLE = False
    found._load_lib = lambda name: False
    found.fail_if_no_align = lambda function: function
    return found
