# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The classes of the LLVM dialect's types alone: making those of its operations takes longer than most programs do.

Who wants these imports upstream's module; operations that are handed out from then on are of its classes.
"""

from __future__ import annotations

import importlib

from ..mlir import ROOT

importlib.import_module(f"{ROOT}._mlir_libs._mlirDialectsLLVM")
