# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Journal entries of the importer: the model, and the result of each node."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...dialects.core.infos import bit_width
from ...passes.core.facts import ModelFact, NodeFact, type_text
from ...passes.core.journal import Journal
from ...support.errors import RelaxError
from ..core.values import Held, OneOf, Value
from .inputs import PassedInput
from .onnx_node import OnnxNode
from .tensor_data import AttributeProto, ModelProto, TensorProto, dtype_of

# Last attribute type of onnx with a single value. Higher numbers are lists.
_LAST_SINGLE = 5
# Longer lists and texts are truncated.
_MOST_ITEMS, _MOST_TEXT = 16, 120

#: Name of the node that contains the imported function or graph.
_around: ContextVar[str] = ContextVar("node around", default="")


def note_model(proto: ModelProto, inputs: Sequence[PassedInput]) -> None:
    """Note a model in the active journal, if any."""
    if (journal := Journal.active()) is None:
        return
    graph = proto.graph
    journal.add(
        ModelFact(
            graph.name,
            f"{proto.producer_name} {proto.producer_version}".strip(),
            {each.domain or "ai.onnx": each.version for each in proto.opset_import},
            [
                {"name": name, "type": type_text(info)}
                for input_ in inputs
                for name, info in zip(input_.names, input_.infos, strict=True)
            ],
            [output.name for output in graph.output],
            len(graph.initializer),
            sum(map(_weight_bytes, graph.initializer)),
        )
    )


@contextmanager
def noting(node: OnnxNode) -> Iterator[Callable[[Sequence[Held | None]], None]]:
    """Return a context for the conversion of a node. It yields a function to call with the node's outputs."""
    if (journal := Journal.active()) is None:
        yield lambda outputs: None
        return
    before = len(journal.of(NodeFact.kind))
    around = _around.get()
    token = _around.set(node.name)
    try:
        yield lambda outputs: journal.add(_fact(node, outputs, around, len(journal.of(NodeFact.kind)) > before))
    finally:
        _around.reset(token)


def _fact(node: OnnxNode, outputs: Sequence[Held | None], around: str, has_nodes: bool) -> NodeFact:
    named = [
        {"name": name, "type": _type(value)} for name, value in zip(node.proto.output, outputs, strict=False) if name
    ]
    return NodeFact(
        node.name,
        node.op,
        node.domain,
        node.version,
        list(node.proto.input),
        named,
        list(_constants(node)),
        {attribute.name: attribute_text(attribute) for attribute in node.proto.attribute},
        "nodes" if has_nodes else _outcome(node, outputs),
        around,
    )


def _outcome(node: OnnxNode, outputs: Sequence[Held | None]) -> str:
    if not (values := [value for value in outputs if isinstance(value, Value) and value.is_in_graph]):
        return "constant"
    ssas = [value.ssa for value in node.inputs if isinstance(value, Value) and value.is_in_graph]
    return "input" if all(value.ssa in ssas for value in values) else "operators"


def attribute_text(attribute: AttributeProto) -> str:
    """Return an attribute's value as text for people."""
    from onnx import helper

    if attribute.HasField("g") or attribute.graphs:
        graphs = [attribute.g] if attribute.HasField("g") else attribute.graphs
        return f"a graph of {sum(len(graph.node) for graph in graphs)} nodes"
    if attribute.HasField("t"):
        return _tensor_text(attribute.t)
    if attribute.ref_attr_name:
        return f"the function's {attribute.ref_attr_name}"
    value = helper.get_attribute_value(attribute)
    items = [_item_text(each) for each in (value if attribute.type > _LAST_SINGLE else [value])[:_MOST_ITEMS]]
    more = f", ... ({len(value)} in all)" if attribute.type > _LAST_SINGLE and len(value) > _MOST_ITEMS else ""
    return f"[{', '.join(items)}{more}]" if attribute.type > _LAST_SINGLE else items[0]


def _item_text(value: object) -> str:
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
    if isinstance(value, (int, float)):
        return f"{value:.9g}"
    return f"a {type(value).__name__}"  # A type or a sparse tensor.


def _tensor_text(tensor: TensorProto) -> str:
    try:
        dtype = dtype_of(tensor.data_type)
    except RelaxError:
        dtype = "strings"
    return f"{dtype}[{','.join(map(str, tensor.dims))}]"


def _constants(node: OnnxNode) -> Iterator[dict[str, object]]:
    for name, value in zip(node.proto.input, node.inputs, strict=False):
        if isinstance(value, Value) and value.array is not None:
            info = value.info
            yield {"name": name, "type": type_text(info), "bytes": _bytes(info.shape or (), info.dtype)}


def _type(value: Held | None) -> str:
    if isinstance(value, Value):
        return type_text(value.info)
    if isinstance(value, OneOf):
        return str(value)
    return "not imported" if value is None else "a sequence or an optional"


def _weight_bytes(tensor: TensorProto) -> int:
    """Return the bytes of an initializer, or 0 for strings, which programs do not have."""
    try:
        return _bytes(tuple(tensor.dims), dtype_of(tensor.data_type))
    except RelaxError:
        return 0


def _bytes(shape: Sequence[Any], dtype: str) -> int:
    return -(-math.prod(shape) * bit_width(dtype) // 8)
