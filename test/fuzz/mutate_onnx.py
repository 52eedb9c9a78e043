# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutations of ONNX models: of single fields of the protobuf, of names, of graphs and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from onnx import helper

_INTEGERS = (-1, 0, 1, 2, 3, -2, 7, 64, 99, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))
_FLOATS = (0.0, -1.0, 0.5, 1e-30, 3e38, float("inf"), float("-inf"), float("nan"))
_NAMES = ("", "x", "y", "no such name", "it's", 'a"b', "a\nb", "a\\", "é", "\0", "%0", "@main", "a" * 3000, "main", " ")
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "ai.onnx.preview.training", "com.example", "a\nb")
_BYTES = (b"", b"\0", b"\xff\xfe", b"same_upper", b"NOTSET", b"linear", b"\xe2\x28\xa1", b"\x01" * 24)
_OPSETS = (-1, 0, 1, 2, 7, 9, 11, 13, 18, 21, 23, 24, 25, 26, 1000, 2**63 - 1)

_Change = Callable[[Random, Any], None]


def mutate_model(random: Random, model: Any, other: Any) -> Any:
    """Return a model with one to four changes, some of which copy parts of another model."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    if random.random() < 0.3:
        random.choice(_WRAPPINGS)(random, changed)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        choice = random.random()
        if choice < 0.45:
            _change_field(random, changed, other)
        elif choice < 0.65:
            random.choice(_INPUT_CHANGES)(random, changed)
        else:
            random.choice(_CHANGES)(random, changed)
    return changed


# ---- one thing that is wrong ----


def damage(random: Random, model: Any) -> Any:
    """Return a model with another rank of one input, or another value of one attribute, without earlier errors."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    tensors = [each for each in changed.graph.input if each.type.HasField("tensor_type")]
    attributes = [each for node in changed.graph.node for each in node.attribute if each.type in _ODD_ATTRIBUTES]
    if not tensors and not attributes:
        return changed
    place = random.randrange(len(tensors) + len(attributes))
    if place < len(tensors):
        _change_rank(random, tensors[place].type.tensor_type)
        # Checks of declared outputs would refuse the model first.
        for each in (*changed.graph.output, *changed.graph.value_info):
            if each.type.HasField("tensor_type"):
                each.type.tensor_type.ClearField("shape")
    else:
        attribute = attributes[place - len(tensors)]
        _ODD_ATTRIBUTES[attribute.type](random, attribute)
    return changed


def _change_rank(random: Random, type_: Any) -> None:
    dims = [dim.dim_value for dim in type_.shape.dim]
    choices = ([], [2], dims[:-1], [*dims, 2], [0] * len(dims), [dim + 1 for dim in dims])
    type_.ClearField("shape")
    if random.random() < 0.9:
        type_.shape.SetInParent()
        for size in random.choice(choices):
            type_.shape.dim.add().dim_value = size


def _change_integers(random: Random, attribute: Any) -> None:
    before = list(attribute.ints)
    after = random.choice(([], [99], [-99], [*before, *before], before[:-1], [0] * 9, before[::-1]))
    attribute.ints[:] = after


_ODD_ATTRIBUTES: dict[int, _Change] = {
    onnx.AttributeProto.INT: lambda random, each: setattr(each, "i", random.choice(_INTEGERS)),
    onnx.AttributeProto.FLOAT: lambda random, each: setattr(each, "f", random.choice(_FLOATS)),
    onnx.AttributeProto.STRING: lambda random, each: setattr(each, "s", random.choice(_BYTES)),
    onnx.AttributeProto.INTS: _change_integers,
}


# ---- any field ----


def _messages(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                yield from _messages(each)


def _change_field(random: Random, model: Any, other: Any) -> None:
    """Set one field of one message to a rare value, or replace the message by one of that kind from the other model."""
    message = random.choice(list(_messages(model.graph if random.random() < 0.9 else model)))
    alike = [each for each in _messages(other) if each.DESCRIPTOR is message.DESCRIPTOR]
    if alike and random.random() < 0.2:
        message.CopyFrom(random.choice(alike))
        return
    present = [field for field, _ in message.ListFields()]
    fields = present if present and random.random() < 0.8 else message.DESCRIPTOR.fields
    field = random.choice(fields)
    if field.is_repeated:
        _change_list(random, getattr(message, field.name), field)
    elif random.random() < 0.15:
        message.ClearField(field.name)
    elif field.message_type is None:
        setattr(message, field.name, _odd(random, field, getattr(message, field.name)))
    elif random.random() < 0.3:
        getattr(message, field.name).SetInParent()


def _change_list(random: Random, held: Any, field: Any) -> None:
    choice = random.randrange(4)
    if choice == 0 and len(held):
        del held[random.randrange(len(held))]
    elif field.message_type is not None:
        if len(held) and choice == 1:
            held.add().CopyFrom(random.choice(list(held)))
        elif choice == 2:
            held.add()
        elif len(held) > 1:
            _swap(random, held)
    elif choice == 1 and len(held):
        at = random.randrange(len(held))
        held[at] = _odd(random, field, held[at])
    elif choice == 2:
        held.append(_odd(random, field, None))
    elif len(held):
        held.append(random.choice(list(held)))


def _swap(random: Random, held: Any) -> None:
    one, another = random.randrange(len(held)), random.randrange(len(held))
    kept = type(held[one])()
    kept.CopyFrom(held[one])
    held[one].CopyFrom(held[another])
    held[another].CopyFrom(kept)


def _odd(random: Random, field: Any, held: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_ENUM:
        return random.choice([value.number for value in field.enum_type.values])
    if field.type == FieldDescriptor.TYPE_STRING:
        return random.choice(_NAMES)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return held[:-1] if held and random.random() < 0.4 else random.choice(_BYTES)
    if field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE):
        return random.choice(_FLOATS)
    number = held + random.choice((-1, 1)) if held is not None and random.random() < 0.3 else random.choice(_INTEGERS)
    low, high = _RANGES.get(field.type, (-(2**63), 2**63 - 1))
    return min(max(number, low), high)


_RANGES = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.TYPE_BOOL: (0, 1),
}


# ---- graphs ----


def _graphs(graph: Any) -> Iterator[Any]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _graph(random: Random, model: Any) -> Any:
    return random.choice(list(_graphs(model.graph)))


def _node(random: Random, model: Any) -> Any:
    nodes = [node for graph in _graphs(model.graph) for node in graph.node]
    nodes += [node for function in model.functions for node in function.node]
    return random.choice(nodes) if nodes else onnx.NodeProto()


def _some_name(random: Random, model: Any) -> str:
    names = [name for graph in _graphs(model.graph) for node in graph.node for name in (*node.input, *node.output)]
    return random.choice([*names, random.choice(_NAMES)])


def _rename_use(random: Random, model: Any) -> None:
    node = _node(random, model)
    held = random.choice((node.input, node.output))
    if len(held):
        held[random.randrange(len(held))] = _some_name(random, model)


def _rename_result(random: Random, model: Any) -> None:
    graph = _graph(random, model)
    held = random.choice((graph.output, graph.input, graph.initializer))
    if len(held):
        random.choice(list(held)).name = _some_name(random, model)


def _change_inputs(random: Random, model: Any) -> None:
    node = _node(random, model)
    choice = random.randrange(3)
    if choice == 0 and len(node.input):
        del node.input[random.randrange(len(node.input)) :]
    elif choice == 1:
        node.input.append(_some_name(random, model))
    elif len(node.input):
        node.input[random.randrange(len(node.input))] = ""


def _change_outputs(random: Random, model: Any) -> None:
    node = _node(random, model)
    if random.random() < 0.5:
        del node.output[random.randrange(len(node.output) + 1) :]
    else:
        node.output.append(random.choice(("another", _some_name(random, model))))


def _change_operator(random: Random, model: Any) -> None:
    node = _node(random, model)
    schemas = onnx.defs.get_all_schemas()
    node.op_type = random.choice((random.choice(schemas).name, random.choice(_NAMES), node.op_type))
    if random.random() < 0.3:
        node.domain = random.choice(_DOMAINS)


def _change_attribute(random: Random, model: Any) -> None:
    node = _node(random, model)
    choice = random.randrange(3)
    if choice == 0 and len(node.attribute):
        del node.attribute[random.randrange(len(node.attribute))]
    elif choice == 1 and len(node.attribute):
        at = random.randrange(len(node.attribute))
        node.attribute[at].CopyFrom(_attribute(random, node.attribute[at].name))
    else:
        node.attribute.append(_attribute(random, _attribute_name(random, node)))


def _attribute_name(random: Random, node: Any) -> str:
    try:
        known = list(onnx.defs.get_schema(node.op_type, domain=node.domain).attributes)
    except onnx.defs.SchemaError:
        known = []
    return random.choice([*known, random.choice(_NAMES)])


def _attribute(random: Random, name: str) -> Any:
    count = random.choice((0, 1, 2, 2, 4, 9))
    value = random.choice(
        (
            random.choice(_INTEGERS),
            random.choice(_INTEGERS),
            random.choice(_FLOATS),
            random.choice(_BYTES),
            random.choices(_INTEGERS, k=count),
            random.choices((-1, 0, 1, 1, 2, 3), k=count),
            random.choices(_FLOATS, k=count),
            random.choices(_BYTES, k=count),
        )
    )
    if value == []:
        return onnx.AttributeProto(name=name, type=random.choice((6, 7, 8)))
    return helper.make_attribute(name, value)


def _change_type(random: Random, model: Any) -> None:
    """Element types and shapes of inputs: absurd, of another rank, symbolic, negative."""
    held = list(_graph(random, model).input)
    if not held:
        return
    tensor = random.choice(held).type.tensor_type
    choice = random.randrange(5)
    if choice == 0:
        tensor.elem_type = random.choice((*range(28), 99, -1))
    elif choice == 1:
        tensor.shape.dim.add().dim_value = random.choice((0, 1, 2, *_INTEGERS))
    elif choice == 2 and len(tensor.shape.dim):
        del tensor.shape.dim[random.randrange(len(tensor.shape.dim))]
    elif choice == 3:
        for dim in tensor.shape.dim:
            dim.dim_param = random.choice(("n", "m", "n + 1", "2 * n", random.choice(_NAMES)))
    elif len(tensor.shape.dim):
        random.choice(list(tensor.shape.dim)).dim_value = random.choice((0, 1, *_INTEGERS))


def _change_opset(random: Random, model: Any) -> None:
    choice = random.randrange(4)
    if choice == 0:
        del model.opset_import[:]
    elif choice == 1 or not len(model.opset_import):
        model.opset_import.add(domain=random.choice(_DOMAINS), version=random.choice(_OPSETS))
    else:
        random.choice(list(model.opset_import)).version = random.choice(_OPSETS)


def _cycle(random: Random, model: Any) -> None:
    node = _node(random, model)
    if len(node.input) and len(node.output):
        node.input[random.randrange(len(node.input))] = random.choice(list(node.output))


def _reorder(random: Random, model: Any) -> None:
    graph = _graph(random, model)
    if len(graph.node) > 1:
        _swap(random, graph.node)


# ---- inputs that become constants ----


def _make_constant(random: Random, model: Any) -> None:
    """Turn an input into an initializer with bytes that often do not match."""
    graph = model.graph
    if not len(graph.input):
        return
    at = random.randrange(len(graph.input))
    held = graph.input[at]
    made = graph.initializer.add(name=held.name, data_type=held.type.tensor_type.elem_type)
    made.dims.extend(dim.dim_value for dim in held.type.tensor_type.shape.dim)
    _fill(random, made)
    if random.random() < 0.7:
        del graph.input[at]


_WIDTHS = {
    1: 4,
    2: 1,
    3: 1,
    4: 2,
    5: 2,
    6: 4,
    7: 8,
    9: 1,
    10: 2,
    11: 8,
    12: 4,
    13: 8,
    16: 2,
    17: 1,
    18: 1,
    19: 1,
    20: 1,
}


def _fill(random: Random, tensor: Any) -> None:
    count = 1
    for size in tensor.dims:
        count *= max(size, 0)
    if count > 10_000:
        return
    size = count * _WIDTHS.get(tensor.data_type, 1)
    if random.random() < 0.6:
        tensor.raw_data = bytes(random.choices((0, 0, 0, 1, 2, 3, 63, 128, 255), k=size))
    if random.random() < 0.3:
        random.choice((tensor.int64_data, tensor.int32_data)).extend(random.choices((0, 1, 2, -1), k=min(count, 64)))
    if random.random() < 0.3:
        tensor.raw_data = tensor.raw_data[: random.randrange(len(tensor.raw_data) + 1)]
    if random.random() < 0.1:
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for _ in range(random.randrange(4)):
            key = random.choice(("location", "location", "offset", "length", "checksum", ""))
            value = random.choice(
                (".", "input.onnx", "input.onnx", "/etc/passwd", "../x", "no.bin", "", "-1", "7", str(2**70))
            )
            tensor.external_data.add(key=key, value=value)
    if random.random() < 0.1:
        tensor.segment.begin = random.choice(_INTEGERS)


# ---- models around models ----


def _into_function(random: Random, model: Any) -> None:
    """Move all nodes into a function, which sometimes calls itself, or does not exist."""
    graph = model.graph
    inputs, outputs = [each.name for each in graph.input], [each.name for each in graph.output]
    function = helper.make_function("mine", "F", inputs, outputs, list(graph.node), list(model.opset_import))
    call = helper.make_node("F", inputs, outputs, domain="mine", name="call")
    if random.random() < 0.2:
        function.node.append(call)
    del graph.node[:]
    graph.node.append(call)
    model.opset_import.add(domain="mine", version=1)
    if random.random() < 0.9:
        model.functions.append(function)


def _into_branches(random: Random, model: Any) -> None:
    """Move all nodes into the branches of an If, which may have different numbers of outputs."""
    graph = model.graph
    outputs = [helper.make_empty_tensor_value_info(each.name) for each in graph.output]
    branches = {name: helper.make_graph(list(graph.node), name, [], outputs) for name in ("then_branch", "else_branch")}
    for branch in branches.values():
        if random.random() < 0.1 and len(branch.output):
            del branch.output[0]
    names = [f"{each.name}_" for each in graph.output]
    node = helper.make_node("If", ["if_condition"], names, **branches)
    del graph.node[:]
    graph.node.append(node)
    for each, name in zip(graph.output, names, strict=True):
        each.name = name
    graph.input.append(helper.make_tensor_value_info("if_condition", onnx.TensorProto.BOOL, []))


def _into_loop(random: Random, model: Any) -> None:
    """Move all nodes into the body of a Loop of a few iterations, which gathers the outputs."""
    graph = model.graph
    turn = helper.make_tensor_value_info("loop_turn", onnx.TensorProto.INT64, [])
    goes_on = helper.make_tensor_value_info("loop_on", onnx.TensorProto.BOOL, [])
    kept = helper.make_node("Identity", ["loop_on"], ["loop_goes_on"])
    held = [helper.make_tensor_value_info("loop_goes_on", onnx.TensorProto.BOOL, []), *graph.output]
    body = helper.make_graph([kept, *graph.node], "body", [turn, goes_on], held)
    names = [f"{each.name}_" for each in graph.output]
    node = helper.make_node("Loop", ["loop_count", ""], names, body=body)
    del graph.node[:], graph.output[:]
    graph.node.append(node)
    graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    graph.input.append(helper.make_tensor_value_info("loop_count", onnx.TensorProto.INT64, []))


_INPUT_CHANGES: tuple[_Change, ...] = (_change_type, _make_constant)
_CHANGES: tuple[_Change, ...] = (
    *(_change_attribute,) * 4,
    *(_change_inputs, _change_outputs, _rename_use, _rename_result, _change_operator, _change_opset) * 2,
    *(_cycle, _reorder),
)
_WRAPPINGS: tuple[_Change, ...] = (_into_function, _into_branches, _into_loop)
