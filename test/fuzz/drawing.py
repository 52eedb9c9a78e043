# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs, drawn operator by operator: results are computed at once for all calls, and later operators use
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy
from graphs import Graph, Input, Node, Undefined, numpy_dtype, pruned, size_of

#: Element types by kind. The first ones are the most common in programs.
DTYPES = {
    "f": ("float32", "float32", "float32", "float64", "float16", "bfloat16"),
    "i": ("int32", "int64", "int8", "uint8", "int16", "uint16", "uint32", "uint64"),
    "b": ("bool",),
}
#: Sizes of dimensions: small, and some that are no multiple of a vector's.
SIZES = (1, 2, 3, 4, 5, 8, 13, 17)
SYMBOLS = ("n", "m", "k")
_LARGEST = 1 << 14
# The levels of optimization that a graph is compiled with.
_LEVELS = ((0,), (2,), (0, 2))


@dataclass(frozen=True)
class Value:
    """Value of the graph. Sizes are numbers and expressions, or "None" if they depend on the data."""

    name: str
    sizes: tuple[int | str, ...]
    arrays: list[Any]

    @property
    def dtype(self) -> str:
        return str(self.arrays[0].dtype.name)

    @property
    def kind(self) -> str:
        return kind_of(self.dtype)

    @property
    def rank(self) -> int:
        return int(self.arrays[0].ndim)


def kind_of(dtype: str) -> str:
    kind = numpy_dtype(dtype).kind
    return "b" if kind == "b" else "i" if kind in "iu" else "f"


class Drawing:
    """Graph under construction, of any kind."""

    def __init__(self, random: Random):
        self.random = random
        # Sizes may be 0 only in later calls, since the first call guides the drawing.
        self.symbols = [
            {symbol: random.choice((*SIZES, *((0,) if call else ()))) for symbol in SYMBOLS}
            for call in range(random.choice((1, 2)))
        ]
        self.values: list[Value] = []
        self.inputs: dict[str, Input] = {}
        self.constants: dict[str, Any] = {}
        self.nodes: list[Node] = []

    # -- methods that kinds of graphs override --

    def declare(self, value: Value) -> Value:
        """Register a new parameter."""
        return value

    def declare_constant(self, value: Value) -> Value:
        """Register a new constant."""
        return value

    def compute(self, node: Node, arrays: Sequence[Any], sizes: dict[str, int]) -> list[Any]:
        """Compute a node's results by the oracle."""
        raise NotImplementedError

    # -- values --

    def fresh(self, dtype: str, sizes: Sequence[int | str]) -> Value:
        """Return a new parameter."""
        shapes = [[size_of(size, call) for size in sizes] for call in self.symbols]
        if any(numpy.prod(shape) > _LARGEST for shape in shapes):
            raise Undefined("too large")
        return self.given(tuple(sizes), [draw_array(self.random, dtype, shape) for shape in shapes])

    def given(self, sizes: tuple[int | str, ...], arrays: list[Any]) -> Value:
        """Return a new parameter with these values."""
        value = self.declare(Value(f"x{len(self.inputs)}", sizes, arrays))
        self.inputs[value.name] = Input(value.dtype, sizes)
        self.values.append(value)
        return value

    def constant(self, array: Any, name: str = "c") -> Value:
        """Add a constant, which is the same in every call.

        Constants named "fixed" have a meaning, and are not perturbed.
        """
        value = Value(f"{name}{len(self.constants)}", array.shape, [array] * len(self.symbols))
        self.constants[value.name] = array
        return self.declare_constant(value)

    def size(self) -> int | str:
        return self.random.choice((*SIZES[:6], 1, *SYMBOLS, *SYMBOLS))

    def some(self, kinds: str = "fib", rank: int | None = None, least: int = 0, dtypes: Sequence[str] = ()) -> Value:
        """Return an existing value, preferably a recent one, or a new parameter."""
        fitting = [
            each
            for each in self.values
            if each.kind in kinds
            and (rank is None or each.rank == rank)
            and each.rank >= least
            and (not dtypes or each.dtype in dtypes)
        ]
        if fitting and self.random.random() < 0.8:
            return fitting[-1 - min(int(self.random.expovariate(0.4)), len(fitting) - 1)]
        allowed = [each for kind in kinds for each in DTYPES[kind] if not dtypes or each in dtypes] or list(dtypes)
        if rank is None:
            rank = self.random.choice([each for each in (0, 1, 2, 2, 3, 4) if each >= least] or [least])
        return self.fresh(self.random.choice(allowed), [self.size() for _ in range(rank)])

    def like(self, other: Value, sizes: Sequence[int | str] | None = None, dtype: str = "") -> Value:
        """Return a value of the other one's sizes and type, or of the given ones."""
        sizes, dtype = other.sizes if sizes is None else tuple(sizes), dtype or other.dtype
        fitting = [each for each in self.values if each.dtype == dtype and each.sizes == sizes]
        if fitting and self.random.random() < 0.75:
            return self.random.choice(fitting)
        if self.random.random() < 0.2 and all(isinstance(size, int) for size in sizes):
            return self.constant(draw_array(self.random, dtype, [int(size) for size in sizes]))
        return self.fresh(dtype, sizes)

    def broadcast(self, other: Value, dtype: str = "") -> Value:
        """Return a value that broadcasts with the other one."""
        sizes = list(other.sizes)
        if self.random.random() < 0.5:
            sizes = [1 if self.random.random() < 0.3 else size for size in sizes]
            sizes = sizes[self.random.randrange(len(sizes) + 1) :]
        return self.like(other, sizes, dtype)

    def axis(self, value: Value) -> int:
        if not value.rank:
            raise Undefined("no axis")
        axis = self.random.randrange(value.rank)
        return axis - value.rank if self.random.random() < 0.3 else axis

    def axes(self, value: Value) -> tuple[int, ...]:
        count = self.random.randint(min(1, value.rank), value.rank)
        return tuple(sorted(self.random.sample(range(value.rank), count)))

    # -- nodes --

    def computed(
        self, op: str, inputs: Sequence[Any], attributes: dict[str, Any], results: int, origin: Any
    ) -> list[Value]:
        """Add a node and return its results. Raise Undefined if the oracle has no result."""
        names = tuple(f"v{len(self.nodes)}_{index}" for index in range(results))
        given = tuple(
            tuple(each.name for each in item) if isinstance(item, tuple) else item.name if item else ""
            for item in inputs
        )
        node = Node(op, given, names, attributes, origin)
        calls = [
            self.compute(node, [_array(item, index) for item in inputs], sizes)
            for index, sizes in enumerate(self.symbols)
        ]
        if any(each.size > _LARGEST for call in calls for each in call):
            raise Undefined("too large")
        self.nodes.append(node)
        return [Value(name, (), [call[index] for call in calls]) for index, name in enumerate(names)]

    def graph(self, opset: int = 0) -> Graph:
        """Return the drawn graph, with some of the values as outputs."""
        random = self.random
        results = [name for node in self.nodes for name in node.outputs]
        used = {name for node in self.nodes for name in node.names()}
        outputs = [name for name in results if name not in used]
        if random.random() < 0.25:
            outputs = results  # each between guard pages
        else:
            outputs += random.sample(results, random.choice((0, 0, 0, 1)))
        if random.random() < 0.05:
            outputs = [*outputs, random.choice([*self.inputs, *outputs])]
        values = {each.name: each for each in self.values}
        runs = tuple({name: values[name].arrays[call] for name in self.inputs} for call in range(len(self.symbols)))
        whole = Graph(
            self.inputs, self.constants, tuple(self.nodes), tuple(outputs), runs, opset, random.choice(_LEVELS)
        )
        return self._aliased(self._bound(pruned(whole)))

    def _bound(self, graph: Graph) -> Graph:
        """Add parameters for symbols that expressions need."""
        known = {size for info in graph.inputs.values() for size in info.sizes}
        text = str([node.attributes for node in graph.nodes]) + str([info.sizes for info in graph.inputs.values()])
        missing = tuple(each for each in SYMBOLS if each not in known and each in text)
        if not missing:
            return graph
        runs = tuple(
            {**run, "sizes": numpy.zeros([values[symbol] for symbol in missing], "int8")}
            for run, values in zip(graph.runs, self.symbols, strict=True)
        )
        return graph._replace(inputs={**graph.inputs, "sizes": Input("int8", missing)}, runs=runs)

    def _aliased(self, graph: Graph) -> Graph:
        """Make two parameters one array, sometimes."""
        names = list(graph.inputs)
        for index, first in enumerate(names):
            for second in names[index + 1 :]:
                if graph.inputs[first] == graph.inputs[second] and self.random.random() < 0.15:
                    graph = graph._replace(runs=tuple({**run, second: run[first]} for run in graph.runs))
        return graph


def _array(item: Any, call: int) -> Any:
    if isinstance(item, tuple):
        return tuple(each.arrays[call] for each in item)
    return None if item is None else item.arrays[call]


def draw_array(random: Random, dtype: str, shape: Sequence[int]) -> Any:
    """Small numbers of which several are equal, and rarely the type's limits, infinities and NaN."""
    generator = numpy.random.default_rng(random.randrange(2**32))
    target = numpy_dtype(dtype)
    kind = kind_of(dtype)
    if kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    if kind == "i":
        low, high = (0, 9) if target.kind == "u" else (-6, 7)
        array = generator.integers(low, high, shape).astype(target)
        limits = (numpy.iinfo(target).max, numpy.iinfo(target).min)
        return _with(generator, array, random, limits)
    if random.random() < 0.3:
        array = (generator.integers(-8, 9, shape) / 2).astype(target)
    else:
        array = numpy.asarray(generator.normal(size=shape)).astype(target)
    return _with(generator, array, random, (numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0, 100.0, 1e-5))


def _with(generator: Any, array: Any, random: Random, special: Sequence[Any]) -> Any:
    """Insert special values rarely: they spread in the graph and hide other differences."""
    if array.size and random.random() < 0.08:
        for place in generator.integers(0, array.size, 2):
            array.reshape(-1)[place] = array.dtype.type(random.choice(special))
    return array
