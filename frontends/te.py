# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor expressions, with the names of `tvm.te`: each element of a tensor as a function of its indices.

    from relax_mlir import te

    A = te.placeholder((128, 64), name="A")
    B = te.placeholder((64, 256), name="B")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((128, 256), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    rx.compile(te.create_prim_func([A, B, C]))["main"](a, b)

Rules call te functions with `builder.call_te`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..bindings.context import load_dialects
from ..bindings.ir import Value
from ..bindings.mlir import ir
from ..dialects.core.infos import is_bool, is_unsigned, signless
from ..dialects.core.symbols import sym
from ..dialects.core.symbols_expr import Size, SymExpr, extremum
from ..dialects.relax import dialect as relax
from ..dialects.tir import dialect as tir
from ..dialects.tir.prim_func import make_prim_func
from ..emit import numbers
from ..emit.axis_reduction import highest, lowest
from ..emit.kernels import parameter_type
from ..emit.loops import with_results
from ..emit.te.dependence_graph import needs_memory, placeholders_of, states_in
from ..emit.te.emission import Emission
from ..emit.te.making import checked_dtype, checked_name, compute, extern, placeholder, scan, whole_number
from ..emit.te.places import SourcePlace, place_of_caller
from ..emit.te.scalar_expressions import (
    Index,
    ReduceAxis,
    Reduction,
    Scalar,
    ScalarConstant,
    body,
    common_dtype,
    described,
    is_in_function,
    of_dtype,
    of_two,
    operand,
    scalar,
    together,
)
from ..emit.te.tensors import Placeholder, Tensor
from ..emit.te.tracing import DIALECTS
from ..support.errors import RelaxError
from ..support.names import fresh_name
from .module import Module

__all__ = [
    "Tensor", "abs", "add", "all", "any", "comm_reducer", "compute", "const", "create_prim_func", "div", "extern",
    "floordiv", "floormod", "if_then_else", "indexdiv", "indexmod", "max", "max_value", "min", "min_value", "multiply",
    "placeholder", "power", "reduce_axis", "scan", "size_var", "subtract", "sum", "tag_scope", "truncdiv", "truncmod",
    "var",
]  # fmt: skip


# ---- sizes and axes ----


def var(name: str = "n", dtype: str = "int64") -> SymExpr:
    """Create a size that is known at run time."""
    place = place_of_caller()
    if checked_dtype(dtype, f"te.var '{name}'", place) not in ("i32", "i64"):
        raise place.problem(f"te.var '{name}' is a size, of int64; a {dtype} is a te.placeholder of shape ()")
    try:
        return sym(checked_name(name, "te.var", place))
    except ValueError as error:
        raise place.problem(f"te.var: {error}") from None


size_var = var


def reduce_axis(dom: tuple[int, Size], name: str = "rv") -> ReduceAxis:
    """Create the axis of a reduction, from a start to an exclusive end."""
    place = place_of_caller()
    what = f"te.reduce_axis '{checked_name(name, 'te.reduce_axis', place)}'"
    if not isinstance(dom, (tuple, list)) or len(dom) != 2:
        raise place.problem(f"{what}: expected (start, stop), got {dom!r}")
    if (start := whole_number(dom[0])) is None:
        raise place.problem(f"{what}: it starts at a number, not at {dom[0]!r}")
    stop = dom[1] if isinstance(dom[1], SymExpr) else whole_number(dom[1])
    if stop is None or (isinstance(stop, int) and stop < start):
        raise place.problem(f"{what}: it goes from {start} to before a size that is not smaller, not {dom[1]!r}")
    return ReduceAxis(start, stop - start, name)


# ---- scalars ----


def const(value: object, dtype: str | None = None) -> Any:
    """Create a number of a type. The default is int32, float32 or bool."""
    place = place_of_caller()
    if not isinstance(value, (bool, int, float)) and not hasattr(value, "item"):
        raise place.problem(f"te.const: expected a number, got {value!r}")
    known = value if isinstance(value, (bool, int, float)) else value.item()
    usual = "bool" if isinstance(known, bool) else "float32" if isinstance(known, float) else "int32"
    constant = ScalarConstant(known, checked_dtype(dtype or usual, "te.const", place))
    return constant.number if is_in_function() else constant


def if_then_else(cond: object, true_value: object, false_value: object) -> Scalar:
    """Return one of two values.

    A value that may be out of bounds is a function without parameters: `lambda: A[B[i]]`.
    """
    body("te.if_then_else")
    condition = _truth(cond, "te.if_then_else")
    if not callable(true_value) and not callable(false_value):
        yes, no = together(true_value, false_value)
        return Scalar.of_number(numbers.select(condition, yes, no))
    sketch = ir.Operation.create("scf.if", operands=[condition], regions=2)
    values = []
    for region, each in zip(sketch.regions, (true_value, false_value), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            values.append(operand(each() if callable(each) else each))
    dtype = common_dtype(*values)
    types = []
    for region, value in zip(sketch.regions, values, strict=True):
        with ir.InsertionPoint(region.blocks[0]):
            given = of_dtype(value, dtype)
            types.append(given.type)
            ir.Operation.create("scf.yield", operands=[given])
    operation = with_results(sketch, types[:1])
    sketch.erase()
    return Scalar(operation.result).of(dtype)


def _truth(value: object, what: str) -> Scalar:
    known = scalar(value)
    if not is_bool(known.dtype):
        raise RelaxError(f"{what}: a condition is a comparison or a bool, not {known.dtype}")
    return known


def all(*args: object) -> Scalar:
    """Return True if all conditions are true."""
    return _join("all", args, lambda x, y: x & y)


def any(*args: object) -> Scalar:
    """Return True if any condition is true."""
    return _join("any", args, lambda x, y: x | y)


def _join(name: str, conditions: Sequence[object], join: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    body(f"te.{name}")
    if not conditions:
        raise RelaxError(f"te.{name}: expected conditions, got none")
    first, *others = (_truth(condition, f"te.{name}") for condition in conditions)
    for other in others:
        first = join(first, other)
    return first


def min_value(dtype: str) -> float | int:
    """Return the smallest number of a type."""
    return lowest(checked_dtype(dtype, "te.min_value", place_of_caller()))


def max_value(dtype: str) -> float | int:
    """Return the largest number of a type."""
    return highest(checked_dtype(dtype, "te.max_value", place_of_caller()))


def _binary(name: str, function: Callable[..., Scalar], doc: str) -> Callable[..., Scalar]:
    def of_operands(a: object, b: object) -> Scalar:
        body(f"te.{name}")
        result: Scalar = function(operand(a), operand(b))
        return scalar(result)

    of_operands.__name__, of_operands.__doc__ = name, doc
    return of_operands


def _rounding_to_zero(function: Callable[..., numbers.Number], sign: str) -> Callable[[object, object], Scalar]:
    def divided(a: object, b: object) -> Scalar:
        if not isinstance(b, Scalar) and b == 0:
            raise RelaxError(f"{sign} by 0")
        x, y = together(a, b)
        if x.is_float or is_bool(x.dtype):
            raise RelaxError(f"{sign} is of integers, not of {x.dtype}")
        return of_two(function, sign, x, y)

    return divided


add = _binary("add", lambda x, y: x + y, "x + y")
subtract = _binary("subtract", lambda x, y: x - y, "x - y")
multiply = _binary("multiply", lambda x, y: x * y, "x * y")
floordiv = indexdiv = _binary("floordiv", lambda x, y: x // y, "x / y, rounded down; of integers 0 where y is 0.")
floormod = indexmod = _binary("floormod", lambda x, y: x % y, "The remainder of x / y with the sign of y.")
truncdiv = _binary("truncdiv", _rounding_to_zero(numbers.divide, "te.truncdiv"), "x / y, rounded towards zero.")
truncmod = _binary("truncmod", _rounding_to_zero(numbers.remainder, "te.truncmod"), "Its remainder, of x's sign.")


def div(a: object, b: object) -> Scalar:
    """Return x / y. Integer division rounds towards zero."""
    body("te.div")
    x, y = together(a, b)
    return x / y if x.is_float else truncdiv(x, y)


def power(x: object, y: object) -> Scalar:
    """Return x to the power of y, for floats."""
    return _intrinsic("pow", *together(x, y))


def abs(x: object) -> Scalar:
    """Return the absolute value of x."""
    body("te.abs")
    known = scalar(x)
    return known if is_unsigned(known.dtype) or is_bool(known.dtype) else _intrinsic("abs", known)


# ---- reductions ----


def comm_reducer(
    fcombine: Callable[..., object], fidentity: Callable[..., object], name: str = "reduce"
) -> Callable[..., Reduction]:
    """Create a reduction by a commutative operation `fcombine(x, y)`, with tuples for several values.

    `fidentity(dtype, ...)` returns the identity element.
    """

    def reduce(expr: object, axis: object = None, where: object = None, init: object = None) -> Reduction:
        """Reduce `expr` along `axis` where `where` is true, starting from `init` or the identity element."""
        body(f"te.{name}")
        axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
        wrong = [each for each in axes if not isinstance(each, ReduceAxis)]
        if wrong or not axes or len(set(axes)) < len(axes):
            raise RelaxError(f"te.{name}: axis= is what te.reduce_axis gives, or several, not {described(axis)}")
        parts = expr if isinstance(expr, (tuple, list)) else (expr,)
        several, values = parts is expr, tuple(map(scalar, parts))
        if builtins.any(value.dtype == "index" for value in values):
            raise RelaxError(f'te.{name}: an index is reduced: say of which type, i.astype("int64")')
        identity = _check_values(fidentity(*(value.dtype for value in values)), values, f"te.{name}: the identity")
        starts = identity if init is None else _check_values(init, values, f"te.{name}: init=")
        if where is not None:
            truth = _truth(where, f"te.{name}: where=")
            values = tuple(
                Scalar.of_number(numbers.select(truth, value, start))
                for value, start in zip(values, identity, strict=True)
            )

        def combine(before: Sequence[Scalar], here: Sequence[Scalar]) -> Sequence[object]:
            made = fcombine(tuple(before), tuple(here)) if several else fcombine(before[0], here[0])
            return list(made) if isinstance(made, (tuple, list)) else [made]

        return Reduction(combine, values, starts, axes)

    reduce.__name__ = name
    return reduce


def _check_values(given: object, values: Sequence[Scalar], what: str) -> tuple[Scalar, ...]:
    several = list(given) if isinstance(given, (tuple, list)) else [given]
    if len(several) != len(values):
        raise RelaxError(f"{what} has {len(several)} values of {len(values)}")
    return tuple(of_dtype(operand(each), value.dtype) for each, value in zip(several, values, strict=True))


#: Sum of elements along axes: `sum(A[i, k], axis=k)`.
sum = comm_reducer(lambda x, y: x + y, lambda dtype: 0, name="sum")
_max = comm_reducer(lambda x, y: _extreme("max", x, y), lowest, name="max")
_min = comm_reducer(lambda x, y: _extreme("min", x, y), highest, name="min")


def max(a: object, b: object = None, *, axis: object = None, where: object = None, init: object = None) -> Any:
    """Return the largest element along axes, or the larger one of two numbers."""
    return _extreme_of("max", _max, a, b, axis, where, init)


def min(a: object, b: object = None, *, axis: object = None, where: object = None, init: object = None) -> Any:
    """Return the smallest element along axes, or the smaller one of two numbers."""
    return _extreme_of("min", _min, a, b, axis, where, init)


def _extreme_of(
    name: str, reduce: Callable[..., Reduction], a: object, b: object, axis: object, where: object, init: object
) -> Scalar | Reduction:
    body(f"te.{name}")
    if axis is None and b is None:
        raise RelaxError(f"te.{name}: expected two numbers, or a number and axis=")
    if axis is not None or isinstance(b, (ReduceAxis, tuple, list)):
        return reduce(a, b if axis is None else axis, where, init)
    return _extreme(name, a, b)


def _extreme(name: str, x: object, y: object) -> Scalar:
    x, y = operand(x), operand(y)
    made = of_two(numbers.maximum if name == "max" else numbers.minimum, f"te.{name}", x, y)
    ends: list[Any] = [each if isinstance(each, int) else getattr(each, "at", None) for each in (x, y)]
    return made if None in ends or made.dtype != "index" else Index(made, extremum(name, ends))


def __getattr__(name: str) -> Any:
    """Return a function of the tir dialect: te.exp(x)."""
    if name.startswith("_") or name not in tir.ops:
        from ..support.suggest import suggest

        if name in ("create_schedule", "thread_axis"):
            raise AttributeError(f"te has no '{name}': how loops run says rx.Schedule(te.create_prim_func([...]))")
        raise AttributeError(f"te has no '{name}'{suggest(name, [*tir.ops, *__all__])}")

    make = _call if name.startswith("call_") else _intrinsic

    def intrinsic(*operands: object, **options: object) -> Any:
        return make(name, *operands, **options)

    intrinsic.__name__ = name
    return intrinsic


def _call(name: str, *arguments: object, **options: object) -> object:
    """Call another function, as in TVM: `call_packed(name, x)`, `call_extern(dtype, name, x)`; or with tir's
    arguments."""
    if ir.Context.current is None:
        raise place_of_caller().problem(f"te.{name} is known in the function of a te.extern or te.compute only")
    given = list(arguments)
    is_native = bool(options) or (len(given) > 1 and isinstance(given[1], (list, tuple)))
    if not is_native and name == "call_packed":
        given = [given[0] if given else None, given[1:], ()]
    elif not is_native:
        dtype, function, *values = [*given, None, None][: builtins.max(2, len(given))]
        given = [function, values, signless(checked_dtype(dtype, f"te.{name}", place_of_caller()))]
    made = tir.ops[name](*given, **options)
    return Scalar.of_number(made) if isinstance(made, Value) and is_in_function() else made


#: Functions of tir that do not depend on signs.
_OF_BITS = ("popcount", "ctpop", "clz", "ctz", "bitreverse", "fshl", "fshr", "uadd_sat", "usub_sat", "square")


def _intrinsic(name: str, *operands: object, **options: object) -> Any:
    body(f"te.{name}")
    known = [operand(each) for each in operands]
    like = next((each for each in known if isinstance(each, Scalar)), None)
    values = [scalar(each) if like is None else like.plain.as_operand(each) for each in known]
    if like is not None and like.is_unsigned and not is_bool(like.dtype) and name not in _OF_BITS:
        raise RelaxError(f"te.{name} is of signed numbers, not of {like.dtype}: convert it, .astype")
    made = tir.ops[name](*values, **options)
    is_unsigned_too = like is not None and like.is_unsigned
    several = [made] if isinstance(made, Value) else list(made)
    results = [Scalar(each, unsigned=is_unsigned_too and each.type == like.type) for each in several]  # type: ignore[union-attr]
    return results[0] if isinstance(made, Value) else tuple(results)


@contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """Enter a scope without effect: tags do not affect the computation."""
    del tag
    yield


# ---- functions ----


def create_prim_func(ops: Sequence[Tensor], name: str = "") -> Module:
    """Return a module with one PrimFunc of these tensors, inputs first, then outputs, and a graph function `main`.

    `main` calls the PrimFunc.
    """
    place = place_of_caller()
    inputs, outputs = _parameters(ops, place)
    module = Module()
    symbol = fresh_name(checked_name(name or outputs[-1].name, "te.create_prim_func", place), ["main"])
    names: dict[str, None] = {}
    for input_ in inputs:
        names[fresh_name(input_.name, names)] = None
    infos = [each.info for each in inputs]
    results = [Placeholder(output.shape, output.name, output.place, output.dtype).info for output in outputs]
    with module:
        load_dialects(module.context, ("func", *DIALECTS))
        on_memory = needs_memory(outputs)
        types = [parameter_type(info, module.context, on_memrefs=on_memory) for info in (*infos, *results)]

        def body(*values: Value) -> object:
            for value, tensor in zip(values, (*inputs, *outputs), strict=True):
                ir.BlockArgument(value).set_location(ir.Location.name(tensor.name, tensor.place.location))
            emission = Emission(dict(zip(inputs, values, strict=False)), on_memory=on_memory)
            return emission.emit(outputs, values[len(inputs) :])

        with ir.Location.name(symbol, place.location):
            attributes = {"sym_visibility": ir.StringAttr.get("private")}
            make_prim_func(symbol, types[: len(inputs)], types[len(inputs) :], body, attributes=attributes)
    with module.function("main", dict(zip(names, infos, strict=True))) as f:
        called = relax.ops["call_tir"](symbol, list(f), results if len(results) > 1 else results[0])
        f.returns(*(called if isinstance(called, tuple) else (called,)))
    return module


def _parameters(ops: object, place: SourcePlace) -> tuple[list[Placeholder], list[Tensor]]:
    """Return the input tensors and the computed tensors. Raises RelaxError."""
    what = "te.create_prim_func"
    if not isinstance(ops, (tuple, list)):
        raise place.problem(f"{what}: expected a list of tensors, got {ops!r}")
    if wrong := [op for op in ops if not isinstance(op, Tensor)]:
        raise place.problem(f"{what}: expected tensors of te, got {wrong[0]!r}")
    if (twice := next((op for number, op in enumerate(ops) if op in ops[:number]), None)) is not None:
        raise place.problem(f"{what}: '{twice.name}' is there twice")
    inputs = [op for op in ops if isinstance(op, Placeholder)]
    if not (outputs := [op for op in ops if not isinstance(op, Placeholder)]):
        raise place.problem(f"{what}: nothing is computed: name the tensors that are wanted, too")
    states = states_in(outputs)
    for each in placeholders_of(outputs):
        if each in states:
            raise place.problem(f"{what}: what depends on '{each.name}' is known in te.scan '{states[each]}' only")
        if each not in inputs:
            raise place.problem(f"{what}: '{each.name}' is needed, and not among the tensors")
    if (given := next((input_ for input_ in inputs if input_ in states), None)) is not None:
        raise place.problem(f"{what}: state '{given.name}' of te.scan '{states[given]}' is not given")
    return inputs, outputs
