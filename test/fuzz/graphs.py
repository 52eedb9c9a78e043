# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of operators with the inputs of some calls: plain data, with evaluation node by node and reduction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
from relax_mlir.dialects.core.symbols import SymbolError, SymExpr, parse

Arrays = dict[str, Any]


class Undefined(Exception):
    """Raised if the oracle has no result for these inputs, or no comparable one."""


class Node(NamedTuple):
    """Operator. An omitted input has an empty name; a tuple is several inputs."""

    op: str
    inputs: tuple[Any, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any] = {}  # noqa: RUF012  # no node changes it
    origin: Any = None

    def names(self) -> list[str]:
        """Return the inputs, one after the other."""
        return [name for each in self.inputs for name in (each if isinstance(each, tuple) else (each,)) if name]


class Input(NamedTuple):
    """Parameter of the graph. Sizes are numbers or names of symbols."""

    dtype: str
    sizes: tuple[int | str, ...]


class Graph(NamedTuple):
    """Graph with constants and nodes. `runs` has the arrays of each call, in which an array may have two names."""

    inputs: dict[str, Input]
    constants: Arrays
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]
    runs: tuple[Arrays, ...]
    opset: int = 0
    levels: tuple[int, ...] = (0,)


#: Results of a node for the arrays of its inputs.
Oracle = Callable[[Node, Sequence[Any], Mapping[str, int]], list[Any]]


def sizes_of(graph: Graph, run: Arrays) -> dict[str, int]:
    """Return the value of each symbol in a call."""
    return {
        size: actual
        for name, info in graph.inputs.items()
        for size, actual in zip(info.sizes, run[name].shape, strict=True)
        if isinstance(size, str)
    }


def evaluate(graph: Graph, run: Arrays, oracle: Oracle, noise: Noise | None = None) -> Arrays:
    """Return all values of a call."""
    values: Arrays = {"": None, **graph.constants, **run}
    sizes = sizes_of(graph, run)
    for node in graph.nodes:
        given = [
            tuple(values[name] for name in each) if isinstance(each, tuple) else values[each] for each in node.inputs
        ]
        if noise is not None:
            given = noise.before(node, given)
        results = oracle(node, given, sizes)
        if noise is not None:
            results = noise.after(node, results)
        values.update(zip(node.outputs, results))  # noqa: B905  # the last ones may be left out
    return values


class ErrorSizes(NamedTuple):
    """Sizes of operators' errors.

    Operators in `exact` (moves, comparisons) have no error. Operators in `by_one` subtract from 1 or add to 1, so their
    errors are relative to 1. Errors of `by_largest` are relative to the result's largest element.
    """

    exact: frozenset[str]
    by_one: frozenset[str]
    by_largest: frozenset[str]


class Noise:
    """Random relative errors of an operator's size on its operands and results, to measure how the graph's results
    vary."""

    def __init__(self, seed: int, sizes: ErrorSizes, step_of: Callable[[Any], float]):
        self._random = numpy.random.default_rng(seed)
        self._sizes, self._step_of = sizes, step_of

    def before(self, node: Node, given: list[Any]) -> list[Any]:
        if node.op in self._sizes.exact:
            return given
        return [self._named(name, each) for name, each in zip(node.inputs, given, strict=True)]

    def after(self, node: Node, results: list[Any]) -> list[Any]:
        if node.op in self._sizes.exact:
            return results
        return [self._shaken(each, self._unit(node, each)) for each in results]

    def _unit(self, node: Node, result: Any) -> float:
        """Return the absolute error's unit in addition to the element itself."""
        if node.op in self._sizes.by_one:
            return 1.0
        if node.op not in self._sizes.by_largest or not self._step_of(result.dtype):
            return 0.0
        wide = numpy.asarray(result, "float64")
        return float(abs(wide[numpy.isfinite(wide)]).max(initial=0.0))

    def _named(self, name: Any, value: Any) -> Any:
        """Return the perturbed value of a name, or of several. Sizes and scales are not perturbed."""
        if isinstance(name, tuple):
            return tuple(map(self._named, name, value))
        return value if value is None or name.startswith("fixed") else self._shaken(value)

    def _shaken(self, value: Any, unit: float = 0.0) -> Any:
        step = self._step_of(value.dtype)
        if not step:
            return value
        wide = numpy.asarray(value, "float64")
        signs = self._random.choice([-step, step], wide.shape)
        with numpy.errstate(all="ignore"):
            shaken = wide + signs * (wide + unit * numpy.isfinite(wide)) + signs / step * _underflow(wide, value.dtype)
            return numpy.asarray(shaken).astype(value.dtype)


def _underflow(wide: Any, dtype: Any) -> Any:
    """Return the error of each element with subnormal ones, whose products underflow to zero in another order."""
    import ml_dtypes

    tiny = float(ml_dtypes.finfo(dtype).tiny)
    is_small = abs(wide) < tiny
    return tiny * is_small if (is_small & (wide != 0)).any() else 0.0


# ---- smaller graphs ----


def smaller(graph: Graph, values: Sequence[Arrays]) -> Iterator[Graph]:
    """Return graphs with fewer nodes, outputs or calls. `values` has all values of each call."""
    return (each for each in _candidates(graph, values) if each.outputs)


def _candidates(graph: Graph, values: Sequence[Arrays]) -> Iterator[Graph]:
    for kept in range(len(graph.outputs) if len(graph.outputs) > 1 else 0):
        yield pruned(graph._replace(outputs=(graph.outputs[kept],)))
    for kept in range(len(graph.runs) if len(graph.runs) > 1 else 0):
        yield graph._replace(runs=(graph.runs[kept],))
    for kept in range(len(graph.levels) if len(graph.levels) > 1 else 0):
        yield graph._replace(levels=(graph.levels[kept],))
    for index in reversed(range(len(graph.nodes))):
        yield pruned(_without(graph, index, values))
    for symbol in sorted({size for info in graph.inputs.values() for size in info.sizes if isinstance(size, str)}):
        if any(sizes_of(graph, run)[symbol] > 2 for run in graph.runs):
            yield graph._replace(runs=tuple(_shorter(graph, run, symbol) for run in graph.runs))
    for name, constant in graph.constants.items():
        if constant.size > 1 and not name.startswith("fixed"):
            yield _as_input(graph, name, [constant] * len(graph.runs))


def _shorter(graph: Graph, run: Arrays, symbol: str) -> Arrays:
    """Return arrays with two elements where the symbol has more."""
    shorter = {}
    for name, array in run.items():
        place = tuple(slice(2) if size == symbol else slice(None) for size in graph.inputs[name].sizes)
        shorter[name] = numpy.ascontiguousarray(array[place]).reshape(array[place].shape)
    return {name: shorter[next(key for key in run if run[key] is run[name])] for name in run}


def _without(graph: Graph, index: int, values: Sequence[Arrays]) -> Graph:
    """Return the graph without a node. Its results become inputs, or are no outputs any more."""
    node = graph.nodes[index]
    nodes = graph.nodes[:index] + graph.nodes[index + 1 :]
    used = {name for each in nodes for name in each.names()}
    smaller_graph = graph._replace(
        nodes=nodes, outputs=tuple(name for name in graph.outputs if name not in node.outputs)
    )
    for name in node.outputs:
        if name in used:
            smaller_graph = _as_input(smaller_graph, name, [each[name] for each in values[: len(graph.runs)]])
    return smaller_graph


def _as_input(graph: Graph, name: str, arrays: Sequence[Any]) -> Graph:
    known = [sizes_of(graph, run) for run in graph.runs]
    sizes: list[int | str] = []
    for axis in range(arrays[0].ndim):
        found = [each.shape[axis] for each in arrays]
        symbols = [symbol for symbol in known[0] if [each[symbol] for each in known] == found]
        sizes.append(symbols[0] if symbols else found[0] if len(set(found)) == 1 else f"{name}_{axis}")
    inputs = {**graph.inputs, name: Input(arrays[0].dtype.name, tuple(sizes))}
    runs = tuple({**run, name: array} for run, array in zip(graph.runs, arrays, strict=True))
    constants = {key: value for key, value in graph.constants.items() if key != name}
    return graph._replace(inputs=inputs, constants=constants, runs=runs)


def pruned(graph: Graph) -> Graph:
    """Without nodes and inputs that no output needs."""
    needed = set(graph.outputs)
    nodes = []
    for node in reversed(graph.nodes):
        if needed & set(node.outputs):
            nodes.append(node)
            needed |= set(node.names())
    inputs = {name: info for name, info in graph.inputs.items() if name in needed}
    return graph._replace(
        inputs=inputs,
        constants={name: value for name, value in graph.constants.items() if name in needed},
        nodes=tuple(reversed(nodes)),
        runs=tuple({name: run[name] for name in inputs} for run in graph.runs),
    )


# ---- sizes and element types ----


def size_of(size: int | str | None, sizes: Mapping[str, int]) -> int:
    """Return a size for the symbols' values."""
    if size is None or "None" in str(size):
        raise Undefined("a size that only the data decide")
    dim = parse(size) if isinstance(size, str) else size
    try:
        return int(dim.evaluate(dict(sizes))) if isinstance(dim, SymExpr) else int(dim)
    except SymbolError as problem:
        raise Undefined(str(problem)) from None


def numpy_dtype(name: str) -> Any:
    """Return the element type of numpy or ml_dtypes."""
    import ml_dtypes

    return numpy.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else numpy.dtype(name)
