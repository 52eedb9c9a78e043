# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant tensors of graph functions as globals of the module. Equal constants share a global."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from ....bindings.ir import Attribute, Operation, Type
from ....bindings.mlir import i64_attribute, ir
from ....bindings.navigation import body_of, operations_in, operations_of, symbol_name
from ....bindings.rewriting import is_used
from ....dialects.core.codec import decode
from ....dialects.core.elements import SharedResources, retyped
from ....dialects.core.infos import TensorInfo
from ....dialects.core.ir_attributes import GLOBAL
from ....dialects.relax.known_constants import CONSTANTS
from ....emit import memrefs


def add_globals(module: Operation, functions: Iterable[Operation]) -> None:
    """Create a global for each distinct constant tensor, and store its name on the constants.

    Dead constants are erased: rules may have replaced them.
    """
    names = set(map(symbol_name, operations_of(body_of(module))))
    fresh = (name for number in count() if (name := f"constant_{number}") not in names)
    known: dict[Attribute, str] = {}
    resources = SharedResources()
    body = body_of(module)
    with module.context, module.location, ir.InsertionPoint.at_block_begin(body):
        inside = [op for function in functions for op in operations_in(function)]
        for op, info in [(op, info) for op in inside if (info := _constant_info(op)) is not None]:
            if not is_used(op):
                op.erase()
                continue
            if (value := resources.first(op.attributes["value"])) not in known:
                known[value] = next(fresh)
                _make_global(known[value], info, value)
            op.attributes[GLOBAL] = ir.StringAttr.get(known[value])


def _constant_info(op: Operation) -> TensorInfo | None:
    info = decode(op.results[0].type) if op.name in CONSTANTS else None
    return info if isinstance(info, TensorInfo) else None


def _make_global(name: str, info: TensorInfo, value: Attribute) -> None:
    type_ = memrefs.memref_type(info, value.context)
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "type": ir.TypeAttr.get(type_),
        "initial_value": _signless(value, type_),
        "constant": ir.UnitAttr.get(),
        "alignment": i64_attribute(memrefs.ALIGNMENT),
    }
    ir.Operation.create("memref.global", attributes=attributes)


def _signless(value: Attribute, type_: Type) -> Attribute:
    """Convert a constant to its signless memory type. The bytes are unchanged."""
    tensor = ir.RankedTensorType.get(type_.shape, type_.element_type)
    return value if value.type == tensor else retyped(value, tensor)
