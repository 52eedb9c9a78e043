# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --print-script prints means what the IR means: it is Python enough to be run and compared.

Random programs are made once as a tree, from which come their IR and, independently, what they compute.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.script import print_script

from relax_mlir import Module

Node = tuple[Any, ...]
_SIZE = 4

_BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "maxsi": max,
    "minsi": min,
    "xori": operator.xor,
}
# A call without a form of its own, and an intrinsic.
_UNARY = ("math.absi", "tir.abs")


def run_script(text: str, *arguments: Any) -> Any:
    """Runs the first function of a script."""
    code = "\n".join(line for line in text.splitlines() if not line.startswith("@"))
    names: dict[str, Any] = {
        "grid": range,
        "select": lambda condition, a, b: a if condition else b,
        "copy": lambda array: array.copy(),
        "math": SimpleNamespace(absi=abs),
        "tir": SimpleNamespace(abs=abs),
    }
    # Annotations stay text: the types' names need not be there.
    exec(compile(f"from __future__ import annotations\n{code}", "script", "exec"), names)
    return names["f"](*arguments)


class Emitter:
    """Lines of IR with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def define(self, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name


def pick(pool: Sequence[Any], number: int) -> Any:
    """From the end: what is new is often used, and once."""
    return pool[-1 - number % len(pool)]


# ---- scalars and memory ----

_numbers = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7])
_places = st.sampled_from([0, 0, 0, 1, 2, 3])
_scalar_leaves = st.one_of(
    st.tuples(st.sampled_from(sorted(_BINARY)), _numbers, _numbers),
    st.tuples(st.sampled_from(_UNARY), _numbers),
    st.tuples(st.just("select"), _numbers, _numbers, _numbers, _numbers),
    st.tuples(st.just("load"), _places),
    st.tuples(st.just("load"), _places),
    st.tuples(st.just("store"), _places, _numbers),
    st.tuples(st.just("overtake"), _places, _numbers, st.sampled_from(_UNARY)),
)


def _with_bodies(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    body = st.lists(inner, min_size=1, max_size=5)
    trips = st.integers(0, 3)
    return st.one_of(
        st.tuples(st.just("if"), _numbers, _numbers, body, _numbers, body, _numbers),
        st.tuples(st.sampled_from(["for", "while"]), trips, _numbers, body, _numbers),
    )


_scalar_nodes = st.recursive(_scalar_leaves, _with_bodies, max_leaves=12)


class ScalarProgram:
    """Integers, and a buffer of four of them."""

    def __init__(self, emitter: Emitter, memory: list[int]):
        self.emitter = emitter
        self.memory = memory

    def emit(self, nodes: Sequence[Node], pool: list[str]) -> list[str]:
        for node in nodes:
            kind, *rest = node
            if kind in _BINARY:
                pool.append(self.emitter.define(f"arith.{kind} {pick(pool, rest[0])}, {pick(pool, rest[1])} : i64"))
            elif kind in _UNARY:
                pool.append(self.emitter.define(f'"{kind}"({pick(pool, rest[0])}) : (i64) -> i64'))
            elif kind == "select":
                a, b, c, d = (pick(pool, number) for number in rest)
                less = self.emitter.define(f"arith.cmpi slt, {a}, {b} : i64")
                pool.append(self.emitter.define(f"arith.select {less}, {c}, {d} : i64"))
            elif kind == "load":
                pool.append(self.emitter.define(f"memref.load %a[%c{rest[0]}] : memref<4xi64>"))
            elif kind == "overtake":
                # Written where it is used, the load would come after the store.
                place, number, unary = rest
                value = pick(pool, number)
                pool.append(self.emitter.define(f"memref.load %a[%c{place}] : memref<4xi64>"))
                self.emit([(unary, 0)], pool)
                self.emitter.lines.append(f"memref.store {value}, %a[%c{place}] : memref<4xi64>")
            elif kind == "store":
                self.emitter.lines.append(f"memref.store {pick(pool, rest[1])}, %a[%c{rest[0]}] : memref<4xi64>")
            else:
                pool.append(getattr(self, f"emit_{kind}")(pool, *rest))
        return pool

    def emit_if(self, pool: list[str], a: int, b: int, then: Any, y: int, otherwise: Any, z: int) -> str:
        lines = self.emitter.lines
        less = self.emitter.define(f"arith.cmpi slt, {pick(pool, a)}, {pick(pool, b)} : i64")
        result = self.emitter.define(f"scf.if {less} -> i64 {{")
        lines.append(f"scf.yield {pick(self.emit(then, list(pool)), y)} : i64 }} else {{")
        lines.append(f"scf.yield {pick(self.emit(otherwise, list(pool)), z)} : i64 }}")
        return result

    def emit_for(self, pool: list[str], trips: int, start: int, body: Any, y: int) -> str:
        index, carried = self.emitter.fresh(), self.emitter.fresh()
        head = f"scf.for {index} = %c0 to %c{trips} step %c1 iter_args({carried} = {pick(pool, start)}) -> i64 {{"
        result = self.emitter.define(head)
        self.emitter.lines.append(f"scf.yield {pick(self.emit(body, [*pool, carried]), y)} : i64 }}")
        return result

    def emit_while(self, pool: list[str], trips: int, start: int, body: Any, y: int) -> str:
        lines, fresh = self.emitter.lines, self.emitter.fresh
        result, count, carried, more, left = (fresh() for _ in range(5))
        state = f"{count} = %n{trips}, {carried} = {pick(pool, start)}"
        lines.append(f"{result}:2 = scf.while ({state}) : (i64, i64) -> (i64, i64) {{")
        lines.append(f"{more} = arith.cmpi sgt, {count}, %n0 : i64")
        lines.append(f"scf.condition({more}) {count}, {carried} : i64, i64 }} do {{")
        lines.append(f"^bb0({count}: i64, {carried}: i64):")
        last = pick(self.emit(body, [*pool, carried]), y)
        lines.append(f"{left} = arith.subi {count}, %n1 : i64")
        lines.append(f"scf.yield {left}, {last} : i64, i64 }}")
        return f"{result}#1"

    def run(self, nodes: Sequence[Node], pool: list[int]) -> list[int]:
        for node in nodes:
            kind, *rest = node
            if kind in _BINARY:
                pool.append(_BINARY[kind](pick(pool, rest[0]), pick(pool, rest[1])))
            elif kind in _UNARY:
                pool.append(abs(pick(pool, rest[0])))
            elif kind == "select":
                a, b, c, d = (pick(pool, number) for number in rest)
                pool.append(c if a < b else d)
            elif kind == "load":
                pool.append(self.memory[rest[0]])
            elif kind == "overtake":
                place, number, _ = rest
                value = pick(pool, number)
                pool.extend([self.memory[place], abs(self.memory[place])])
                self.memory[place] = value
            elif kind == "store":
                self.memory[rest[0]] = pick(pool, rest[1])
            elif kind == "if":
                a, b, then, y, otherwise, z = rest
                taken, result = (then, y) if pick(pool, a) < pick(pool, b) else (otherwise, z)
                pool.append(pick(self.run(taken, list(pool)), result))
            else:
                trips, start, body, y = rest
                carried = pick(pool, start)
                for _ in range(trips):
                    carried = pick(self.run(body, [*pool, carried]), y)
                pool.append(carried)
        return pool


_CONSTANTS = "\n".join(
    [f"%c{n} = arith.constant {n} : index" for n in range(_SIZE)]
    + [f"%n{n} = arith.constant {n} : i64" for n in range(_SIZE)]
)


def script_of(header: str, lines: Sequence[str], returned: Sequence[str], types: str) -> str:
    body = "\n".join(lines)
    module = Module.parse(f"{header} {{\n{_CONSTANTS}\n{body}\nreturn {', '.join(returned)} : {types}\n}}")
    return print_script(module.operation)


def unused(names: Sequence[str], lines: Sequence[str]) -> list[int]:
    """Which values nobody uses. They are what is returned: what is used once can then stand where it is used."""
    counts = Counter(word for line in lines for word in re.findall(r"%\w+(?:#\d)?", line))
    return [index for index, name in enumerate(names) if counts[name] <= ("#" not in name)]


@given(st.lists(_scalar_nodes, min_size=4, max_size=14), st.lists(st.integers(-9, 9), min_size=4, max_size=4))
@draws(100)
def test_scalars_and_memory(nodes: list[Node], memory: list[int]) -> None:
    program = ScalarProgram(Emitter(), list(memory))
    values = program.run(nodes, [3, -5])
    names = program.emit(nodes, ["%x", "%y"])
    kept = [0, 1, *(index for index in unused(names, program.emitter.lines) if index > 1)]
    types = ", ".join(["i64"] * len(kept))
    header = f"func.func @f(%a: memref<4xi64>, %x: i64, %y: i64) -> ({types})"
    text = script_of(header, program.emitter.lines, [names[index] for index in kept], types)
    seen = list(memory)
    assert list(run_script(text, seen, 3, -5)) == [values[index] for index in kept], text
    assert seen == program.memory, text


# ---- tensors, which the script writes in place where nobody can tell ----

_T = "tensor<4xi64>"
_offsets = st.integers(0, 2)
_tensor_leaves = st.one_of(
    st.tuples(st.just("fill"), _numbers, _numbers),
    st.tuples(st.just("insert"), _numbers, _places, _numbers),
    st.tuples(st.just("extract"), _numbers, _places),
    st.tuples(st.just("add"), _numbers, _numbers),
    st.tuples(st.just("generic"), _numbers, _numbers),
    st.tuples(st.just("swap"), _numbers, _numbers),
    st.tuples(st.just("move"), _numbers, _offsets, _numbers, _offsets),
    st.tuples(st.just("tile"), _numbers, _offsets),
)


def _with_tensor_bodies(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    body = st.lists(inner, min_size=1, max_size=5)
    return st.one_of(
        st.tuples(st.just("if"), _numbers, body, _numbers, body, _numbers),
        st.tuples(st.just("for"), st.integers(0, 3), _numbers, _numbers, body, _numbers, _numbers),
    )


_tensor_nodes = st.recursive(_tensor_leaves, _with_tensor_bodies, max_leaves=12)
Pools = tuple[list[Any], list[Any]]


def _generic(operands: int) -> str:
    maps = ", ".join(["affine_map<(i) -> (i)>"] * operands)
    return f'linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}'


class TensorProgram:
    """Tensors of four integers, and integers."""

    def __init__(self) -> None:
        self.emitter = Emitter()

    def emit(self, nodes: Sequence[Node], pools: Pools) -> Pools:
        for kind, *rest in nodes:
            getattr(self, f"emit_{kind}")(pools, *rest)
        return pools

    def emit_fill(self, pools: Pools, t: int, s: int) -> None:
        tensor, scalar = pick(pools[0], t), pick(pools[1], s)
        pools[0].append(self.emitter.define(f"linalg.fill ins({scalar} : i64) outs({tensor} : {_T}) -> {_T}"))

    def emit_insert(self, pools: Pools, t: int, place: int, s: int) -> None:
        tensor, scalar = pick(pools[0], t), pick(pools[1], s)
        pools[0].append(self.emitter.define(f"tensor.insert {scalar} into {tensor}[%c{place}] : {_T}"))

    def emit_extract(self, pools: Pools, t: int, place: int) -> None:
        pools[1].append(self.emitter.define(f"tensor.extract {pick(pools[0], t)}[%c{place}] : {_T}"))

    def emit_add(self, pools: Pools, a: int, b: int) -> None:
        pools[1].append(self.emitter.define(f"arith.addi {pick(pools[1], a)}, {pick(pools[1], b)} : i64"))

    def emit_generic(self, pools: Pools, a: int, b: int) -> None:
        x, y = pick(pools[0], a), pick(pools[0], b)
        i, o, s, r = (self.emitter.fresh() for _ in range(4))
        head = f"{_generic(2)} ins({x} : {_T}) outs({y} : {_T})"
        pools[0].append(self.emitter.define(f"{head} {{ ^bb0({i}: i64, {o}: i64):"))
        self.emitter.lines += [f"{s} = arith.addi {i}, {o} : i64", f"{r} = arith.addi {s}, {o} : i64"]
        self.emitter.lines.append(f"linalg.yield {r} : i64 }} -> {_T}")

    def emit_swap(self, pools: Pools, a: int, b: int) -> None:
        x, y = pick(pools[0], a), pick(pools[0], b)
        result, i, o = (self.emitter.fresh() for _ in range(3))
        head = f"{_generic(2)} outs({x}, {y} : {_T}, {_T})"
        self.emitter.lines.append(f"{result}:2 = {head} {{ ^bb0({i}: i64, {o}: i64):")
        self.emitter.lines.append(f"linalg.yield {o}, {i} : i64, i64 }} -> ({_T}, {_T})")
        pools[0].extend([f"{result}#0", f"{result}#1"])

    def _slice(self, tensor: str, offset: int) -> str:
        return self.emitter.define(f"tensor.extract_slice {tensor}[{offset}] [2] [1] : {_T} to tensor<2xi64>")

    def _put(self, part: str, tensor: str, offset: int) -> str:
        return self.emitter.define(
            f"tensor.insert_slice {part} into {tensor}[{offset}] [2] [1] : tensor<2xi64> into {_T}"
        )

    def emit_move(self, pools: Pools, a: int, start: int, b: int, end: int) -> None:
        part = self._slice(pick(pools[0], a), start)
        pools[0].append(self._put(part, pick(pools[0], b), end))

    def emit_tile(self, pools: Pools, t: int, offset: int) -> None:
        tensor = pick(pools[0], t)
        part = self._slice(tensor, offset)
        x, y = self.emitter.fresh(), self.emitter.fresh()
        head = f"{_generic(1)} outs({part} : tensor<2xi64>)"
        done = self.emitter.define(f"{head} {{ ^bb0({x}: i64):")
        self.emitter.lines += [f"{y} = arith.addi {x}, {x} : i64", f"linalg.yield {y} : i64 }} -> tensor<2xi64>"]
        pools[0].append(self._put(done, tensor, offset))

    def emit_if(self, pools: Pools, s: int, then: Any, y: int, otherwise: Any, z: int) -> None:
        less = self.emitter.define(f"arith.cmpi slt, {pick(pools[1], s)}, %n1 : i64")
        result = self.emitter.define(f"scf.if {less} -> {_T} {{")
        for body, number, end in ((then, y, "} else {"), (otherwise, z, "}")):
            inner = self.emit(body, (list(pools[0]), list(pools[1])))
            self.emitter.lines.append(f"scf.yield {pick(inner[0], number)} : {_T} {end}")
        pools[0].append(result)

    def emit_for(self, pools: Pools, trips: int, t: int, s: int, body: Any, y: int, z: int) -> None:
        result, index, tensor, scalar = (self.emitter.fresh() for _ in range(4))
        start = f"{tensor} = {pick(pools[0], t)}, {scalar} = {pick(pools[1], s)}"
        head = f"{result}:2 = scf.for {index} = %c0 to %c{trips} step %c1 iter_args({start}) -> ({_T}, i64) {{"
        self.emitter.lines.append(head)
        inner = self.emit(body, ([*pools[0], tensor], [*pools[1], scalar]))
        self.emitter.lines.append(f"scf.yield {pick(inner[0], y)}, {pick(inner[1], z)} : {_T}, i64 }}")
        pools[0].append(f"{result}#0")
        pools[1].append(f"{result}#1")


def run_tensors(nodes: Sequence[Node], pools: Pools) -> Pools:
    """The same on values that nobody ever writes to."""
    tensors, scalars = pools
    for kind, *rest in nodes:
        if kind == "fill":
            tensors.append((pick(scalars, rest[1]),) * _SIZE)
        elif kind == "insert":
            tensors.append(replaced(pick(tensors, rest[0]), rest[1], [pick(scalars, rest[2])]))
        elif kind == "extract":
            scalars.append(pick(tensors, rest[0])[rest[1]])
        elif kind == "add":
            scalars.append(pick(scalars, rest[0]) + pick(scalars, rest[1]))
        elif kind == "generic":
            a, b = pick(tensors, rest[0]), pick(tensors, rest[1])
            tensors.append(tuple(x + 2 * y for x, y in zip(a, b, strict=True)))
        elif kind == "swap":
            tensors.extend([pick(tensors, rest[1]), pick(tensors, rest[0])])
        elif kind == "move":
            a, start, b, end = rest
            tensors.append(replaced(pick(tensors, b), end, pick(tensors, a)[start : start + 2]))
        elif kind == "tile":
            t, offset = pick(tensors, rest[0]), rest[1]
            tensors.append(replaced(t, offset, [2 * x for x in t[offset : offset + 2]]))
        elif kind == "if":
            s, then, y, otherwise, z = rest
            body, number = (then, y) if pick(scalars, s) < 1 else (otherwise, z)
            tensors.append(pick(run_tensors(body, (list(tensors), list(scalars)))[0], number))
        else:
            trips, t, s, body, y, z = rest
            tensor, scalar = pick(tensors, t), pick(scalars, s)
            for _ in range(trips):
                inner = run_tensors(body, ([*tensors, tensor], [*scalars, scalar]))
                tensor, scalar = pick(inner[0], y), pick(inner[1], z)
            tensors.append(tensor)
            scalars.append(scalar)
    return pools


def replaced(tensor: tuple[int, ...], offset: int, part: Sequence[int]) -> tuple[int, ...]:
    return (*tensor[:offset], *part, *tensor[offset + len(part) :])


@given(st.lists(_tensor_nodes, min_size=3, max_size=12))
@draws(100)
def test_tensors_are_values(nodes: list[Node]) -> None:
    first, second = (1, 2, 3, 4), (-7, 0, 5, 9)
    tensors, scalars = run_tensors(nodes, ([first, second], [3, -5]))
    program = TensorProgram()
    names = program.emit(nodes, (["%a", "%b"], ["%x", "%y"]))
    kept, kept_scalars = ([0, *(i for i in unused(pool, program.emitter.lines) if i)] for pool in names)
    types = ", ".join([_T] * len(kept) + ["i64"] * len(kept_scalars))
    header = f"func.func @f(%a: {_T}, %b: {_T}, %x: i64, %y: i64) -> ({types})"
    returned = [*(names[0][i] for i in kept), *(names[1][i] for i in kept_scalars)]
    text = script_of(header, program.emitter.lines, returned, types)
    arrays = [numpy.array(values, dtype=object) for values in (first, second)]
    got = run_script(text, *arrays, 3, -5)
    assert [tuple(array) for array in got[: len(kept)]] == [tensors[i] for i in kept], text
    assert list(got[len(kept) :]) == [scalars[i] for i in kept_scalars], text
    assert tuple(arrays[0]) == first and tuple(arrays[1]) == second, f"an argument was written to\n{text}"
