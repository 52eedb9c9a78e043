# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as tools read them: by what their files' names end with, modules and TFLite by what is in them. Imports the
front end that reads one when one is read.
"""

from __future__ import annotations

import importlib
import os
import re
from types import ModuleType
from typing import TYPE_CHECKING

from ...support.errors import OptionError
from .command_line import Option

if TYPE_CHECKING:
    from ...frontends.module import Module

#: What a file holds: each is a folder of frontends, whose function is called `from_` and that; but modules need none.
ONNX, TORCH, TFLITE, STABLEHLO, TOSA, MODULE = "onnx", "torch", "tflite", "stablehlo", "tosa", "module"
#: What the names of files end with.
_SUFFIXES = {ONNX: (".onnx", ".pb"), TORCH: (".pt2",), TFLITE: (".tflite",), MODULE: (".mlir", ".mlirbc", ".py")}
MODEL_SUFFIXES = (*_SUFFIXES[ONNX], *_SUFFIXES[TORCH], *_SUFFIXES[TFLITE])
MODULE_SUFFIXES = _SUFFIXES[MODULE]
#: What a TFLite file has at its fifth byte, and a module that is no text at its first.
_TFLITE, _BYTECODE = b"TFL3", b"ML\xefR"
#: The dialects of modules that are imported, and what their operations look like in a file of text.
_DIALECTS = {STABLEHLO: (b"stablehlo", b"chlo", b"vhlo"), TOSA: (b"tosa",)}
_IN_TEXT = {
    kind: re.compile(rb'^\s*(?:%[\w:, #]+ = )?"?(?:' + b"|".join(names) + rb")\.\w", re.MULTILINE)
    for kind, names in _DIALECTS.items()
}


def kind_of(path: str) -> str:
    """What a file holds; standard input, `-`, holds a module. Raises OptionError where nothing tells."""
    if path == "-":
        return MODULE
    suffix = os.path.splitext(path)[1].lower()
    kind = next((kind for kind, suffixes in _SUFFIXES.items() if suffix in suffixes), "")
    if kind == MODULE and suffix != ".py":
        return _kind_of_module(path)
    if kind:
        return kind
    if _read(path, 8)[4:] == _TFLITE:
        return TFLITE
    known = ", ".join((*MODEL_SUFFIXES, *MODULE_SUFFIXES))
    raise OptionError(f"cannot tell what '{path}' is by its name: expected one that ends with {known}")


def _kind_of_module(path: str) -> str:
    data = _read(path)
    if not data.startswith(_BYTECODE):
        return next((kind for kind, text in _IN_TEXT.items() if text.search(data)), MODULE)
    from ...frontends.core.bytecode import dialects_in, sections_of

    try:
        names = dialects_in(data, sections_of(data))
    except (IndexError, KeyError, ValueError):
        return MODULE  # who reads it says what is wrong
    return next((kind for kind, known in _DIALECTS.items() if not set(known).isdisjoint(names)), MODULE)


def _read(path: str, count: int = -1) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(count)
    except OSError:
        return b""  # who reads it says so


def trust_option(group: str) -> Option:
    """Return --trust of a tool that reads models."""
    return Option(
        "flag",
        group,
        "let a .pt2 file run code of its author: torch.export.load reads it, with pickle; without this option such "
        "files are read as data, and refused where that cannot be",
        default=False,
    )


def front_end(kind: str) -> ModuleType:
    """The module of a front end, which has `from_<kind>(path)` and `problems_of(path)`."""
    return importlib.import_module(f"...frontends.{kind}.from_{kind}", __package__)


def trusted(kind: str, trust: bool) -> dict[str, bool]:
    """Return the options of a front end that say whether a file may run code. Raise OptionError for other kinds."""
    if trust and kind != TORCH:
        raise OptionError("option --trust is for .pt2 files: reading other models runs no code of their authors")
    return {"trust": True} if trust else {}


def read_model(path: str, *, trust: bool = False) -> Module:
    """Return a model of any front end, or a module of text, bytecode or TVMScript.

    `trust` lets a .pt2 file run code of its author. Raise RelaxError.
    """
    kind = kind_of(path)
    options = trusted(kind, trust)
    if kind != MODULE:
        module: Module = getattr(front_end(kind), f"from_{kind}")(path, **options)
        return module
    from ...frontends.module import Module

    return Module.from_file(path).copy()
