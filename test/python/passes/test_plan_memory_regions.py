# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared memory across branches and loops: random programs against numpy, and against separate memory.

One function draws a program with a set of operators: relax's build it, and numpy's run it.
"""
# Apache TVM: test_transform_static_plan_block_memory.py (if and loops).

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy
from example_counts import draws
from hypothesis import Phase, given
from hypothesis import strategies as st
from planned_memory import finished, planned, set_apart
from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

_WIDTH = 16  # of which a row is as long as places are apart
_DEPTH = 2


class Rows(NamedTuple):
    """Number of rows of a tensor: times * n + plus."""

    times: int
    plus: int


class Drawn(NamedTuple):
    """Tensor of relax or numpy, with its number of rows."""

    value: Any
    rows: Rows


class Relax:
    """Operators that build a program."""

    def __init__(self, length: int | str):
        self._length = length

    def __getattr__(self, name: str) -> Any:
        return rx.find_op(f"relax.{name}")

    def const(self, array: Any) -> Any:
        return relax.const(array)

    def flatten(self, x: Any) -> Any:
        return relax.reshape(x, (-1,))

    def unflatten(self, flat: Any, x: Any) -> Any:
        return relax.reshape(flat, relax.shape_of(x))

    def rows(self, x: Any, begin: int, end: int) -> Any:
        return relax.strided_slice(x, axes=[0], begin=[begin], end=[end])

    def scatter(self, x: Any, places: Any, updates: Any) -> Any:
        return relax.scatter_elements(x, relax.const(places), relax.const(updates), axis=0)

    def _region(self, region: Any, types: Sequence[Any], end: str, body: Callable[..., Sequence[Any]]) -> None:
        block = region.blocks.append(*types)
        with ir.InsertionPoint(block):
            ir.Operation.create(end, operands=list(body(*block.arguments)))

    def branch(self, chosen: Any, sides: Sequence[Callable[[], list[Any]]], like: Sequence[Any]) -> list[Any]:
        made = ir.Operation.create("scf.if", results=[each.type for each in like], operands=[chosen], regions=2)
        for region, side in zip(made.regions, sides, strict=True):
            self._region(region, [], "scf.yield", side)
        return list(made.results)

    def loop(self, count: Any, carried: Sequence[Any], body: Callable[..., list[Any]]) -> list[Any]:
        types = [each.type for each in carried]
        bounds = [self._index(0), count, self._index(1)]
        made = ir.Operation.create("scf.for", results=types, operands=[*bounds, *carried], regions=1)
        self._region(made.regions[0], [count.type, *types], "scf.yield", lambda i, *args: body(self._is_odd(i), *args))
        return list(made.results)

    def while_loop(self, count: Any, carried: Sequence[Any], before: Any, after: Any) -> list[Any]:
        types = [count.type, *(each.type for each in carried)]
        made = ir.Operation.create("scf.while", results=types, operands=[self._index(0), *carried], regions=2)

        def condition(i: Any, *args: Any) -> list[Any]:
            less = self._arith("cmpi", i, count, predicate=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 2))
            return [less, i, *before(self._is_odd(i), *args)]

        def turn(i: Any, *args: Any) -> list[Any]:
            return [self._arith("addi", i, self._index(1)), *after(self._is_odd(i), *args)]

        self._region(made.regions[0], types, "scf.condition", condition)
        self._region(made.regions[1], types, "scf.yield", turn)
        return list(made.results)[1:]

    def _index(self, number: int) -> Any:
        value = ir.IntegerAttr.get(ir.IndexType.get(), number)
        return ir.Operation.create("arith.constant", results=[value.type], attributes={"value": value}).results[0]

    def _arith(self, name: str, *operands: Any, **attributes: Any) -> Any:
        result = ir.IntegerType.get_signless(1) if name == "cmpi" else operands[0].type
        made = ir.Operation.create(f"arith.{name}", results=[result], operands=list(operands), attributes=attributes)
        return made.results[0]

    def _is_odd(self, i: Any) -> Any:
        left = self._arith("remui", i, self._index(2))
        equal = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        return self._arith("cmpi", left, self._index(1), predicate=equal)


class Numpy:
    """Operators that run a program."""

    def __getattr__(self, name: str) -> Any:
        return getattr(numpy, "concatenate" if name == "concat" else name)

    def const(self, array: Any) -> Any:
        return array

    def mean(self, x: Any, axis: list[int], keepdims: bool) -> Any:
        return x.mean(tuple(axis), keepdims=keepdims) if x.size else x[:1].sum(tuple(axis), keepdims=keepdims)

    def flatten(self, x: Any) -> Any:
        return x.reshape(-1)

    def unflatten(self, flat: Any, x: Any) -> Any:
        return flat.reshape(x.shape)

    def rows(self, x: Any, begin: int, end: int) -> Any:
        return x[begin:end]

    def scatter(self, x: Any, places: Any, updates: Any) -> Any:
        changed = x.copy()
        numpy.put_along_axis(changed, places, updates, 0)
        return changed

    def branch(self, chosen: Any, sides: Sequence[Callable[[], list[Any]]], like: Sequence[Any]) -> list[Any]:
        return sides[0 if chosen else 1]()

    def loop(self, count: Any, carried: Sequence[Any], body: Callable[..., list[Any]]) -> list[Any]:
        values = list(carried)
        for i in range(count):
            values = body(i % 2 == 1, *values)
        return values

    def while_loop(self, count: Any, carried: Sequence[Any], before: Any, after: Any) -> list[Any]:
        values, i = before(False, *carried), 0
        while i < count:
            values = after(i % 2 == 1, *values)
            i += 1
            values = before(i % 2 == 1, *values)
        return values


class Program:
    """Generator of a program from a seed, which is the same for both sets of operators."""

    def __init__(self, op: Any, count: Any):
        self._op = op
        self._count = count

    def block(self, seed: int, known: Sequence[Drawn], chosen: Any, depth: int) -> list[Drawn]:
        """Return the values after some random steps."""
        random = Random(seed)
        values = list(known)
        for _ in range(random.randint(1, 7 - 2 * depth)):
            # Mostly the last value: then the lifetime of an operand often ends there.
            x = values[-1] if random.random() < 0.5 else random.choice(values)
            inner = depth < _DEPTH and random.random() < 0.35
            values += self._regions(random, x, values, chosen, depth) if inner else self._step(random, x, values)
        return values

    def _regions(self, random: Random, x: Drawn, values: list[Drawn], chosen: Any, depth: int) -> list[Drawn]:
        carried = [x, *random.choices(values, k=random.randint(0, 1))]
        kind, *seeds = random.choice(["branch", "loop", "while"]), random.random(), random.random()

        def body(seed: float) -> Callable[..., list[Any]]:
            """Return a body whose results have the rows of the carried values. The rows of its arguments are known."""

            def make(chosen: Any, *arguments: Any) -> list[Any]:
                inside = Random(seed)
                handed = [Drawn(each, old.rows) for each, old in zip(arguments, carried, strict=False)]
                made = self.block(inside.randrange(10**9), [*values, *handed], chosen, depth + 1)
                fitting = [[each for each in reversed(made) if each.rows == old.rows] for old in carried]
                return [each[min(len(each) - 1, int(inside.expovariate(1)))].value for each in fitting]

            return make

        one, other = map(body, seeds)
        tensors = [each.value for each in carried]
        if kind == "branch":
            made = self._op.branch(chosen, [lambda: one(chosen), lambda: other(chosen)], tensors)
        elif kind == "loop":
            made = self._op.loop(self._count, tensors, one)
        else:
            made = self._op.while_loop(self._count, tensors, one, other)
        return [Drawn(each, old.rows) for each, old in zip(made, carried, strict=True)]

    def _step(self, random: Random, x: Drawn, values: list[Drawn]) -> list[Drawn]:
        op, (value, rows) = self._op, x
        kinds = "unary binary flip norm product cumsum view inside concat scatter split slice".split()
        kind = random.choice(kinds)
        if kind == "unary":
            return [Drawn(getattr(op, random.choice(["exp", "negative", "tanh", "abs"]))(op.tanh(value)), rows)]
        if kind == "binary":
            other = random.choice([each for each in values if each.rows == rows]).value
            name = random.choice(["add", "subtract", "multiply", "maximum"])
            return [Drawn(op.tanh(getattr(op, name)(value, other)), rows)]
        if kind == "flip":
            return [Drawn(op.flip(value, axis=random.randint(0, 1)), rows)]
        if kind == "norm":
            return [Drawn(op.subtract(value, op.mean(value, axis=[1], keepdims=True)), rows)]
        if kind == "product":
            return [Drawn(op.matmul(value, op.const(numpy.eye(_WIDTH, k=1, dtype="float32"))), rows)]
        if kind == "cumsum":
            return [Drawn(op.tanh(op.cumsum(value, axis=1)), rows)]
        if kind == "view":
            return [Drawn(op.unflatten(op.exp(op.tanh(op.flatten(value))), value), rows)]
        if kind == "split" and rows.times % 2 == rows.plus % 2 == 0:
            half = Rows(rows.times // 2, rows.plus // 2)
            return [Drawn(each, half) for each in op.split(value, 2, axis=0)]
        if kind == "slice" and not rows.times and rows.plus > 1:
            begin = random.randint(0, rows.plus - 1)
            end = random.randint(begin + 1, rows.plus)
            return [Drawn(op.rows(value, begin, end), Rows(0, end - begin))]
        if kind == "scatter" and not rows.times:
            places = numpy.array([[random.randrange(rows.plus) for _ in range(_WIDTH)]])
            return [Drawn(op.scatter(value, places, numpy.arange(_WIDTH, dtype="float32")[None] / 20), rows)]
        parts = [Drawn(op.negative(value), rows) if kind == "inside" else x]
        parts += random.choices([*values, *values[-2:] * 4], k=random.randint(1, 2))
        if sum(part.rows.times + part.rows.plus for part in parts) > 40:
            return [Drawn(op.tanh(value), rows)]
        together = Rows(sum(part.rows.times for part in parts), sum(part.rows.plus for part in parts))
        return [Drawn(op.concat([part.value for part in parts], axis=0), together)]

    def results(self, seed: int, x: Any, y: Any, chosen: Any, length: int | str) -> list[Any]:
        rows = Rows(0, length) if isinstance(length, int) else Rows(1, 0)
        values = self.block(seed, [Drawn(x, rows), Drawn(y, Rows(0, 4))], chosen, 0)
        random = Random(seed)
        return [each.value for each in random.choices(values[2:], k=random.randint(1, 3))]


def drawn_module(seed: int, length: int | str) -> rx.Module:
    module = rx.Module()
    load_dialects(module.context, ["scf"])
    with module.context:
        scalars = {"c": ir.IntegerType.get_signless(1), "k": ir.IndexType.get()}
    tensors = {"x": rx.tensor((length, _WIDTH)), "y": rx.tensor((4, _WIDTH))}
    with module.function("main", {**tensors, **scalars}) as f, ir.Location.unknown(module.context):
        x, y, chosen, count = body_of(f.operation).arguments
        f.returns(*Program(Relax(length), count).results(seed, x, y, chosen, length))
    return module


@draws(60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 10**9), st.sampled_from([4, 6, "n"]), st.sampled_from([0, 2]), st.booleans())
def test_regions(seed: int, length: int | str, level: int, is_bounded: bool) -> None:
    random = Random(seed)
    module = drawn_module(seed, length)
    if length == "n" and is_bounded:
        rx.Pipeline("relax-bind-symbolic-vars{vars=n:1..8}").run(module)
    rows = random.choice([1, 5, 8] if is_bounded else [0, 1, 5, 40]) if length == "n" else length
    shared = planned(module, level)
    programs = [shared, set_apart(shared)]
    made = [finished(each, level)["main"] for each in programs]
    for chosen, count in ((True, 0), (False, 1), (bool(random.randrange(2)), random.randint(2, 3))):
        generator = numpy.random.default_rng(seed)
        x, y = (generator.uniform(-1, 1, (size, _WIDTH)).astype("float32") for size in (rows, 4))
        expected = Program(Numpy(), count).results(seed, x, y, chosen, length)
        one, other = (arrays_of(each(x, y, chosen, count), len(expected)) for each in made)
        for index, wanted in enumerate(expected):
            numpy.testing.assert_array_equal(one[index], other[index])
            numpy.testing.assert_allclose(one[index], wanted, rtol=1e-3, atol=1e-4)


def arrays_of(results: Any, count: int) -> list[Any]:
    return [to_numpy(each).copy() for each in ([results] if count == 1 else results)]
