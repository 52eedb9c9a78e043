# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modules of MLIR's wheel, with the changes that this project makes to their classes on import."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..support.callbacks import callback as _callback
from ..support.callbacks import enters
from ..support.importing import hidden_module
from .wheel import find_root


def _import_without_numpy(name: str) -> ModuleType:
    """Import the bindings' `ir` without NumPy, which is half of the start-up time and serves four attribute builders
    only.

    `_register_elements_builders` registers the same builders with a deferred import.
    """
    with hidden_module("numpy"):
        return importlib.import_module(name)


def _register_elements_builders() -> None:
    def register(name: str, numpy_dtype: str, element_type: str) -> None:
        def build(values: object, context: Any) -> object:
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
    def walk(operation: object, callback: Callable[..., object], *arguments: object, **options: object) -> None:
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
core: Any = importlib.import_module(f"{ROOT}._mlir_libs._mlir")
core.globals.dialect_search_modules = [f"{__package__}.dialect_classes", *core.globals.dialect_search_modules]
irdl: Any = importlib.import_module(f"{ROOT}._mlir_libs._mlirDialectsIRDL")


def register_type_caster(typeid: object, cast: Callable[[object], object]) -> None:
    """Make the bindings return `cast(x)` for types or attributes of this id. Ids differ between contexts."""
    core.register_type_caster(typeid, replace=True)(cast)


_register_location_casters()
