# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of shapes as values, scalars, and type checks."""

from __future__ import annotations

from .....bindings.navigation import callee_of
from .....dialects.core.infos import ScalarInfo, ShapeInfo, TensorInfo, is_bool
from ..export_call import ExportedOp
from ..export_values import Held, ShapeValue
from ..registry import export_rows, export_same, exports
from .elementwise import of_bits


@exports("relax.shape_of")
def shape_of(op: ExportedOp) -> Held:
    if op.info("input").shape is None:
        return ShapeValue(None, op.node("Shape", op["input"]))
    return ShapeValue(op.parts("input"))


@exports("relax.tensor_to_shape")
def tensor_to_shape(op: ExportedOp) -> Held:
    tensor, info = op["input"], op.results[0]
    if not isinstance(info, ShapeInfo) or info.dims is None:
        return ShapeValue(None, tensor)
    parts = [op.node("Slice", tensor, op.ints(place), op.ints(place + 1)) for place in range(len(info.dims))]
    return ShapeValue(parts, tensor)


@exports("relax.shape_to_tensor")
def shape_to_tensor(op: ExportedOp) -> Held:
    held = op.held("input")
    assert isinstance(held, ShapeValue)
    return op.shape_tensor(held)


export_same({"size": "Size"})
export_rows(
    {
        # The symbols in the type become known. Nothing is checked.
        "match_cast": lambda op: op.held("value"),
        "scalar_to_tensor": lambda op: op.operands[0],
    }
)


# ---- scalars, which are 0-D tensors ----


@exports("tensor.extract")
def extract(op: ExportedOp) -> Held:
    tensor, *indices = op.operands
    if not indices:
        return tensor
    places = [op.graph.unsqueeze(index, [0]) for index in indices]
    return op.node("GatherND", tensor, op.node("Concat", *places, axis=0))


@exports("tensor.from_elements")
def from_elements(op: ExportedOp) -> Held:
    columns = [op.graph.unsqueeze(operand, [0]) for operand in op.operands]
    shape = [size for size in op.result_shape() if isinstance(size, int)]
    return op.reshape(op.node("Concat", *columns, axis=0), shape)


export_rows(
    {
        "cast": lambda op: op.operands[0],
        "dim": lambda op: op.node("Gather", op.node("Shape", op.operands[0]), op.operands[1]),
    },
    "tensor",
)
export_same(
    {
        "addi": "Add", "addf": "Add", "subi": "Sub", "subf": "Sub", "muli": "Mul", "mulf": "Mul", "divsi": "Div",
        "divf": "Div", "maxsi": "Max", "minsi": "Min", "select": "Where",
    },
    "arith",
)  # fmt: skip
export_rows({"andi": of_bits("And"), "ori": of_bits("Or"), "xori": of_bits("Xor")}, "arith")
_CASTS = ("index_cast", "extui", "extsi", "trunci", "sitofp", "fptosi", "extf", "truncf")


@exports([f"arith.{name}" for name in _CASTS])
def cast(op: ExportedOp) -> Held:
    """Export a cast. Booleans are 0 and 1, except for extsi, which gives -1 for true."""
    (operand,), info = op.operands, op.results[0]
    assert isinstance(info, (ScalarInfo, TensorInfo))
    if is_bool(operand.dtype) and op.name == "arith.extsi":
        operand = op.node("Neg", op.cast(operand, "i64"))
    if is_bool(info.dtype) and op.name == "arith.trunci":
        operand = op.node("BitwiseAnd", operand, op.number(1, operand.dtype))
    return op.cast(operand, "i64" if info.dtype == "index" else info.dtype)


_PREDICATES: list[tuple[str, bool]] = [
    ("Equal", False), ("Equal", True), ("Less", False), ("LessOrEqual", False), ("Greater", False),
    ("GreaterOrEqual", False),
]  # fmt: skip


@exports("arith.cmpi")
def compare(op: ExportedOp) -> Held:
    if (predicate := op.operation.attributes["predicate"].value) >= len(_PREDICATES):
        raise op.fail("ONNX has no unsigned comparison of signed integers", "predicate")
    operator, is_inverse = _PREDICATES[predicate]
    operands = [op.cast(operand, "i32") if is_bool(operand.dtype) else operand for operand in op.operands]
    found = op.node(operator, *operands)
    return op.node("Not", found) if is_inverse else found


@exports("func.call")
def call(op: ExportedOp) -> list[Held]:
    arguments = [op.exporter.held(value, op.graph) for value in op.operation.operands]
    return op.exporter.call(callee_of(op.operation), arguments, op.graph, op.operation)
