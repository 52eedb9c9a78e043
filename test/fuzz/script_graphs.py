# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random PrimFuncs in TVMScript, and their results in numpy, statement by statement.

A program is plain data: its text is one reading of it, and its results are another one. Buffers are written and read in
any order, whole or in parts, so that some of them are in-out. Values are small integers, so that all results are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy
from graphs import Graph, Input, Node

import relax_mlir as rx

_DTYPES = ("int32", "int64", "float32")
_SIZES = (1, 2, 3, 4, 5, 8)
#: Values of a run-time size in the calls.
_CALLS = (5, 1)
_MOST_DEPTH = 3


class Buffer(NamedTuple):
    name: str
    dtype: str
    sizes: tuple[int | str, ...]


class Store(NamedTuple):
    buffer: str
    places: tuple[Any, ...]
    value: Any


class For(NamedTuple):
    """Loop variables with their sizes, and the kind of the loop."""

    loops: tuple[tuple[str, int | str], ...]
    kind: str
    body: tuple[Any, ...]


class If(NamedTuple):
    condition: Any
    then: tuple[Any, ...]
    otherwise: tuple[Any, ...]


class Block(NamedTuple):
    """`axes` are names, kinds, sizes and bindings. `where` is an index and its upper bound."""

    name: str
    axes: tuple[tuple[str, str, int | str, Any], ...]
    where: tuple[Any, int | str] | None
    init: tuple[Any, ...]
    body: tuple[Any, ...]


class Program(NamedTuple):
    """Program with `parameters` in order. `in_place` calls it by R.call_tir_inplace from a graph."""

    parameters: tuple[Buffer, ...]
    temporaries: tuple[Buffer, ...]
    body: tuple[Any, ...]
    in_place: bool

    @property
    def written(self) -> list[str]:
        found = {each.buffer for each in _every(self.body) if isinstance(each, Store)}
        return [each.name for each in self.parameters if each.name in found]


def _every(body: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for each in body:
        found.append(each)
        for name in ("init", "body", "then", "otherwise"):
            found += _every(getattr(each, name, ()))
    return found


# ---- drawing ----


class _Drawing:
    def __init__(self, random: Random):
        self.random = random
        self.dtype = random.choice(_DTYPES)
        self.dims: tuple[int | str, ...] = (*random.choices(_SIZES, k=3), *(["n"] if random.random() < 0.3 else []))
        self.buffers: list[Buffer] = []
        self.temporaries: list[Buffer] = []
        self.ids = Buffer("I", "int32", (self.random.choice(_SIZES),))
        self._names = 0

    def name(self, letter: str) -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def program(self) -> Program:
        for _ in range(self.random.randint(2, 4)):
            self.buffers.append(self._buffer())
        known = {size for each in self.buffers for size in each.sizes}
        self.dims = tuple(size for size in self.dims if isinstance(size, int) or size in known)
        parameters = [*self.buffers, self.ids]
        self.random.shuffle(parameters)
        for _ in range(self.random.randint(0, 1)):
            self.temporaries.append(self._buffer())
        body: list[Any] = []
        for each in self.temporaries:  # the initial contents of a temporary are unknown
            body.append(self._filled(each))
        for _ in range(self.random.randint(1, 3)):
            body += self._statement({}, 0)
        if not any(isinstance(each, Store) and each.buffer in {b.name for b in self.buffers} for each in _every(body)):
            body.append(self._filled(self.buffers[0]))
        return Program(tuple(parameters), tuple(self.temporaries), tuple(body), self.random.random() < 0.2)

    def _buffer(self) -> Buffer:
        rank = self.random.choice((1, 1, 2, 2, 3))
        return Buffer(self.name("B"), self.dtype, tuple(self.random.choice(self.dims) for _ in range(rank)))

    def _filled(self, buffer: Buffer) -> Any:
        loops = tuple((self.name("i"), size) for size in buffer.sizes)
        value = self._value({name: size for name, size in loops}, 1, reads=False)
        return For(loops, "grid", (Store(buffer.name, tuple(("var", name) for name, _ in loops), value),))

    def _statement(self, at: Mapping[str, int | str], depth: int) -> list[Any]:
        """Draw statements. `at` are the outer variables with their sizes."""
        choice = self.random.random()
        if depth >= _MOST_DEPTH or (at and choice < 0.4):
            return [self._store(at)]
        if at and choice < 0.5:
            yes, no = ([self._store(at)] for _ in range(2))
            return [If(self._condition(at), tuple(yes), tuple(no) if self.random.random() < 0.5 else ())]
        if choice < 0.75:
            return [self._block(at)]
        count = self.random.randint(1, 2)
        loops = tuple((self.name("i"), self.random.choice(self.dims)) for _ in range(count))
        kind = "grid" if count == 2 else self.random.choice(("range", "serial", "unroll", "vectorized"))
        body: list[Any] = []
        for _ in range(self.random.randint(1, 2)):
            body += self._statement({**at, **dict(loops)}, depth + count)
        return [For(loops, kind, tuple(body))]

    def _target(self) -> Buffer:
        return self.random.choice([*self.buffers, *self.temporaries])

    def _store(self, at: Mapping[str, int | str]) -> Store:
        buffer = self._target()
        places = tuple(self._place(size, at) for size in buffer.sizes)
        value = self._value(at, 2)
        if self.random.random() < 0.4:
            value = (self._sign(), ("load", buffer.name, places), value)
        return Store(buffer.name, places, value)

    def _block(self, at: Mapping[str, int | str]) -> For:
        """Draw loops around a block that has a variable for each dimension of its output, and maybe a reduction."""
        buffer = self._target()
        loops: list[tuple[str, int | str]] = []
        axes: list[tuple[str, str, int | str, Any]] = []
        where: tuple[Any, int | str] | None = None
        for size in buffer.sizes:
            name, i = self.name("v"), self.name("i")
            if where is None and isinstance(size, int) and self.random.random() < 0.3:
                tile, j = self.random.choice((2, 3)), self.name("i")
                binding = ("add", ("mul", ("var", i), tile), ("var", j))
                loops += [(i, -(-size // tile)), (j, tile)]
                where = (binding, size) if size % tile else None
                axes.append((name, "spatial", size, binding))
            else:
                loops.append((i, size))
                axes.append((name, "spatial", size, ("var", i)))
        places = tuple(("var", name) for name, *_ in axes)
        known: dict[str, int | str] = {**at, **{name: size for name, _, size, _ in axes}}
        init: tuple[Any, ...] = ()
        if self.random.random() < 0.4:
            size, i, name = self.random.choice(_SIZES), self.name("i"), self.name("r")
            loops.insert(self.random.randint(0, len(loops)), (i, size))
            axes.append((name, "reduce", size, ("var", i)))
            if self.random.random() < 0.7:
                init = (Store(buffer.name, places, self._value(known, 1, reads=False)),)
            known[name] = size
        value = self._value(known, 2, without=buffer.name)
        if len(axes) > len(places) or self.random.random() < 0.2:
            value = (self._sign(), ("load", buffer.name, places), value)
        block = Block(self.name("b"), tuple(axes), where, init, (Store(buffer.name, places, value),))
        return For(tuple(loops), "grid", (block,))

    def _place(self, size: int | str, at: Mapping[str, int | str]) -> Any:
        """Draw an index inside of the buffer."""
        fitting = [name for name, held in at.items() if held == size]
        choice = self.random.random()
        if fitting and choice < 0.6:
            return ("var", self.random.choice(fitting))
        if fitting and choice < 0.7:
            return ("sub", ("sub", size, 1), ("var", self.random.choice(fitting)))
        if at and choice < 0.9:
            one = ("add", ("var", self.random.choice(list(at))), self.random.randint(0, 2))
            return ("mod", one, size)
        if 0.9 <= choice < 0.95:
            return ("between", ("load", "I", (self._place(self.ids.sizes[0], {}),)), ("sub", size, 1))
        return 0 if isinstance(size, str) else self.random.randrange(size)

    def _sign(self) -> str:
        return self.random.choice(("add", "sub", "max", "min"))

    def _value(self, at: Mapping[str, int | str], depth: int, *, reads: bool = True, without: str = "") -> Any:
        choice = self.random.random()
        buffers = [each for each in (*self.buffers, *self.temporaries) if each.name != without]
        if reads and buffers and (depth == 0 or choice < 0.5):
            buffer = self.random.choice(buffers)
            return ("load", buffer.name, tuple(self._place(size, at) for size in buffer.sizes))
        if depth == 0 or choice < 0.6:
            return ("number", self.random.randint(-4, 4))
        if choice < 0.7:
            sides = [self._value(at, depth - 1, reads=reads, without=without) for _ in range(2)]
            return ("choice", self._condition(at), *sides)
        sides = [self._value(at, depth - 1, reads=reads, without=without) for _ in range(2)]
        return (self._sign(), *sides)

    def _condition(self, at: Mapping[str, int | str]) -> Any:
        one: Any = ("var", self.random.choice(list(at))) if at else self.random.randint(0, 2)
        return (self.random.choice(("<", ">=", "==")), one, self.random.randint(0, 3))


# ---- as text ----

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "mod": "%", "<": "<", ">=": ">=", "==": "=="}


def text_of(program: Program) -> str:
    lines = ["@I.ir_module", "class M:", "    @T.prim_func"]
    lines.append(f"    def f({', '.join(f'{each.name.lower()}: T.handle' for each in program.parameters)}):")
    if "n" in _sizes(program):
        lines.append("        n = T.int64()")
    for each in program.parameters:
        lines.append(f'        {each.name} = T.match_buffer({each.name.lower()}, {_shape(each)}, "{each.dtype}")')
    for each in program.temporaries:
        lines.append(f'        {each.name} = T.alloc_buffer({_shape(each)}, "{each.dtype}")')
    dtype = next(each.dtype for each in program.parameters if each.name != "I")
    lines += [f"        {line}" for each in program.body for line in _lines(each, dtype)]
    if not program.in_place:
        return "\n".join(["@T.prim_func", *(line[4:] for line in lines[3:])]) + "\n"
    stated = {each.name: f'R.Tensor({_shape(each, quoted=True)}, "{each.dtype}")' for each in program.parameters}
    names = [each.name for each in program.parameters]
    lines += ["    @R.function", f"    def main({', '.join(f'{name}: {stated[name]}' for name in names)}):"]
    for each in program.parameters:
        lines.append(f"        x{each.name} = R.subtract(R.add({each.name}, {each.name}), {each.name})")
    passed = ", ".join(f"x{name}" for name in names)
    places, types = [names.index(name) for name in program.written], [stated[name] for name in program.written]
    call = f"R.call_tir_inplace(cls.f, ({passed}), {places}, out_sinfo=[{', '.join(types)}])"
    return "\n".join([*lines, f"        y = {call}", "        return y"]) + "\n"


def _sizes(program: Program) -> set[int | str]:
    return {size for each in program.parameters for size in each.sizes}


def _shape(buffer: Buffer, *, quoted: bool = False) -> str:
    sizes = [f'"{each}"' if quoted and isinstance(each, str) else str(each) for each in buffer.sizes]
    return f"({', '.join(sizes)},)"


def _lines(statement: Any, dtype: str) -> list[str]:
    def inner(body: Sequence[Any]) -> list[str]:
        return [f"    {line}" for each in body for line in _lines(each, dtype)]

    if isinstance(statement, Store):
        return [f"{_expression(('load', *statement[:2]), dtype)} = {_expression(statement.value, dtype)}"]
    if isinstance(statement, If):
        rest = ["else:", *inner(statement.otherwise)] if statement.otherwise else []
        return [f"if {_expression(statement.condition, dtype)}:", *inner(statement.then), *rest]
    if isinstance(statement, For):
        names, sizes = (", ".join(str(each) for each in held) for held in zip(*statement.loops, strict=True))
        word = "range" if statement.kind == "range" else f"T.{statement.kind}"
        return [f"for {names} in {word}({sizes}):", *inner(statement.body)]
    held = [
        f"{name} = T.axis.{kind}({size}, {_expression(binding, dtype)})" for name, kind, size, binding in statement.axes
    ]
    if statement.where is not None:
        held.append(f"T.where({_expression(statement.where[0], dtype)} < {statement.where[1]})")
    if statement.init:
        held += ["with T.init():", *inner(statement.init)]
    return [f'with T.block("{statement.name}"):', *(f"    {line}" for line in held), *inner(statement.body)]


def _expression(node: Any, dtype: str) -> str:
    if not isinstance(node, tuple):
        return str(node)
    kind, *rest = node
    if kind == "var":
        return str(rest[0])
    if kind == "number":
        return f"T.{dtype}({rest[0]})"
    if kind == "load":
        return f"{rest[0]}[{', '.join(_expression(each, dtype) for each in rest[1])}]"
    texts = [_expression(each, dtype) for each in rest]
    if kind == "between":
        return f"T.max(T.min({texts[0]}, {texts[1]}), 0)"
    if kind == "choice":
        return f"T.if_then_else({', '.join(texts)})"
    if kind in ("max", "min"):
        return f"T.{kind}({', '.join(texts)})"
    return f"({texts[0]} {_SIGNS[kind]} {texts[1]})"


# ---- semantics in numpy ----


def _run(program: Program, arrays: dict[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    held = {name: array.copy() for name, array in arrays.items()}
    for each in program.temporaries:
        held[each.name] = numpy.zeros([sizes.get(str(size), size) for size in each.sizes], each.dtype)
    with numpy.errstate(all="ignore"):
        for statement in program.body:
            _do(statement, held, dict(sizes))
    return held


def _do(statement: Any, arrays: dict[str, Any], at: dict[str, int]) -> None:
    if isinstance(statement, Store):
        place = tuple(_worked_out(each, arrays, at) for each in statement.places)
        array = arrays[statement.buffer]
        array[place] = array.dtype.type(_worked_out(statement.value, arrays, at, array.dtype.type))
    elif isinstance(statement, If):
        for each in statement.then if _worked_out(statement.condition, arrays, at) else statement.otherwise:
            _do(each, arrays, at)
    elif isinstance(statement, For):
        names, sizes = zip(*statement.loops, strict=True)
        for place in numpy.ndindex(*(at.get(str(size), size) for size in sizes)):
            for each in statement.body:
                _do(each, arrays, {**at, **dict(zip(names, place, strict=True))})
    else:
        _do_block(statement, arrays, at)


def _do_block(block: Block, arrays: dict[str, Any], at: dict[str, int]) -> None:
    if block.where is not None and _worked_out(block.where[0], arrays, at) >= block.where[1]:
        return
    values = {name: _worked_out(binding, arrays, at) for name, _, _, binding in block.axes}
    is_first = all(values[name] == 0 for name, kind, *_ in block.axes if kind == "reduce")
    for each in (*(block.init if is_first else ()), *block.body):
        _do(each, arrays, {**at, **values})


def _worked_out(node: Any, arrays: Mapping[str, Any], at: Mapping[str, int], of: Any = int) -> Any:
    """Evaluate a node. `of` is the type of numbers: the buffers' type, or integers in indices."""
    if isinstance(node, str):
        return at[node]
    if not isinstance(node, tuple):
        return node
    kind, *rest = node
    if kind == "var":
        return at[rest[0]]
    if kind == "number":
        return of(rest[0])
    if kind == "load":
        return arrays[rest[0]][tuple(int(_worked_out(each, arrays, at)) for each in rest[1])]
    if kind == "choice":
        condition, yes, no = rest
        return _worked_out(yes if _worked_out(condition, arrays, at) else no, arrays, at, of)
    values = [_worked_out(each, arrays, at, of) for each in rest]
    if kind == "between":
        return max(min(int(values[0]), int(values[1])), 0)
    return {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "mod": lambda x, y: x % y,
        "max": max, "min": min, "<": lambda x, y: x < y, ">=": lambda x, y: x >= y, "==": lambda x, y: x == y,
    }[kind](*values)  # fmt: skip


# ---- as the fuzzer has them ----


def draw(random: Random) -> Graph:
    program = _Drawing(random).program()
    inputs = {each.name: Input(each.dtype, each.sizes) for each in program.parameters}
    data = numpy.random.default_rng(random.randrange(1 << 32))
    runs = []
    for n in _CALLS if "n" in _sizes(program) else _CALLS[:1]:
        sizes = {name: [n if size == "n" else size for size in info.sizes] for name, info in inputs.items()}
        runs.append({name: data.integers(-4, 5, sizes[name]).astype(info.dtype) for name, info in inputs.items()})
    outputs = tuple(f"{name}_after" for name in program.written)
    node = Node("script", tuple(inputs), outputs, {}, program)
    return Graph(inputs, {}, (node,), outputs, tuple(runs), levels=(random.choice((0, 1, 2)),))


def build(graph: Graph) -> rx.Module:
    return rx.Module.from_script(text_of(graph.nodes[0].origin))


def oracle(node: Node, given: Sequence[Any], sizes: Mapping[str, int]) -> list[Any]:
    program = node.origin
    held = _run(program, dict(zip(node.inputs, given, strict=True)), sizes)
    return [held[name] for name in program.written]


def written(graph: Graph) -> set[str]:
    """Return the inputs that a call writes to: a PrimFunc's buffers are the caller's, as in TVM."""
    program = graph.nodes[0].origin
    return set() if program.in_place else set(program.written)
