# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs come back as the same operations in the same order: numbers and memory, tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from round_trip import check_text

Node = tuple[Any, ...]
#: Types for arithmetic, each with a constant.
_NUMBERS = {"i64": "-3 : i64", "f32": "1.5 : f32", "vector<4xf32>": "dense<2.0> : vector<4xf32>"}
_BINARY = {"i64": ["addi", "subi", "muli", "maxsi", "xori", "shli", "floordivsi", "remsi"]}
_FLOATS = ["addf", "subf", "mulf", "divf", "maximumf", "remf"]


class Emitter:
    """Lines of IR with fresh names, and the values of each type so far."""

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
    """Pick from the end of the list, since new values are usually used, and only once."""
    return pool[-1 - number % len(pool)]


_numbers = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7])
_places = st.sampled_from([0, 0, 0, 1, 2, 3])

# ---- scalars, vectors and memory ----

_leaves = st.one_of(
    st.tuples(st.just("binary"), _numbers, _numbers, _numbers),
    st.tuples(st.just("binary"), _numbers, _numbers, _numbers),
    st.tuples(st.just("binary"), _numbers, _numbers, _numbers),
    st.tuples(st.just("constant")),
    st.tuples(st.just("unary"), _numbers),
    st.tuples(st.just("select"), _numbers, _numbers, _numbers, _numbers),
    st.tuples(st.just("load"), _places),
    st.tuples(st.just("load"), _places),
    st.tuples(st.just("store"), _places, _numbers),
    st.tuples(st.just("unknown"), _numbers, _numbers),
)


def _with_bodies(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    body = st.lists(inner, max_size=5)
    carried = st.lists(st.tuples(_numbers, _numbers), max_size=3)
    return st.one_of(
        st.tuples(st.just("if"), _numbers, _numbers, body, body, carried),
        st.tuples(st.just("if_alone"), _numbers, _numbers, body, body, st.booleans()),
        st.tuples(st.sampled_from(["for", "while"]), body, carried, st.permutations([0, 1, 2])),
    )


_nodes = st.recursive(_leaves, _with_bodies, max_leaves=14)


class NumberProgram:
    """Numbers of one type, and a buffer of four of them."""

    def __init__(self, type_: str):
        self.emitter, self.type = Emitter(), type_

    def emit(self, nodes: Sequence[Node], pool: list[str]) -> list[str]:
        for kind, *rest in nodes:
            getattr(self, f"emit_{kind}")(pool, *rest)
        return pool

    def emit_binary(self, pool: list[str], operation: int, a: int, b: int) -> None:
        name = pick(_BINARY.get(self.type, _FLOATS), operation)
        pool.append(self.emitter.define(f"arith.{name} {pick(pool, a)}, {pick(pool, b)} : {self.type}"))

    def emit_constant(self, pool: list[str]) -> None:
        pool.append(self.emitter.define(f"arith.constant {_NUMBERS[self.type]}"))

    def emit_unary(self, pool: list[str], a: int) -> None:
        name = "math.absi" if self.type == "i64" else "arith.negf"
        pool.append(self.emitter.define(f"{name} {pick(pool, a)} : {self.type}"))

    def emit_unknown(self, pool: list[str], a: int, b: int) -> None:
        types = f"({self.type}, {self.type}) -> {self.type}"
        pool.append(self.emitter.define(f'"my.op"({pick(pool, a)}, {pick(pool, b)}) : {types}'))

    def _less(self, pool: list[str], a: int, b: int) -> str:
        compare = "cmpi slt" if self.type == "i64" else "cmpf olt"
        return self.emitter.define(f"arith.{compare}, {pick(pool, a)}, {pick(pool, b)} : {self.type}")

    def emit_select(self, pool: list[str], a: int, b: int, c: int, d: int) -> None:
        less = self._less(pool, a, b)
        of = self.type if self.type != "vector<4xf32>" else f"vector<4xi1>, {self.type}"
        pool.append(self.emitter.define(f"arith.select {less}, {pick(pool, c)}, {pick(pool, d)} : {of}"))

    def emit_load(self, pool: list[str], place: int) -> None:
        pool.append(self.emitter.define(f"memref.load %a[%c{place}] : memref<4x{self.type}>"))

    def emit_store(self, pool: list[str], place: int, value: int) -> None:
        self.emitter.lines.append(f"memref.store {pick(pool, value)}, %a[%c{place}] : memref<4x{self.type}>")

    def _types(self, count: int) -> str:
        return ", ".join([self.type] * count)

    def _give(self, kind: str, values: Sequence[str]) -> str:
        return f"{kind} {', '.join(values)} : {self._types(len(values))}" if values else kind

    def _results(self, count: int) -> tuple[str, list[str]]:
        name = self.emitter.fresh()
        return f"{name}:{count} = " if count else "", [f"{name}#{index}" for index in range(count)]

    def emit_if(self, pool: list[str], a: int, b: int, then: Any, other: Any, given: Any) -> None:
        lines = self.emitter.lines
        condition = self._less(pool, a, b) if self.type != "vector<4xf32>" else "%flag"
        left, results = self._results(len(given))
        lines.append(f"{left}scf.if {condition} {f'-> ({self._types(len(given))})' if given else ''} {{")
        inner = self.emit(then, list(pool))
        lines.append(f"{self._give('scf.yield', [pick(inner, y) for y, _ in given])} }} else {{")
        inner = self.emit(other, list(pool))
        lines.append(f"{self._give('scf.yield', [pick(inner, z) for _, z in given])} }}")
        pool += results

    def emit_if_alone(self, pool: list[str], a: int, b: int, then: Any, other: Any, is_both: bool) -> None:
        condition = self._less(pool, a, b) if self.type != "vector<4xf32>" else "%flag"
        self.emitter.lines.append(f"scf.if {condition} {{")
        self.emit(then, list(pool))
        if is_both:
            self.emitter.lines.append("} else {")
            self.emit(other, list(pool))
        self.emitter.lines.append("}")

    def emit_for(self, pool: list[str], body: Any, carried: Any, order: Sequence[int]) -> None:
        lines, index = self.emitter.lines, self.emitter.fresh()
        names = [self.emitter.fresh() for _ in carried]
        left, results = self._results(len(carried))
        starts = ", ".join(f"{name} = {pick(pool, start)}" for name, (start, _) in zip(names, carried, strict=True))
        given = f"iter_args({starts}) -> ({self._types(len(carried))})" if carried else ""
        lines.append(f"{left}scf.for {index} = %c0 to %c3 step %c1 {given} {{")
        inner = self.emit(body, [*pool, *names])
        values = [pick(inner, end) for _, end in carried]
        # Loop-carried values change places, too.
        turned = [values[each] for each in order if each < len(values)]
        lines.append(f"{self._give('scf.yield', turned)} }}")
        pool += results

    def emit_while(self, pool: list[str], body: Any, carried: Any, order: Sequence[int]) -> None:
        lines = self.emitter.lines
        names, after = ([self.emitter.fresh() for _ in carried] for _ in range(2))
        left, results = self._results(len(carried))
        starts = ", ".join(f"{name} = {pick(pool, start)}" for name, (start, _) in zip(names, carried, strict=True))
        types = self._types(len(carried))
        lines.append(f"{left}scf.while ({starts}) : ({types}) -> ({types}) {{" if carried else
                     "scf.while : () -> () {")  # fmt: skip
        inner = self.emit(body, [*pool, *names])
        values = [pick(inner, end) for _, end in carried]
        given = f" {', '.join(values)} : {types}" if values else ""
        lines.append(f"scf.condition(%flag){given} }} do {{")
        lines.append(f"^bb0({', '.join(f'{name}: {self.type}' for name in after)}):" if after else "")
        lines.append(f"{self._give('scf.yield', [after[each] for each in order if each < len(after)])} }}")
        pool += results


_CONSTANTS = "\n".join(f"%c{number} = arith.constant {number} : index" for number in range(4))


def function(parameters: str, lines: Sequence[str], returned: Sequence[tuple[str, str]]) -> str:
    values, types = (", ".join(each) for each in zip(*returned, strict=True))
    body = "\n".join(lines)
    return f"func.func @f({parameters}) -> ({types}) {{\n{_CONSTANTS}\n{body}\nreturn {values} : {types}\n}}"


@given(st.lists(_nodes, min_size=3, max_size=14), st.sampled_from(sorted(_NUMBERS)), _numbers)
@draws(150)
def test_numbers_and_memory(nodes: list[Node], type_: str, last: int) -> None:
    program = NumberProgram(type_)
    pool = program.emit(nodes, ["%x", "%y"])
    parameters = f"%a: memref<4x{type_}>, %x: {type_}, %y: {type_}, %flag: i1"
    check_text(function(parameters, program.emitter.lines, [(pick(pool, last), type_), (pool[-1], type_)]))


# ---- tensors: a script reuses their names where this makes no difference ----

_T = "tensor<4xi64>"
_offsets = st.integers(0, 2)
_tensor_leaves = st.one_of(
    st.tuples(st.just("fill"), _numbers, _numbers),
    st.tuples(st.just("insert"), _numbers, _places, _numbers),
    st.tuples(st.just("insert"), _numbers, _places, _numbers),
    st.tuples(st.just("extract"), _numbers, _places),
    st.tuples(st.just("add"), _numbers, _numbers),
    st.tuples(st.just("nest"), _numbers, _numbers, _numbers, st.integers(0, 3), st.booleans()),
    st.tuples(st.just("swap"), _numbers, _numbers),
    st.tuples(st.just("move"), _numbers, _offsets, _numbers, _offsets),
)


def _with_tensor_bodies(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    body = st.lists(inner, max_size=5)
    return st.one_of(
        st.tuples(st.just("if"), body, _numbers, body, _numbers),
        st.tuples(st.just("for"), _numbers, _numbers, body, _numbers, _numbers),
    )


_tensor_nodes = st.recursive(_tensor_leaves, _with_tensor_bodies, max_leaves=12)
Pools = tuple[list[Any], list[Any]]
# Places of a nest's second input.
_MAPS = ["(i) -> (i)", "(i) -> (-i + 3)", "(i) -> (0)", "(i) -> ((i * 2) mod 4)"]


def _generic(*maps: str) -> str:
    shown = ", ".join(f"affine_map<{each}>" for each in maps)
    return f'linalg.generic {{indexing_maps = [{shown}], iterator_types = ["parallel"]}}'


class TensorProgram:
    """Tensors of four integers, and integers."""

    def __init__(self) -> None:
        self.emitter = Emitter()

    def emit(self, nodes: Sequence[Node], pools: Pools) -> Pools:
        for kind, *rest in nodes:
            getattr(self, f"emit_{kind}")(pools, *rest)
        return pools

    def emit_fill(self, pools: Pools, t: int, s: int) -> None:
        head = f"{_generic('(i) -> ()', _MAPS[0])} ins({pick(pools[1], s)} : i64) outs({pick(pools[0], t)} : {_T})"
        pools[0].append(self.emitter.define(f"{head} {{ ^bb0(%p: i64, %q: i64): linalg.yield %p : i64 }} -> {_T}"))

    def emit_insert(self, pools: Pools, t: int, place: int, s: int) -> None:
        tensor, scalar = pick(pools[0], t), pick(pools[1], s)
        pools[0].append(self.emitter.define(f"tensor.insert {scalar} into {tensor}[%c{place}] : {_T}"))

    def emit_extract(self, pools: Pools, t: int, place: int) -> None:
        pools[1].append(self.emitter.define(f"tensor.extract {pick(pools[0], t)}[%c{place}] : {_T}"))

    def emit_add(self, pools: Pools, a: int, b: int) -> None:
        pools[1].append(self.emitter.define(f"arith.addi {pick(pools[1], a)}, {pick(pools[1], b)} : i64"))

    def emit_nest(self, pools: Pools, a: int, b: int, c: int, map_: int, loads: bool) -> None:
        """Emit a nest with inputs in any order or repeated, and elements that the body loads at the loop's place."""
        x, y, z = (pick(pools[0], number) for number in (a, b, c))
        p, q, o, s, r, i = (self.emitter.fresh() for _ in range(6))
        head = f"{_generic(_MAPS[0], _MAPS[map_], _MAPS[0])} ins({x}, {y} : {_T}, {_T}) outs({z} : {_T})"
        pools[0].append(self.emitter.define(f"{head} {{ ^bb0({p}: i64, {q}: i64, {o}: i64):"))
        lines = self.emitter.lines
        if loads:
            lines += [f"{i} = linalg.index 0 : index", f"{s} = tensor.extract {pools[0][0]}[{i}] : {_T}"]
        else:
            lines.append(f"{s} = arith.addi {q}, {o} : i64")
        lines += [f"{r} = arith.subi {s}, {p} : i64", f"linalg.yield {r} : i64 }} -> {_T}"]

    def emit_swap(self, pools: Pools, a: int, b: int) -> None:
        result, i, o = (self.emitter.fresh() for _ in range(3))
        head = f"{_generic(_MAPS[0], _MAPS[0])} outs({pick(pools[0], a)}, {pick(pools[0], b)} : {_T}, {_T})"
        self.emitter.lines.append(f"{result}:2 = {head} {{ ^bb0({i}: i64, {o}: i64):")
        self.emitter.lines.append(f"linalg.yield {o}, {i} : i64, i64 }} -> ({_T}, {_T})")
        pools[0].extend([f"{result}#0", f"{result}#1"])

    def emit_move(self, pools: Pools, a: int, start: int, b: int, end: int) -> None:
        define, part = self.emitter.define, "tensor<2xi64>"
        taken = define(f"tensor.extract_slice {pick(pools[0], a)}[%c{start}] [2] [1] : {_T} to {part}")
        pools[0].append(
            define(f"tensor.insert_slice {taken} into {pick(pools[0], b)}[{end}] [2] [1] : {part} into {_T}")
        )

    def emit_if(self, pools: Pools, then: Any, y: int, otherwise: Any, z: int) -> None:
        result = self.emitter.define(f"scf.if %flag -> {_T} {{")
        for body, number, end in ((then, y, "} else {"), (otherwise, z, "}")):
            inner = self.emit(body, (list(pools[0]), list(pools[1])))
            self.emitter.lines.append(f"scf.yield {pick(inner[0], number)} : {_T} {end}")
        pools[0].append(result)

    def emit_for(self, pools: Pools, t: int, s: int, body: Any, y: int, z: int) -> None:
        result, index, tensor, scalar = (self.emitter.fresh() for _ in range(4))
        start = f"{tensor} = {pick(pools[0], t)}, {scalar} = {pick(pools[1], s)}"
        head = f"{result}:2 = scf.for {index} = %c0 to %c3 step %c1 iter_args({start}) -> ({_T}, i64) {{"
        self.emitter.lines.append(head)
        inner = self.emit(body, ([*pools[0], tensor], [*pools[1], scalar]))
        self.emitter.lines.append(f"scf.yield {pick(inner[0], y)}, {pick(inner[1], z)} : {_T}, i64 }}")
        pools[0].append(f"{result}#0")
        pools[1].append(f"{result}#1")


@given(st.lists(_tensor_nodes, min_size=3, max_size=12), _numbers, _numbers)
@draws(150)
def test_tensors(nodes: list[Node], tensor: int, number: int) -> None:
    program = TensorProgram()
    tensors, scalars = program.emit(nodes, (["%a", "%b"], ["%x", "%y"]))
    parameters = f"%a: {_T}, %b: {_T}, %x: i64, %y: i64, %flag: i1"
    check_text(
        function(parameters, program.emitter.lines, [(pick(tensors, tensor), _T), (pick(scalars, number), "i64")])
    )
