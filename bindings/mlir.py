# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's Python bindings, independent of the providing wheel.

Other modules use `from ..bindings.mlir import ir, passmanager, rewrite` and `dialect_module("func")`.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from ..support.callbacks import callback as _callback
from ..support.callbacks import enters
from ..support.importing import hidden_module
from .wheel import find_root

if TYPE_CHECKING:
    from .ir import Attribute, Context, Module, OperationBase, Type

X = TypeVar("X")


def _import_without_numpy(name: str) -> ModuleType:
    """Import the bindings' `ir` without NumPy, which is half of the start-up time and serves four attribute builders
    only.

    `_register_elements_builders` registers the same builders with a deferred import.
    """
    with hidden_module("numpy"):
        return importlib.import_module(name)


def _register_elements_builders() -> None:
    def register(name: str, numpy_dtype: str, element_type: str) -> None:
        def build(values: object, context: Context) -> Attribute:
            import numpy

            array = numpy.asarray(values, dtype=numpy_dtype)
            return ir.DenseElementsAttr.get(array, type=ir.Type.parse(element_type, context), context=context)

        if not ir.AttrBuilder.contains(name):
            ir.AttrBuilder.insert(name, build)

    register("F64ElementsAttr", "float64", "f64")
    register("I32ElementsAttr", "int32", "i32")
    register("I64ElementsAttr", "int64", "i64")
    register("IndexElementsAttr", "int64", "index")


def _register_location_casters() -> None:
    """Register casters for locations.

    A location can be an attribute (`origin = loc("x")`), which the bindings fail to return.
    """
    for cls in (ir.CallSiteLoc, ir.FileLineColLoc, ir.FusedLoc, ir.NameLoc, ir.UnknownLoc):

        def cast(value: object, cls: type = cls) -> object:
            return cls(value) if isinstance(value, ir.Location) else value

        register_type_caster(cls.static_typeid, cast)


def _raise_outside() -> None:
    """Wrap functions that call Python back, so that callbacks' exceptions do not pass through MLIR's frames."""
    printed = (ir._OperationBase, ir.OpView, ir.Value, ir.OpResult, ir.BlockArgument, ir.Block, ir.Module)
    for cls in printed:
        cls.__str__ = enters(cls.__str__)
    for name in ("get_asm", "print", "verify", "write_bytecode"):
        setattr(ir._OperationBase, name, enters(getattr(ir._OperationBase, name)))
    for cls, name in ((ir.Module, "parse"), (ir.Module, "parseFile"), (ir.Operation, "parse")):
        setattr(cls, name, staticmethod(enters(getattr(cls, name))))
    ir.OpView.parse = classmethod(enters(ir.OpView.__dict__["parse"].__func__))
    passmanager.PassManager.run = enters(passmanager.PassManager.run)
    entered_walk = enters(mlir_walk)

    @functools.wraps(entered_walk)
    def walk(operation: OperationBase, callback: Callable[..., object], *arguments: object, **options: object) -> None:
        entered_walk(operation, guarded(callback), *arguments, **options)

    guarded = _callback(ir.WalkResult.INTERRUPT)
    ir._OperationBase.walk = walk


ROOT = find_root()
ir: Any = _import_without_numpy(f"{ROOT}.ir")
#: Size of a dynamic dimension in a type's shape.
DYNAMIC: int = ir.ShapedType.get_dynamic_size()
_register_elements_builders()
passmanager: Any = importlib.import_module(f"{ROOT}.passmanager")
rewrite: Any = importlib.import_module(f"{ROOT}.rewrite")
#: The bindings' own walk, for callbacks that never raise and callers that have entered MLIR.
mlir_walk: Any = ir._OperationBase.walk
_raise_outside()
_core: Any = importlib.import_module(f"{ROOT}._mlir_libs._mlir")
_core.globals.dialect_search_modules = [f"{__package__}.dialect_classes", *_core.globals.dialect_search_modules]
_irdl: Any = importlib.import_module(f"{ROOT}._mlir_libs._mlirDialectsIRDL")


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
    _irdl.load_dialects(module)


def register_type_caster(typeid: object, cast: Callable[[object], object]) -> None:
    """Make the bindings return `cast(x)` for types or attributes of this id. Ids differ between contexts."""
    _core.register_type_caster(typeid, replace=True)(cast)


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
    _core.globals._register_dialect_impl(name, dialect_class, replace=True)
    for cls in op_classes:
        _core.register_operation(dialect_class, replace=True)(cls)
        setattr(module, cls.__name__, cls)


_register_location_casters()
