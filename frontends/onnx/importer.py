# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Walks a model's graph and builds a graph of relax operators, with the model's own names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.errors import RelaxError
from ...bindings.mlir import ir
from .functions import expansion_of
from .known import evaluate_known
from .model import Model, versions_of
from .node import Node, Unsupported
from .problems import Problem, Problems
from .registry import find_converter
from .tensors import array_of
from .values import HELD, Value


class _Absent:
    """An input of a function that its call leaves out."""

    def inside(self, operation: Any) -> Any:
        return self


_ABSENT = _Absent()


class GraphImporter:
    """Builds the nodes of a graph where the caller's insertion point is."""

    def __init__(self, model: Model, problems: Problems, outer: GraphImporter | None = None, region_of: Any = None):
        """`outer` knows the names of the graph around; `region_of` is the operation whose region is built, if any."""
        self.model = model
        self.problems = problems
        self._outer = outer
        self._region_of = region_of
        self._values: dict[str, Any] = {}
        #: The operator sets' versions; a function of the model has its own.
        self.opsets: dict[str, int] = dict(model.opsets) if outer is None else outer.opsets
        self._calls: tuple[str, ...] = () if outer is None else outer._calls

    def define(self, name: str, value: Any) -> None:
        if name in self._values:
            raise RelaxError(f"'{name}' is defined twice: names of a graph are unique")
        self._values[name] = value

    def lookup(self, name: str) -> Any:
        """What a name stands for here or in a graph around; None for one that could not be imported."""
        if name in self._values:
            return self._values[name]
        if self._outer is not None:
            value = self._outer.lookup(name)
            if self._region_of is not None and value is not None:
                value = self._values[name] = value.inside(self._region_of)
            return value
        raise RelaxError(f"nothing defines '{name}' before it is used: the graph is not in order, or has a cycle")

    def add_initializers(self, graph: Any) -> None:
        passed = {each.name for each in graph.input if each.name in self._values}  # theirs are defaults
        for each in graph.initializer:
            if each.name not in passed:
                self.define(each.name, Value(array=array_of(each, self.model.folder)))

    def add_nodes(self, nodes: Sequence[Any]) -> None:
        for proto in nodes:
            self.add_node(proto)

    def add_node(self, proto: Any) -> None:
        """Defines what a node computes; where it cannot be imported, notes why and goes on."""
        inputs = [self.lookup(name) if name else _ABSENT for name in proto.input]
        if any(value is None for value in inputs):
            outputs: list[Any] = [None] * len(proto.output)  # what it needs has been noted
        else:
            version = self.opsets.get("" if proto.domain == "ai.onnx" else proto.domain, 1)
            node = Node(proto, [None if value is _ABSENT else value for value in inputs], version, self)
            with ir.Location.name(node.name):
                outputs = self._convert(node)
        for name, value in zip(proto.output, outputs, strict=False):
            if name:
                self.define(name, value)

    def _convert(self, node: Node) -> list[Any]:
        try:
            return self.convert(node)
        except Unsupported as problem:
            self.problems.add(Problem(node.name, node.domain, node.op, node.version, problem.attribute, problem.reason))
        except RelaxError as error:
            self.problems.add(Problem(node.name, node.domain, node.op, node.version, "", error.message))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # What a converter did not foresee, as in a model that breaks ONNX's rules; its traceback is kept.
            shown = ", ".join(_shown(value) for value in node.inputs)
            text = f"its attributes or inputs ({shown}) are not what the operator takes"
            raise RelaxError(f"node '{node.name}' ({node.op}): {text}: {type(error).__name__}: {error}") from error
        return [None] * node.output_count

    def convert(self, node: Node) -> list[Any]:
        """The outputs of a node."""
        evaluated = evaluate_known(node)
        if evaluated is not None:
            return list(evaluated)
        converter = find_converter(node.domain, node.op, node.version)
        if converter is not None:
            return as_values(converter.function(node))
        function = expansion_of(node, self.model)
        if function is None:
            raise Unsupported("the front end does not know this operator (rx.register_onnx teaches it)")
        return self._expand(node, function)

    def _expand(self, node: Node, function: Any) -> list[Any]:
        """The nodes of a function in the place of its call."""
        call = f"{node.domain}.{node.op}"
        if call in self._calls:
            raise Unsupported("the function calls itself")
        inner = GraphImporter(self.model, self.problems)
        inner.opsets = {**self.opsets, **versions_of(function.opset_import)}
        inner._calls = (*self._calls, call)
        for name, value in zip(function.input, [*node.inputs, *[None] * len(function.input)], strict=False):
            inner.define(name, _ABSENT if value is None else value)
        inner.add_nodes(function.node)
        return [inner.lookup(name) for name in function.output][: node.output_count]


def _shown(value: Any) -> str:
    if not isinstance(value, Value):
        return "none" if value is None else "a sequence or an optional"
    return f"{value.dtype} of {'unknown rank' if value.shape is None else f'{value.rank} dimensions'}"


def as_values(returned: Any) -> list[Any]:
    """What a converter returned, as a list of values."""
    items = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    return [item if item is None or isinstance(item, HELD) else Value(ssa=item) for item in items]
