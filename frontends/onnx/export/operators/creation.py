# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of constants, and of tensors made from shapes and numbers."""

from __future__ import annotations

from .....dialects.core.infos import ScalarInfo, TensorInfo
from .....dialects.core.operands import operand_info
from .....dialects.core.symbols import SymExpr
from ..export_call import ExportedOp
from ..export_values import Part, Ref, ShapeValue
from ..registry import export_rows, exports


@exports(["arith.constant", "relax.constant"])
def constant(op: ExportedOp) -> Ref:
    value = op.operation.results[0]
    if isinstance(info := operand_info(value), ScalarInfo):
        if info.value is None or isinstance(info.value, SymExpr):
            raise op.fail(f"a constant of type {value.type}")
        return op.number(info.value, "i64" if info.dtype == "index" else info.dtype)
    if not isinstance(info, TensorInfo):
        raise op.fail(f"a constant of type {value.type}")
    return op.graph.outermost.constant(value, info, op.exporter.name_of(op.operation))


def _fill(op: ExportedOp, shape: ShapeValue | list[Part], value: Ref) -> Ref:
    value = op.cast(value, op.result().dtype)
    return op.node("Expand", value, op.shape_tensor(shape))


def _shape(op: ExportedOp) -> ShapeValue:
    shape = op.held("shape")
    assert isinstance(shape, ShapeValue)
    return shape


def _number(op: ExportedOp, number: int) -> Ref:
    return op.number(number, op.result().dtype)


export_rows(
    {
        "prim_value": lambda op: op.size(op.call.attributes["value"]),
        "shape_expr": lambda op: ShapeValue(op.dims),
        "full": lambda op: _fill(op, _shape(op), op["fill_value"]),
        "zeros": lambda op: _fill(op, _shape(op), _number(op, 0)),
        "ones": lambda op: _fill(op, _shape(op), _number(op, 1)),
        "full_like": lambda op: _fill(op, op.parts("x"), op["fill_value"]),
        "zeros_like": lambda op: _fill(op, op.parts("x"), _number(op, 0)),
        "ones_like": lambda op: _fill(op, op.parts("x"), _number(op, 1)),
        "tril": lambda op: op.node("Trilu", op["x"], op["k"], upper=0),
        "triu": lambda op: op.node("Trilu", op["x"], op["k"], upper=1),
        "eye": lambda op: _eye(op, [_size(op, "n"), _size(op, "m")]),
        "eye_like": lambda op: _eye(op, op.parts("x")),
    }
)


def _size(op: ExportedOp, name: str) -> Part:
    value = op.value(name)
    return value if isinstance(value, (int, SymExpr)) else op.reshape(op.cast(op[name], "i64"), [1])


def _eye(op: ExportedOp, parts: list[Part]) -> Ref:
    diagonal, dtype = op.value("k"), op.result().dtype
    if not isinstance(diagonal, int):
        raise op.fail("operand 'k' must be a number that is known before the model runs")
    zeros = op.node("Expand", op.number(0, "f32"), op.shape_tensor(parts))
    return op.cast(op.node("EyeLike", zeros, k=diagonal, result="f32"), dtype)


@exports("relax.arange")
def arange(op: ExportedOp) -> Ref:
    """Export arange in the operands' element type, so that the number of steps agrees."""
    dtype = op.result().dtype
    given = [op[name] for name in ("start", "end", "step")]
    floats = [each.dtype for each in given if each.dtype.startswith(("f", "b"))]
    counted = max(floats, key=lambda each: each == "f64") if floats else "i64"
    return op.cast(op.node("Range", *(op.cast(each, counted) for each in given)), dtype)


@exports("relax.one_hot")
def one_hot(op: ExportedOp) -> Ref:
    """Export one_hot as a comparison: a negative index matches nothing, but in ONNX's OneHot it counts from the end."""
    axis, rank = op.axis % (op.rank("indices") + 1), op.rank("indices") + 1
    indices = op.graph.unsqueeze(op.cast(op["indices"], "i64"), [axis])
    is_there = op.node("Equal", indices, op.along(op.const(range(op.depth), "i64"), axis, rank))
    return op.node("Where", is_there, op["on_value"], op["off_value"])


@exports("relax.hamming_window")
def hamming_window(op: ExportedOp) -> Ref:
    import numpy

    names = ("window_size", "periodic", "alpha", "beta")
    size, periodic, alpha, beta = (op.value(name) for name in names)
    if not isinstance(size, int) or None in (periodic, alpha, beta):
        raise op.fail("its operands must be numbers that are known before the model runs")
    span = max(size if periodic else size - 1, 1)
    return op.const(alpha - beta * numpy.cos(2 * numpy.pi * numpy.arange(size) / span), op.result().dtype)
