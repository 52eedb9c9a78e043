# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of a graph function: the nodes of its operations are added to a graph of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....bindings.diagnostics import origins
from ....bindings.ir import Block, Operation, Value
from ....bindings.navigation import body_of, is_used_once, made_by, operations_of, users_of
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

#: Operations without operands, which are exported at their first use.
LITERALS = frozenset({"arith.constant", "relax.constant", "relax.shape_expr", "relax.prim_value"})
_DEEPEST_CALLS = 64


class FunctionExporter:
    """Exporter of one function: the values of the function and of its regions."""

    def __init__(
        self, functions: Mapping[str, Operation], problems: Problems, within: str = "", called: Sequence[str] = ()
    ):
        """Create an exporter.

        `within` is the name of the call, for a called function. `called` are the names of the enclosing functions.
        """
        self.functions, self.problems = functions, problems
        self.within, self.called = within, tuple(called)
        self.sizes = SizeTensors()
        self._held: dict[Value, Held] = {}
        self._missing: set[Value] = set()

    def define(self, values: Sequence[Value], helds: Sequence[Held]) -> None:
        """Set the representations of values, and define the symbols in the values' types."""
        for value, held in zip(values, helds, strict=True):
            self._held[value] = held
            self.sizes.define(held, decode(value.type))

    def held(self, value: Value, graph: Graph) -> Held:
        """Return the representation of a value."""
        return self._made(value, graph) if value not in self._held else self._held[value]

    def ref(self, value: Value, graph: Graph) -> Ref:
        """Return the representation of a value as a tensor."""
        held = self.held(value, graph)
        return self.sizes.tensor(graph, held) if isinstance(held, ShapeValue) else held

    def _made(self, value: Value, graph: Graph) -> Held:
        maker = made_by(value)
        if value in self._missing or maker is None or maker.name not in LITERALS:
            raise Incomplete
        self.export(maker, graph)
        if value not in self._held:
            raise Incomplete
        # Constants are in the outermost graph. A size that is computed in one graph is not visible in another.
        return self._held.pop(value) if maker.name == "relax.prim_value" else self._held[value]

    def export_block(self, block: Block, graph: Graph) -> Operation:
        """Export a block's operations except the last, and return the last operation."""
        *operations, last = operations_of(block)
        for operation in operations:
            if operation.name not in LITERALS:
                self.export(operation, graph)
        return last

    def export(self, operation: Operation, graph: Graph) -> None:
        """Export an operation. If this fails, report the problem and mark the results as missing."""
        first, values = len(graph.nodes), list(operation.results)
        try:
            if (function := find_exporter(operation.name)) is None:
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
        """Return the name in an operation's location, behind the name of the enclosing call, or an empty string."""
        found = next((origin.name for origin in origins(operation.location) if origin.operator), "")
        found = found or next((origin.name for origin in origins(operation.location) if ":" not in origin.name), "")
        return f"{self.within}/{found}" if found and self.within else found

    def _name(self, operation: Operation, helds: Sequence[Held], graph: Graph, first: int) -> None:
        """Name new nodes after the operation. The node of the result has the name without a suffix."""
        name = self.name_of(operation)
        results = [held for held in helds if isinstance(held, Ref)]
        if not name:
            return
        for node in graph.nodes[first:]:
            is_main = any(output in results for output in node.outputs)
            node.hint.append(name if is_main else f"{name}/{node.operator}")
            for output in node.outputs:
                output.hint = node.hint[0]

    def sole_maker(self, value: Value) -> Operation | None:
        """Return the operation that makes a value, or None if the value has other uses than one in the same block."""
        maker = made_by(value)
        if maker is None or value in self._missing or not is_used_once(value):
            return None
        (user,) = users_of(value)
        return maker if user.block == maker.block else None

    # ---- calls ----

    def call(self, name: str, arguments: Sequence[Held], graph: Graph, at: Operation) -> list[Held]:
        """Inline another function of the module, and return its results."""
        if (callee := self.functions.get(name)) is None:
            raise Unsupported(f"it calls @{name}, which is not a graph function with a body")
        if name in self.called or len(self.called) > _DEEPEST_CALLS:
            raise Unsupported(f"it calls @{name} recursively: ONNX has no recursion")
        inner = FunctionExporter(self.functions, self.problems, self.name_of(at) or name, (*self.called, name))
        # A call's operands have the parameters' types, so shared symbols have the same meaning on both sides.
        shared = frozenset[str]().union(*(symbols_of(argument.type) for argument in body_of(callee).arguments))
        inner.sizes.take(shared, self.sizes, graph)
        return inner.export_body(callee, arguments, graph)

    def export_body(self, function: Operation, arguments: Sequence[Held], graph: Graph) -> list[Held]:
        """Export a function of one block for these arguments, and return its results."""
        block = body_of(function)
        self.define(list(block.arguments), arguments)
        self.sizes.solve(list(zip(arguments, [decode(argument.type) for argument in block.arguments], strict=True)))
        last = self.export_block(block, graph)
        return [self.held(value, graph) for value in last.operands]


def tensor_info(value: Value, what: str) -> TensorInfo:
    """Return the type of an argument or result of a model, numbers as 0-D tensors.

    Raise Unsupported for other types.
    """
    if isinstance(info := decode(value.type), ScalarInfo):
        return TensorInfo((), "i64" if info.dtype == "index" else info.dtype)
    if not isinstance(info, TensorInfo):
        raise Unsupported(f"{what} is {value.type}: expected a tensor")
    return info
