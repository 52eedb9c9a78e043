# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor expressions, with the words of `tvm.te`: what each element of a tensor is, as a function of its place.

from relax_mlir import te

A = te.placeholder((128, 64), name="A")
B = te.placeholder((64, 256), name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((128, 256), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
rx.compile(te.create_prim_func([A, B, C]))["main"](a, b)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .bindings.context import load_dialects
from .bindings.ir import Value
from .bindings.mlir import ir
from .dialects.core.symbols import sym
from .dialects.core.symbols_expr import Size, SymExpr
from .dialects.relax import dialect as relax
from .dialects.tir import dialect as tir
from .dialects.tir.prim_func import make_prim_func
from .emit import numbers
from .emit.kernels import parameter_type
from .emit.numbers import Number
from .emit.reduction import highest, lowest
from .emit.te.emission import Emission, needs_memory, placeholders_of
from .emit.te.scalars import ReduceAxis, Reduction, operand
from .emit.te.tensors import Placeholder, Tensor, compute, extern, place_of_caller, placeholder, scan
from .emit.te.tracing import DIALECTS
from .module import Module
from .support.errors import RelaxError

__all__ = [
    "Tensor", "all", "any", "comm_reducer", "compute", "const", "create_prim_func", "extern", "if_then_else", "max",
    "max_value", "min", "min_value", "placeholder", "reduce_axis", "scan", "size_var", "sum", "var",
]  # fmt: skip


# ---- sizes and axes ----


def var(name: str = "n", dtype: str = "int64") -> SymExpr:
    """A size that is known at run time."""
    del dtype  # of sizes there is one
    return sym(name)


size_var = var


def reduce_axis(dom: tuple[int, Size], name: str = "rv") -> ReduceAxis:
    """Along which a reduction goes: from a number to before a size."""
    start, stop = dom
    if not isinstance(start, int):
        raise RelaxError(f"te.reduce_axis '{name}': it starts at a number, not at {start}")
    return ReduceAxis(start, stop - start, name)


# ---- scalars ----


def const(value: float | int, dtype: str = "int32") -> Number:
    """A number of a type."""
    from .dialects.core.infos import DTYPE_BY_NAME

    return numbers.constant(value, DTYPE_BY_NAME.get(dtype, dtype))


def if_then_else(cond: Value, true_value: Any, false_value: Any) -> Number:
    """One of both; what one needs that may not be there is a function of nothing: `lambda: A[B[i]]`."""
    if not callable(true_value) and not callable(false_value):
        return numbers.select(cond, operand(true_value), operand(false_value))
    from .emit.loops import when

    yes, no = (each if callable(each) else (lambda each=each: each) for each in (true_value, false_value))
    like = next(each for each in (true_value, false_value) if callable(each))()
    made = when(numbers.number(cond), lambda: like.beside(yes()), lambda: like.beside(no()), [like.type])
    found: Number = made[0]
    return found.of(like.dtype)


def all(*conditions: Number) -> Number:
    """Whether each holds."""
    return _joined(conditions, lambda x, y: x & y)


def any(*conditions: Number) -> Number:
    """Whether one holds."""
    return _joined(conditions, lambda x, y: x | y)


def _joined(conditions: Sequence[Number], join: Callable[[Number, Number], Number]) -> Number:
    first, *others = conditions
    for other in others:
        first = join(first, other)
    return first


def min_value(dtype: str) -> float | int:
    """What no number of a type is below."""
    from .dialects.core.infos import DTYPE_BY_NAME

    return lowest(DTYPE_BY_NAME.get(dtype, dtype))


def max_value(dtype: str) -> float | int:
    """What no number of a type is above."""
    from .dialects.core.infos import DTYPE_BY_NAME

    return highest(DTYPE_BY_NAME.get(dtype, dtype))


# ---- reductions ----


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A reduction by an operation whose operands' order does not matter: `fcombine(x, y)`, of several values tuples;
    `fidentity(dtype, ...)` is what it starts from."""

    def reduce(expr: Any, axis: Any, where: Any = None, init: Any = None) -> Reduction:
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        wrong = next((each for each in axes if not isinstance(each, ReduceAxis)), None)
        if wrong is not None or not axes:
            raise RelaxError(f"te.{name}: axis= is what te.reduce_axis gives, or several, not {wrong!r}")
        if init is not None:
            raise RelaxError(f"te.{name}: init= is not there: add it in another te.compute")
        several = isinstance(expr, (tuple, list))
        values = tuple(expr) if several else (expr,)
        starts = fidentity(*(value.dtype for value in values))
        starts = tuple(starts) if isinstance(starts, (tuple, list)) else (starts,)
        if where is not None:
            values = tuple(numbers.select(where, value, start) for value, start in zip(values, starts, strict=True))

        def combine(before: Sequence[Number], here: Sequence[Number]) -> Sequence[Number]:
            made = fcombine(tuple(before), tuple(here)) if several else fcombine(before[0], here[0])
            return list(made) if isinstance(made, (tuple, list)) else [made]

        return Reduction(combine, values, starts, axes)

    reduce.__name__ = name
    return reduce


sum = comm_reducer(lambda x, y: x + y, lambda dtype: 0, name="sum")
_max = comm_reducer(numbers.maximum, lowest, name="max")
_min = comm_reducer(numbers.minimum, highest, name="min")


def max(expr: Any, other: Any = None, *, axis: Any = None, where: Any = None) -> Any:
    """The largest along axes; of two numbers the larger one."""
    return _max(expr, axis, where) if axis is not None else _largest(numbers.maximum, expr, other, _max)


def min(expr: Any, other: Any = None, *, axis: Any = None, where: Any = None) -> Any:
    """The smallest along axes; of two numbers the smaller one."""
    return _min(expr, axis, where) if axis is not None else _largest(numbers.minimum, expr, other, _min)


def _largest(function: Callable[..., Any], expr: Any, other: Any, reduce: Callable[..., Any]) -> Any:
    is_axis = isinstance(other, (ReduceAxis, tuple, list))
    return reduce(expr, other) if is_axis else function(operand(expr), operand(other))


def __getattr__(name: str) -> Any:
    """The functions of the tir dialect: te.exp(x)."""
    if name.startswith("_") or name not in tir.ops:
        from .support.suggest import suggest

        raise AttributeError(f"te has no '{name}'{suggest(name, [*tir.ops, *__all__])}")

    def intrinsic(*operands: Any, **options: Any) -> Any:
        made = tir.ops[name](*map(operand, operands), **options)
        return Number(made) if isinstance(made, Value) and made.type is not None and _is_scalar(made) else made

    intrinsic.__name__ = name
    return intrinsic


def _is_scalar(value: Value) -> bool:
    return isinstance(value.type, (ir.FloatType, ir.IntegerType, ir.IndexType))


# ---- functions ----


def create_prim_func(ops: Sequence[Tensor], name: str = "") -> Module:
    """A module of one PrimFunc, whose parameters are these tensors: those that are given, then those that are computed;
    and a graph function `main` that calls it."""
    place = place_of_caller()
    wrong = next((each for each in ops if not isinstance(each, Tensor)), None)
    if wrong is not None:
        raise place.problem(f"te.create_prim_func: expected tensors of te, got {wrong!r}")
    inputs = [each for each in ops if isinstance(each, Placeholder)]
    outputs = [each for each in ops if not isinstance(each, Placeholder)]
    if not outputs:
        raise place.problem("te.create_prim_func: nothing is computed: name the tensors that are wanted, too")
    missing = [each for each in placeholders_of(outputs) if each not in inputs]
    if missing:
        raise place.problem(f"te.create_prim_func: '{missing[0].name}' is needed, and not among the tensors")
    module = Module()
    symbol = name or outputs[-1].name
    infos = [each.info for each in inputs]
    results = [Placeholder(each.shape, each.name, each.place, each.dtype).info for each in outputs]
    with module:
        load_dialects(module.context, ("func", *DIALECTS))
        on_memory = needs_memory(outputs)
        types = [parameter_type(info, module.context, on_memrefs=on_memory) for info in (*infos, *results)]

        def body(*values: Value) -> Any:
            for value, tensor in zip(values, (*inputs, *outputs), strict=True):
                at = ir.Location.file(tensor.place.file, tensor.place.line, 1)
                ir.BlockArgument(value).set_location(ir.Location.name(tensor.name, at))
            given = dict(zip(inputs, values, strict=False))
            emission = Emission(given, on_memory=on_memory)
            made = emission.emit(outputs, values[len(inputs) :])
            return None if on_memory else made

        with ir.Location.name(symbol, ir.Location.file(place.file, place.line, 1)):
            attributes = {"sym_visibility": ir.StringAttr.get("private")}
            make_prim_func(symbol, types[: len(inputs)], types[len(inputs) :], body, attributes=attributes)
    main = "main" if symbol != "main" else "main_"
    with module.function(main, dict(zip((each.name for each in inputs), infos, strict=True))) as f:
        called = relax.ops["call_tir"](symbol, list(f), results if len(results) > 1 else results[0])
        f.returns(*(called if isinstance(called, tuple) else (called,)))
    return module
