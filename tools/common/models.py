# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as tools read them: by what their files' names end with. Imports what reads them when one is read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...frontends.module import Module

#: What the names of files end with.
ONNX_SUFFIXES, TORCH_SUFFIXES, MODULE_SUFFIXES = (".onnx", ".pb"), (".pt2",), (".mlir", ".mlirbc", ".py")


def read_model(path: str) -> Module:
    """A model of ONNX or torch, else a module of text, bytecode or TVMScript. Raises RelaxError."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in ONNX_SUFFIXES:
        from ...frontends.onnx.from_onnx import from_onnx

        return from_onnx(path)
    if suffix in TORCH_SUFFIXES:
        from ...frontends.torch.from_torch import from_torch

        return from_torch(path)
    from ...frontends.module import Module

    return Module.from_file(path).copy()
