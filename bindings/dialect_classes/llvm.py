# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes of the LLVM dialect's types only: creating the operation classes takes longer than most programs run.

Code that needs the operation classes imports upstream's module. Operations returned afterwards have these classes.
"""

from __future__ import annotations

import importlib

from ..mlir import ROOT

importlib.import_module(f"{ROOT}._mlir_libs._mlirDialectsLLVM")
