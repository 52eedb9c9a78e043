# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TFLite's schema: the classes of the extra `tflite`, names of operators and types, the fields of a table."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import NamedTuple

from ...support.errors import ModelError

#: Element types as relax has them, by TFLite's names. Integers of 4 bits are held in bytes.
DTYPES = {
    "FLOAT16": "f16", "FLOAT32": "f32", "FLOAT64": "f64", "BFLOAT16": "bf16", "BOOL": "i1", "INT4": "i8",
    **{f"{sign}INT{bits}": f"{sign.lower()}i{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
}  # fmt: skip

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def schema() -> ModuleType:
    """The package with the schema's classes."""
    try:
        import tflite
    except ImportError:
        raise ModelError("reading TFLite models needs the package tflite: pip install 'relax-mlir[tflite]'") from None
    found: ModuleType = tflite
    return found


@cache
def names_in(enumeration: str) -> dict[int, str]:
    """What the schema calls the numbers of an enumeration."""
    found = vars(getattr(schema(), enumeration))
    return {number: name for name, number in found.items() if not name.startswith("_")}


class Field(NamedTuple):
    """A field of a table: what converters call it, what the schema's class does, and whether it is a vector."""

    name: str
    accessor: str
    is_vector: bool


@cache
def fields_of(table: str) -> tuple[Field, ...]:
    """Those of a table of options."""
    members = vars(getattr(schema(), table))
    return tuple(
        Field(_WORD.sub("_", name).lower(), name, f"{name}AsNumpy" in members)
        for name in members
        if not name.startswith(("_", "GetRootAs"))
        and not name.endswith(("BufferHasIdentifier", "AsNumpy", "Length", "IsNone"))
        and name != "Init"
    )
