# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operator schemas of ONNX: requirements of nodes, and operators that are functions of others.

A model may define functions of its own, too.
"""

from __future__ import annotations

import functools
from typing import Any

from ...support.suggest import suggest
from ..core.node import Unsupported
from ..core.node_problems import described_inputs
from ..core.values import Value
from .model import DEFAULT_DOMAINS, OnnxModel
from .onnx_node import OnnxNode
from .tensor_data import AttributeProto, FunctionProto, NodeProto, TypeProto, number_of


@functools.cache
def _schema(domain: str, op: str, version: int) -> Any:
    """Return an operator's schema, or None if ONNX does not define the operator."""
    import onnx

    try:
        return onnx.defs.get_schema(op, version, "" if domain in DEFAULT_DOMAINS else domain)
    except onnx.defs.SchemaError:
        return None


@functools.cache
def _attributes(domain: str, op: str, version: int) -> dict[str, bool]:
    """Return an operator's attributes, with True for required attributes."""
    return {name: bool(attribute.required) for name, attribute in _schema(domain, op, version).attributes.items()}


def check_node(node: OnnxNode) -> None:
    """Check a node against its schema. Raise Unsupported for unknown attributes, and for missing or surplus parts."""
    if (schema := _schema(node.domain, node.op, node.version)) is None:
        return
    attributes = _attributes(node.domain, node.op, node.version)
    for attribute in node.proto.attribute:
        # ONNX reserves such names for model authors.
        if attribute.name not in attributes and not attribute.name.startswith("__"):
            hint = suggest(attribute.name, attributes)
            raise Unsupported(f"{node.op} of this version knows no attribute '{attribute.name}'{hint}", attribute.name)
    for name, is_needed in attributes.items():
        if is_needed and not node.has_attribute(name):
            raise Unsupported(f"required attribute '{name}' is missing", name)
    if len(node.inputs) < schema.min_input:
        raise Unsupported(f"input #{len(node.inputs)} is missing: at least {schema.min_input} are required")
    for what, count, most in (
        ("inputs", len(node.inputs), schema.max_input),
        ("outputs", node.output_count, schema.max_output),
    ):
        if count > most:
            raise Unsupported(f"it has {count} {what}, at most {most} are allowed")


def expansion_of(node: OnnxNode, model: OnnxModel) -> FunctionProto | None:
    """Return the function that defines a node, or None if there is none."""
    function = own_function(node, model)
    return _find_definition(node) if function is None else _with_attributes(function, node, {})


def own_function(node: OnnxNode, model: OnnxModel) -> FunctionProto | None:
    """Return the model's own function that a node calls, if any."""
    functions = (
        function for function in model.proto.functions if function.name == node.op and function.domain == node.domain
    )
    return next(functions, None)


def is_defined_by_onnx(node: OnnxNode) -> bool:
    """Check whether ONNX defines the node's operator as a function of other operators."""
    schema = _schema(node.domain, node.op, node.version)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def _find_definition(node: OnnxNode) -> FunctionProto | None:
    if (schema := _schema(node.domain, node.op, node.version)) is None:
        return None
    if schema.has_function:
        return _with_attributes(schema.function_body, node, _defaults(schema))
    if schema.has_context_dependent_function:
        return _build_for(schema, node)
    return None


def _build_for(schema: Any, node: OnnxNode) -> FunctionProto | None:
    """Return a function body that depends on the types of the inputs and on attributes."""
    import onnx

    count = len(node.inputs)
    types = [_type_proto(node.value(at)).SerializeToString() if node.has(at) else b"" for at in range(count)]
    version = max(
        (
            opset_version
            for opset_version in schema.context_dependent_function_opset_versions
            if opset_version <= node.version
        ),
        default=0,
    )
    if not version:
        return None
    try:
        body = schema.get_context_dependent_function_with_opset_version(version, node.proto.SerializeToString(), types)
    except (RuntimeError, onnx.shape_inference.InferenceError) as error:
        reason = str(error).partition("\n")[0]
        raise Unsupported(f"ONNX cannot build the function that defines the operator: {reason}") from None
    function = onnx.FunctionProto()
    function.ParseFromString(body)
    if not function.output:
        raise Unsupported(
            f"the function that defines {node.op} depends on sizes that are not known: "
            f"the inputs are {described_inputs(node)}"
        )
    return _with_attributes(function, node, _defaults(schema))


def _type_proto(value: Value) -> TypeProto:
    from onnx import helper

    shape = None if value.shape is None else [size if isinstance(size, int) else None for size in value.shape]
    return helper.make_tensor_type_proto(number_of(value.dtype), shape)


def _defaults(schema: Any) -> dict[str, AttributeProto]:
    """Return the default values of attributes."""
    return {
        name: attribute.default_value for name, attribute in schema.attributes.items() if attribute.default_value.name
    }


def _with_attributes(function: FunctionProto, node: OnnxNode, defaults: dict[str, AttributeProto]) -> FunctionProto:
    """Return the function with the call's attributes in place of references to them."""
    import onnx

    given = {attribute.name: attribute for attribute in node.proto.attribute}
    defaults = {**defaults, **{attribute.name: attribute for attribute in function.attribute_proto}}
    filled = onnx.FunctionProto()
    filled.CopyFrom(function)
    for inner in filled.node:
        _fill(inner, given, defaults)
    return filled


def _fill(node: NodeProto, protos: dict[str, AttributeProto], defaults: dict[str, AttributeProto]) -> None:
    for index in reversed(range(len(node.attribute))):
        attribute = node.attribute[index]
        if attribute.ref_attr_name:
            name, source = attribute.name, protos.get(attribute.ref_attr_name, defaults.get(attribute.ref_attr_name))
            if source is None:
                del node.attribute[index]
            else:
                attribute.CopyFrom(source)
                attribute.name = name
        elif attribute.HasField("g"):
            for inner in attribute.g.node:
                _fill(inner, protos, defaults)
