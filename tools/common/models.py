# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as tools read them: by what their files' names end with, modules by what is in them. Imports what reads them
when one is read."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...frontends.module import Module

#: What the names of files end with.
ONNX_SUFFIXES, TORCH_SUFFIXES, TFLITE_SUFFIXES = (".onnx", ".pb"), (".pt2",), (".tflite",)
MODEL_SUFFIXES, MODULE_SUFFIXES = (*ONNX_SUFFIXES, *TORCH_SUFFIXES, *TFLITE_SUFFIXES), (".mlir", ".mlirbc", ".py")
#: What a TFLite file has at its fifth byte, whatever it is called.
_TFLITE = b"TFL3"
#: What StableHLO's operations look like in a file of text, and who has written a portable artifact.
_STABLEHLO, _PORTABLE = re.compile(rb'^\s*(?:%[\w:, #]+ = )?"?(?:stablehlo|chlo)\.\w', re.MULTILINE), b"StableHLO_v"
_LONGEST_HEAD = 64


def is_stablehlo(path: str) -> bool:
    """Whether a module is one of StableHLO, which is imported: names of files do not tell it."""
    if not path.lower().endswith((".mlir", ".mlirbc")):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(_LONGEST_HEAD)
            if head.startswith(b"ML\xefR"):
                return _PORTABLE in head
            return _STABLEHLO.search(head + file.read()) is not None
    except OSError:
        return False  # who reads it says so


def is_tflite(path: str) -> bool:
    """Whether a file is a TFLite model, by its name or by what is in it."""
    if path.lower().endswith(TFLITE_SUFFIXES):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(8)[4:] == _TFLITE
    except OSError:
        return False  # who reads it says so


def read_model(path: str) -> Module:
    """A model of ONNX, torch, TFLite or StableHLO, else a module of text, bytecode or TVMScript. Raises RelaxError."""
    suffix = os.path.splitext(path)[1].lower()
    if is_tflite(path):
        from ...frontends.tflite.from_tflite import from_tflite

        return from_tflite(path)
    if suffix in ONNX_SUFFIXES:
        from ...frontends.onnx.from_onnx import from_onnx

        return from_onnx(path)
    if suffix in TORCH_SUFFIXES:
        from ...frontends.torch.from_torch import from_torch

        return from_torch(path)
    if is_stablehlo(path):
        from ...frontends.stablehlo.from_stablehlo import from_stablehlo

        return from_stablehlo(path)
    from ...frontends.module import Module

    return Module.from_file(path).copy()
