# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ONNX says of its operators, against which nodes are checked before anything is made of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...support.suggest import suggest
from .model import DEFAULT_DOMAINS
from .node import Node, Unsupported


class _Schema(NamedTuple):
    least_inputs: int
    most_inputs: int
    most_outputs: int
    #: By name, whether the operator needs it.
    attributes: Mapping[str, bool]


def check_node(node: Node) -> None:
    """Raises Unsupported for attributes that nobody would read, and what is missing or too many."""
    schema = _schema("" if node.domain in DEFAULT_DOMAINS else node.domain, node.op, node.version)
    if schema is None:
        return
    for attribute in node.proto.attribute:
        # ONNX leaves names that begin so to those who make models.
        if attribute.name not in schema.attributes and not attribute.name.startswith("__"):
            hint = suggest(attribute.name, schema.attributes)
            raise Unsupported(f"{node.op} of this version knows no attribute '{attribute.name}'{hint}", attribute.name)
    for name, is_needed in schema.attributes.items():
        if is_needed and not node.has_attribute(name):
            raise Unsupported(f"has no attribute '{name}', which it needs", name)
    if len(node.inputs) < schema.least_inputs:
        raise Unsupported(f"input #{len(node.inputs)} is missing: there must be {schema.least_inputs}")
    for what, count, most in (
        ("inputs", len(node.inputs), schema.most_inputs),
        ("outputs", node.output_count, schema.most_outputs),
    ):
        if count > most:
            raise Unsupported(f"it has {count} {what}, and may have {most}")


@functools.cache
def _schema(domain: str, op: str, version: int) -> _Schema | None:
    """None for an operator that is not ONNX's."""
    import onnx

    try:
        found: Any = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None
    attributes = {name: bool(each.required) for name, each in found.attributes.items()}
    return _Schema(found.min_input, found.max_input, found.max_output, attributes)
