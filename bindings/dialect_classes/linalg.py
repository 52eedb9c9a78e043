# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classes of linalg's operations without upstream's OpDSL, which imports numpy and yaml."""

from __future__ import annotations

import importlib

from ..mlir import ROOT

importlib.import_module(f"{ROOT}.dialects._linalg_ops_gen")
