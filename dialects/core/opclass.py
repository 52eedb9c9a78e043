# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python classes of operations (MLIR's OpViews), made from definitions.

`op.data` is the operand's value (None when absent, a list when variadic), `op.strides` the attribute as a Python
value with its default filled in. A name that every operation has already (`operands`) gets an underscore.
"""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from .attributes import AttrKind
from .opdef import OpDef


def op_class(definition: OpDef) -> type:
    """`nn.conv2d` -> a class NnConv2dOp."""
    members: dict[str, Any] = {
        "OPERATION_NAME": definition.full_name,
        "_ODS_REGIONS": (0, True),
        "_ODS_OPERAND_SEGMENTS": None,
        "_ODS_RESULT_SEGMENTS": None,
        "definition": definition,
        "__doc__": definition.doc,
    }
    for index, operand in enumerate(definition.operands):
        members[_member_name(operand.name)] = _operand_property(definition, index, operand.name)
    for name, kind in definition.attrs.items():
        members[_member_name(name)] = _attribute_property(name, kind)
    return type(class_name(definition.name), (ir.OpView,), members)


def class_name(op_name: str) -> str:
    return "".join(part.capitalize() for part in op_name.replace(".", "_").split("_")) + "Op"


def _member_name(name: str) -> str:
    return f"{name}_" if hasattr(ir.OpView, name) else name


def _operand_property(definition: OpDef, index: int, name: str) -> property:
    variable = definition.segmented or any(operand.arity != "single" for operand in definition.operands)
    if not variable:
        return property(lambda self: self.operation.operands[index])

    def read(self: Any) -> Any:
        sizes = list(self.operation.attributes["operandSegmentSizes"]) if definition.segmented else None
        value = definition.segment(list(self.operation.operands), sizes)[name]
        return list(value) if isinstance(value, tuple) else value

    return property(read)


def _attribute_property(name: str, kind: AttrKind) -> property:
    def read(self: Any) -> Any:
        attributes = self.operation.attributes
        return kind.decode(attributes[name]) if name in attributes else kind.default

    return property(read)
