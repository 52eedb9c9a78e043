# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TFLite's schema: the classes of the package `tflite`, names of operators and types, the fields of a table."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import NamedTuple

from relax_mlir import ModelError

#: Element types of relax by TFLite's names. Integers of 4 bits are stored in bytes.
DTYPES = {
    "FLOAT16": "f16", "FLOAT32": "f32", "FLOAT64": "f64", "BFLOAT16": "bf16", "BOOL": "i1", "INT4": "i8",
    **{f"{sign}INT{bits}": f"{sign.lower()}i{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
}  # fmt: skip

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def schema() -> ModuleType:
    """Return the package with the schema's classes. Raises RelaxError if the package is not installed."""
    try:
        import tflite
    except ImportError:
        raise ModelError("reading TFLite models needs the package tflite: pip install 'relax-mlir[tflite]'") from None
    module_type: ModuleType = tflite
    return module_type


@cache
def names_in(enumeration: str) -> dict[int, str]:
    """Return the schema's names for the numbers of an enumeration."""
    found = vars(getattr(schema(), enumeration))
    return {number: name for name, number in found.items() if not name.startswith("_")}


class Field(NamedTuple):
    """Field of a table: its name for converters, its accessor in the schema's class, and a flag for vectors."""

    name: str
    accessor: str
    is_vector: bool


@cache
def fields_of(table: str) -> tuple[Field, ...]:
    """Return the fields of a table of options."""
    members = vars(getattr(schema(), table))
    return tuple(
        Field(_WORD.sub("_", name).lower(), name, f"{name}AsNumpy" in members)
        for name in members
        if not name.startswith(("_", "GetRootAs"))
        and not name.endswith(("BufferHasIdentifier", "AsNumpy", "Length", "IsNone"))
        and name != "Init"
    )
