# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import that puts the emulator in the driver's place for the rest of the process.

relax-check cuda --load-plugin=test/gpu_emulator/in_place.py
"""

from __future__ import annotations

from contextlib import ExitStack

from relax_mlir.runtime.cuda.driver import use_library

from .lasting import Lasting

_kept = ExitStack()
_kept.enter_context(use_library(Lasting()))
