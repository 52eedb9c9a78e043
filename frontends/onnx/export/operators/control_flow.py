# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exporters of branches and loops: regions become subgraphs of nodes, which can use the enclosing graphs."""

from __future__ import annotations

from collections.abc import Sequence

from .....bindings.ir import Block, Value
from .....dialects.core.codec import decode
from .....dialects.core.infos import ShapeInfo
from ..export_call import ExportedOp
from ..export_values import Held, Ref, ShapeValue
from ..graph import Graph
from ..registry import exports


def _refs(op: ExportedOp, values: Sequence[Value], graph: Graph) -> list[Ref]:
    return [op.exporter.ref(value, graph) for value in values]


def _helds(values: Sequence[Value], refs: Sequence[Ref]) -> list[Held]:
    """Convert tensors to representations by the types of the values. Shapes cross borders as tensors."""
    pairs = zip(values, refs, strict=True)
    return [ShapeValue(None, ref) if isinstance(decode(value.type), ShapeInfo) else ref for value, ref in pairs]


def _results(
    op: ExportedOp, operator: str, inputs: Sequence[Ref | None], like: Sequence[Ref], **graphs: Graph
) -> list[Held]:
    outputs = op.graph.add(operator, inputs, [ref.dtype for ref in like], **graphs)
    return _helds(list(op.operation.results), outputs)


@exports("scf.if")
def branches(op: ExportedOp) -> list[Held]:
    operation = op.operation
    if not len(operation.results):
        raise op.fail("its branches have only effects, and no results")
    made = []
    for region in operation.regions:
        graph = Graph(op.graph.opset, op.graph)
        with op.exporter.sizes.inside():
            last = op.exporter.export_block(region.blocks[0], graph)
            graph.outputs = _refs(op, list(last.operands), graph)
        made.append(graph)
    return _results(op, "If", [op.operands[0]], made[0].outputs, then_branch=made[0], else_branch=made[1])


def _body(op: ExportedOp, carried: Sequence[Ref]) -> tuple[Graph, list[Ref]]:
    """Return a loop's body with its inputs: iteration number, condition and carried tensors."""
    graph = Graph(op.graph.opset, op.graph)
    graph.inputs = [
        Ref("i64", "turn", True),
        Ref("i1", "goes_on", True),
        *(Ref(ref.dtype, "carried") for ref in carried),
    ]
    return graph, graph.inputs[2:]


def _define(op: ExportedOp, block: Block, refs: Sequence[Ref]) -> None:
    arguments = list(block.arguments)
    op.exporter.define(arguments, _helds(arguments, refs))


@exports("scf.for")
def counted(op: ExportedOp) -> list[Held]:
    low, high, step, *initial = op.operands
    turns = op.node("Sub", high, low)
    is_each = op.is_number(op.operation.operands[2], 1)
    # Round up: a partial step is an iteration, too.
    turns = turns if is_each else op.node("Div", op.node("Add", turns, op.node("Sub", step, op.number(1, "i64"))), step)
    turns = op.node("Max", turns, op.number(0, "i64"))
    graph, carried = _body(op, initial)
    block = op.operation.regions[0].blocks[0]
    with op.exporter.sizes.inside():
        place = graph.inputs[0] if is_each else graph.node("Mul", graph.inputs[0], step)
        is_from_zero = op.is_number(op.operation.operands[0], 0)
        _define(op, block, [place if is_from_zero else graph.node("Add", place, low), *carried])
        last = op.exporter.export_block(block, graph)
        graph.outputs = [graph.node("Identity", graph.inputs[1]), *_refs(op, list(last.operands), graph)]
    return _results(op, "Loop", [turns, None, *initial], carried, body=graph)


@exports("scf.while")
def conditional(op: ExportedOp) -> list[Held]:
    """Export scf.while.

    The first condition is computed in front of the loop, the next ones at the end of an iteration.
    """
    before, after = (region.blocks[0] for region in op.operation.regions)
    _define(op, before, op.operands)
    condition = op.exporter.export_block(before, op.graph)
    starts, *initial = _refs(op, list(condition.operands), op.graph)
    graph, carried = _body(op, initial)
    with op.exporter.sizes.inside():
        _define(op, after, carried)
        last = op.exporter.export_block(after, graph)
        _define(op, before, _refs(op, list(last.operands), graph))
        condition = op.exporter.export_block(before, graph)
        graph.outputs = _refs(op, list(condition.operands), graph)
    return _results(op, "Loop", [None, starts, *initial], carried, body=graph)
