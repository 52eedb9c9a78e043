# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models as tools read them, recognized by file names or contents.

The front end is imported when a model is read.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ...frontends.front_end import MODULE_SUFFIXES, find_front_end, front_end_named, unknown_file
from ...support.errors import OptionError
from .command_line import Option

if TYPE_CHECKING:
    from ...frontends.module import Module

#: Kinds of files: names of front ends that tools treat in a special way, and modules of relax.
ONNX, TORCH, STABLEHLO, TOSA, MODULE = "onnx", "torch", "stablehlo", "tosa", "module"
#: Kinds of files with MLIR or TVMScript.
MODULE_KINDS = (MODULE, STABLEHLO, TOSA)
#: First bytes of bytecode.
_BYTECODE = b"ML\xefR"
#: Dialects of imported modules, and patterns of their operations in text.
_DIALECTS = {STABLEHLO: (b"stablehlo", b"chlo", b"vhlo"), TOSA: (b"tosa",)}
_IN_TEXT = {
    kind: re.compile(rb'^\s*(?:%[\w:, #]+ = )?"?(?:' + b"|".join(names) + rb")\.\w", re.MULTILINE)
    for kind, names in _DIALECTS.items()
}


def kind_of(path: str) -> str:
    """Return the kind of a file. Standard input, `-`, is a module. Raise OptionError if the kind is unknown."""
    if path == "-":
        return MODULE
    if (suffix := os.path.splitext(path)[1].lower()) in MODULE_SUFFIXES:
        return MODULE if suffix == ".py" else _kind_of_module(path)
    if (front_end := find_front_end(path)) is None:
        raise unknown_file(path)
    return front_end.name


def is_model(path: str) -> bool:
    """Check whether a front end reads a file with this name."""
    return find_front_end(path) is not None


def _kind_of_module(path: str) -> str:
    data = _read(path)
    if not data.startswith(_BYTECODE):
        return next((kind for kind, text in _IN_TEXT.items() if text.search(data)), MODULE)
    from ...frontends.core.bytecode import dialects_in, sections_of

    try:
        names = dialects_in(data, sections_of(data))
    except (IndexError, KeyError, ValueError):
        return MODULE  # the reader reports the problem
    return next((kind for kind, known in _DIALECTS.items() if not set(known).isdisjoint(names)), MODULE)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # the reader reports the problem


def trust_option(group: str) -> Option:
    """Return --trust of a tool that reads models."""
    return Option(
        "flag",
        group,
        "let a .pt2 file run code of its author: torch.export.load reads it, with pickle; without this option such "
        "files are read as data, or refused if that is impossible",
        default=False,
    )


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
        return front_end_named(kind).read(path, **options)
    from ...frontends.module import Module

    return Module.from_file(path).copy()
