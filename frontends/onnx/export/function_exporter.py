# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of a graph function: adds what its operations become to a graph of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....bindings.diagnostics import origins
from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import body_of, made_by, operations_of
from ....bindings.rewriting import blaming_at
from ....dialects.core.codec import decode
from ....dialects.core.infos import ScalarInfo, TensorInfo
from ....dialects.core.substitute import symbols_of
from ...core.node import Incomplete, Unsupported
from .export_call import ExportedOp
from .export_problems import Problems
from .export_values import Held, Ref, ShapeValue
from .graph import Graph
from .registry import find_exporter
from .size_tensors import SizeTensors

#: What makes values of nothing: it is exported where it is first used.
LITERALS = frozenset({"arith.constant", "relax.constant", "relax.shape_expr", "relax.prim_value"})
_DEEPEST_CALLS = 64


class FunctionExporter:
    """The values of one function, and of what has regions in it, while it is exported."""

    def __init__(
        self, functions: Mapping[str, Operation], problems: Problems, within: str = "", called: Sequence[str] = ()
    ):
        """`within`: the name of the call of it, where it is called; `called`: the functions around, by name."""
        self.functions, self.problems = functions, problems
        self.within, self.called = within, tuple(called)
        self.sizes = SizeTensors()
        self._held: dict[Value, Held] = {}
        self._missing: set[Value] = set()

    def define(self, values: Sequence[Value], helds: Sequence[Held]) -> None:
        """Says what stands for values, and so what the symbols in their types are."""
        for value, held in zip(values, helds, strict=True):
            self._held[value] = held
            self.sizes.define(held, decode(value.type))

    def held(self, value: Value, graph: Graph) -> Held:
        """What stands for a value."""
        if value not in self._held:
            return self._made(value, graph)
        return self._held[value]

    def ref(self, value: Value, graph: Graph) -> Ref:
        """The same as a tensor."""
        held = self.held(value, graph)
        return self.sizes.tensor(graph, held) if isinstance(held, ShapeValue) else held

    def _made(self, value: Value, graph: Graph) -> Held:
        maker = made_by(value)
        if value in self._missing or maker is None or maker.name not in LITERALS:
            raise Incomplete
        self.export(maker, graph)
        if value not in self._held:
            raise Incomplete
        # Constants are of the outermost graph; a size that is computed in one graph is not seen in another.
        return self._held.pop(value) if maker.name == "relax.prim_value" else self._held[value]

    def export_block(self, block: Block, graph: Graph) -> Operation:
        """Exports a block's operations but the last, which it gives."""
        *operations, last = operations_of(block)
        for operation in operations:
            if operation.name not in LITERALS:
                self.export(operation, graph)
        return last

    def export(self, operation: Operation, graph: Graph) -> None:
        """Exports an operation; where that cannot be it is reported, and its results are missing."""
        first, values = len(graph.nodes), list(operation.results)
        try:
            function = find_exporter(operation.name)
            if function is None:
                raise Unsupported("it has no counterpart in ONNX")
            with blaming_at(f"exporting '{operation.name}'", function, operation, Unsupported, Incomplete):
                made = function(ExportedOp(operation, self, graph))
        except Unsupported as problem:
            self.problems.add(operation, problem)
            self._missing.update(values)
            return
        except Incomplete:
            self._missing.update(values)
            return
        helds = [made] if isinstance(made, (Ref, ShapeValue)) else list(made)
        self._name(operation, helds, graph, first)
        self.define(values, helds)

    def name_of(self, operation: Operation) -> str:
        """What its location calls it, behind the name of the call that it is in; empty where that says nothing."""
        found = next((each.name for each in origins(operation.location) if each.operator), "")
        found = found or next((each.name for each in origins(operation.location) if ":" not in each.name), "")
        return f"{self.within}/{found}" if found and self.within else found

    def _name(self, operation: Operation, helds: Sequence[Held], graph: Graph, first: int) -> None:
        """New nodes are called as the operation, that of the result by its name alone."""
        name = self.name_of(operation)
        results = [held for held in helds if isinstance(held, Ref)]
        if not name:
            return
        for node in graph.nodes[first:]:
            is_main = any(output in results for output in node.outputs)
            node.hint.append(name if is_main else f"{name}/{node.operator}")
            for output in node.outputs:
                output.hint = node.hint[0]

    # ---- calls ----

    def call(self, name: str, arguments: Sequence[Held], graph: Graph, at: Operation) -> list[Held]:
        """The results of another function of the module, whose nodes are added here."""
        callee = self.functions.get(name)
        if callee is None:
            raise Unsupported(f"it calls @{name}, which is no graph function with a body")
        if name in self.called or len(self.called) > _DEEPEST_CALLS:
            raise Unsupported(f"it calls @{name}, in which it is: ONNX has no recursion")
        inner = FunctionExporter(self.functions, self.problems, self.name_of(at) or name, (*self.called, name))
        # A call's operands have the parameters' types, so that symbols in these mean the same on both sides.
        shared = frozenset[str]().union(*(symbols_of(each.type) for each in body_of(callee).arguments))
        inner.sizes.take(shared, self.sizes, graph)
        return inner.export_body(callee, arguments, graph)

    def export_body(self, function: Operation, arguments: Sequence[Held], graph: Graph) -> list[Held]:
        """The results of a function of one block, given what its arguments are."""
        block = body_of(function)
        self.define(list(block.arguments), arguments)
        infos = [decode(each.type) for each in block.arguments]
        self.sizes.solve(list(zip(arguments, infos, strict=True)))
        last = self.export_block(block, graph)
        return [self.held(value, graph) for value in last.operands]


def tensor_info(value: Value, what: str) -> TensorInfo:
    """The type of what crosses the border of a model, numbers as 0-D tensors. Raises Unsupported for anything else."""
    info = decode(value.type)
    if isinstance(info, ScalarInfo):
        return TensorInfo((), "i64" if info.dtype == "index" else info.dtype)
    if not isinstance(info, TensorInfo):
        raise Unsupported(f"{what} is {value.type}: models take and give tensors")
    return info
