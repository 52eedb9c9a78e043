# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's Python bindings, independent of the providing wheel.

Other modules use `from ..bindings.mlir import ir, passmanager, rewrite` and `dialect_module("func")`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from .wheel_modules import DYNAMIC as DYNAMIC
from .wheel_modules import ROOT as ROOT
from .wheel_modules import core, irdl
from .wheel_modules import ir as ir
from .wheel_modules import mlir_walk as mlir_walk
from .wheel_modules import passmanager as passmanager
from .wheel_modules import register_type_caster as register_type_caster
from .wheel_modules import rewrite as rewrite

if TYPE_CHECKING:
    from .ir import Attribute, Context, Module, OperationBase, Type

X = TypeVar("X")


def parse_type(text: str, context: Context) -> Type:
    """Parse a type. Raise ValueError for invalid text. MLIR's parser crashes for an empty text."""
    return _parse(ir.Type.parse, text, context)


def parse_attribute(text: str, context: Context) -> Attribute:
    """Parse an attribute. Raise ValueError for invalid text."""
    return _parse(ir.Attribute.parse, text, context)


def _parse(parse: Callable[[str, Context], X], text: str, context: Context) -> X:
    if not text.strip() or "\0" in text or not is_encodable(text):
        raise ValueError(f"{text!r} spells nothing")
    try:
        return parse(text, context)
    except ir.MLIRError:
        raise ValueError(f"cannot parse {text!r}") from None


def is_encodable(text: str) -> bool:
    """Check whether the bindings accept a string. Lone surrogates have no UTF-8 encoding."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_LISTS = (list, ir.OpResultList, ir.OpOperandList)


def is_several(made: object) -> TypeGuard[Sequence[Any]]:
    """Check whether an object is a list of values. A named tuple, such as an info, is a single value."""
    return isinstance(made, _LISTS) or type(made) is tuple


def as_list(made: object) -> list[Any]:
    """Return a list of one or several values."""
    return list(made) if is_several(made) else [made]


def string_value(attribute: Attribute) -> str:
    """Return the text of a string attribute. Raise ValueError if it is not UTF-8, which MLIR allows."""
    data: bytes = attribute.value_bytes
    return data.decode()


def i64_attribute(number: int) -> Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def string_array(texts: Iterable[str]) -> Attribute:
    return ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])


# ---- strings from MLIR: byte strings that need not be UTF-8 ----

NOT_UTF8 = "<not UTF-8>"


def is_not_utf8(error: Exception) -> bool:
    """Check whether the bindings failed to create a Python string, which has several forms."""
    # An exception in a callback of the bindings is reported as text of another exception.
    message = str(error)
    return isinstance(error, UnicodeDecodeError) or "str_from_cstr" in message or "UnicodeDecodeError" in message


def readable(read: Callable[[], str]) -> str:
    """Return the string that `read` gets from the bindings, or a placeholder if it is not UTF-8."""
    try:
        return read()
    except (RuntimeError, UnicodeDecodeError) as error:
        if not is_not_utf8(error):
            raise
        return NOT_UTF8


def print_asm(operation: OperationBase, **options: object) -> str:
    """Print an operation.

    Bytes that are not UTF-8 become surrogates, which `encode(errors="surrogateescape")` restores.
    """
    return operation.get_asm(binary=True, **options).decode("utf-8", "surrogateescape")


def dialect_module(name: str) -> ModuleType:
    """Import the bindings' Python module of an upstream dialect: `dialect_module("func").FuncOp`."""
    return importlib.import_module(f"{ROOT}.dialects.{name}")


def wheel_folder() -> Path:
    """Return the folder of the bindings, which contains the wheel's opt tool and shared library."""
    return Path(importlib.import_module(ROOT).__path__[0])


def load_irdl(module: Module) -> None:
    """Register the dialects of an IRDL module in the module's context."""
    irdl.load_dialects(module)


def _own_dialect_module(name: str) -> ModuleType:
    """Return the Python module of a dialect, which is empty at first.

    Without a module at `<root>.dialects.<name>` the bindings retry a failing import for every returned operation (13
    µs each, and more with a long sys.path).
    """
    module_name = f"{ROOT}.dialects.{name}"
    empty = ModuleType(module_name, f"Operation classes of the {name} dialect.")
    return sys.modules.setdefault(module_name, empty)


def expect_dialect(name: str) -> None:
    """Prepare for operations of a dialect without Python classes in the bindings."""
    if not _has_module(f"{ROOT}.dialects.{name}"):
        _own_dialect_module(name)


def _has_module(name: str) -> bool:
    try:
        return name in sys.modules or find_spec(name) is not None
    except ValueError:  # a module without a spec: another thread has just created an empty one
        return True


def register_dialect_classes(name: str, dialect_class: type, op_classes: list[type]) -> None:
    """Register the Python classes of a dialect's operations."""
    module = _own_dialect_module(name)
    core.globals._register_dialect_impl(name, dialect_class, replace=True)
    for cls in op_classes:
        core.register_operation(dialect_class, replace=True)(cls)
        setattr(module, cls.__name__, cls)
