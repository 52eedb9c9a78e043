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
ONNX_SUFFIXES, TORCH_SUFFIXES, MODULE_SUFFIXES = (".onnx", ".pb"), (".pt2",), (".mlir", ".mlirbc", ".py")
#: Modules that are imported, and the dialects that tell them.
STABLEHLO, TOSA = "stablehlo", "tosa"
_DIALECTS = {STABLEHLO: (b"stablehlo", b"chlo", b"vhlo"), TOSA: (b"tosa",)}
#: What their operations look like in a file of text.
_IN_TEXT = {
    kind: re.compile(rb'^\s*(?:%[\w:, #]+ = )?"?(?:' + b"|".join(names) + rb")\.\w", re.MULTILINE)
    for kind, names in _DIALECTS.items()
}
_BYTECODE = b"ML\xefR"


def imported_kind(path: str) -> str:
    """Whether a module is one of StableHLO or of TOSA, which is imported, by what is in the file; "" for others."""
    if not path.lower().endswith((".mlir", ".mlirbc")):
        return ""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return ""  # who reads it says so
    if not data.startswith(_BYTECODE):
        return next((kind for kind, text in _IN_TEXT.items() if text.search(data)), "")
    from ...frontends.core.bytecode import dialects_in, sections_of

    try:
        names = dialects_in(data, sections_of(data))
    except (IndexError, KeyError, ValueError):
        return ""
    return next((kind for kind, known in _DIALECTS.items() if not set(known).isdisjoint(names)), "")


def read_model(path: str) -> Module:
    """A model of ONNX, torch, StableHLO or TOSA, else a module of text, bytecode or TVMScript. Raises RelaxError."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in ONNX_SUFFIXES:
        from ...frontends.onnx.from_onnx import from_onnx

        return from_onnx(path)
    if suffix in TORCH_SUFFIXES:
        from ...frontends.torch.from_torch import from_torch

        return from_torch(path)
    kind = imported_kind(path)
    if kind == STABLEHLO:
        from ...frontends.stablehlo.from_stablehlo import from_stablehlo

        return from_stablehlo(path)
    if kind == TOSA:
        from ...frontends.tosa.from_tosa import from_tosa

        return from_tosa(path)
    from ...frontends.module import Module

    return Module.from_file(path).copy()
