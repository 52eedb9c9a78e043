# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints about model readers, for callers who pass a model where a module is expected."""

from __future__ import annotations

import os

from ..frontends.front_end import find_front_end

_PROGRAM = ".rxa"
#: Readers by package and class name.
_BY_CLASS = {
    ("torch", "Module"): "rx.from_torch(model, args)",
    ("torch", "ExportedProgram"): "rx.from_torch(program)",
    ("onnx", "ModelProto"): "rx.from_onnx(model)",
    ("jax", "Exported"): "rx.from_stablehlo(exported)",
    ("tvm", "IRModule"): "rx.from_tvm(module)",
}


def reader_hints(model: object) -> list[str]:
    """Return a note that names the reader for a model, or no note for other objects."""
    if isinstance(model, (str, os.PathLike)):
        reader = _reader_of_file(str(model))
    else:
        classes = ((each.__module__.partition(".")[0], each.__name__) for each in type(model).__mro__)
        reader = next((_BY_CLASS[names] for names in classes if names in _BY_CLASS), "")
    return [f"{reader} reads it"] if reader else []


def _reader_of_file(path: str) -> str:
    if path.lower().endswith(_PROGRAM):
        return "rx.runtime.load(path)"
    front_end = find_front_end(path)
    return front_end.hint if front_end is not None else ""
