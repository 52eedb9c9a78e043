# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addition of an entry, by the packed-function ABI, for each public function of the graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import (
    body_of,
    function_type_of,
    functions_in,
    has_body,
    operations_of,
    symbol_name,
    text_in,
)
from ....bindings.rewriting import located_error
from ....dialects.core.codec import decode
from ....dialects.core.infos import ObjectInfo, TensorInfo
from ....dialects.core.ir_attributes import (
    DEVICE,
    ENTRIES,
    GRAPH_INPUTS,
    GRAPH_RESULTS,
    GROWN,
    INPUT_NAMES,
    RESULT_LABELS,
    RESULT_MAKERS,
    RESULT_NAMES,
    STRUCTURE,
    WRITTEN,
)
from ....dialects.relax.function_attributes import decode_grown, decode_labels
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.memory.lower_calls.stated import memory_of
from ....support.errors import RelaxError
from ..entry import add_entry, define_device, is_entry
from ..graphs import graph_of
from ..llvm_ops import INTERNAL, LINKAGE
from ..signature import Passed, Signature, given_outputs, passed_inputs
from ..support import Support
from .host_name_functions import name_in_program
from .host_profile_kernels import profile_of


@register_pass
class AddEntries(Pass):
    """Add an entry function, by the packed-function ABI, for each public function of the graph."""

    name: ClassVar[str] = "host-add-entries"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "llvm", "memref", "scf")

    def run(self, op: Operation) -> None:
        _refuse_nested(op)
        functions = [each for each in functions_in(op) if has_body(each) and not is_entry(each)]
        graphs = [each for each in functions if GRAPH_INPUTS in each.attributes]
        public = [graph for graph in graphs if text_in(graph, "sym_visibility", "public") == "public"]
        signatures = [signature_of(function) for function in public]
        support = Support(op)
        if DEVICE in op.attributes:
            define_device(support)
        before = list(op.attributes[ENTRIES]) if ENTRIES in op.attributes else []
        for place, (signature, function) in enumerate(zip(signatures, public, strict=True), len(before)):
            add_entry(support, signature, function, place)
        with op.context:
            for function in functions:
                _hide(function)
            contents = [
                {
                    **signature.describe(),
                    **_grown_of(function),
                    **_structure_of(function),
                    **profile_of(function),
                    **memory_of(function),
                    **graph_of(text_in(op, DEVICE), signature, function),
                }
                for signature, function in zip(signatures, public, strict=True)
            ]
            described = [ir.StringAttr.get(json.dumps(content, sort_keys=True)) for content in contents]
            op.attributes[ENTRIES] = ir.ArrayAttr.get([*before, *described])


def _refuse_nested(module: Operation) -> None:
    """Raise RelaxError for a nested module. Another code generator should have compiled and removed it."""
    for op in operations_of(body_of(module)):
        if op.name == "builtin.module":
            name = f" @{symbol_name(op)}" if symbol_name(op) else ""
            reason = "is not for this target: whoever compiles it must take it out before"
            raise located_error(f"the nested module{name} {reason}", op.location)


def _hide(function: Operation) -> None:
    """Make a symbol private, so that it cannot collide with symbols of the C library."""
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    function.attributes[LINKAGE] = ir.Attribute.parse(INTERNAL)


def signature_of(function: Operation) -> Signature:
    """Return the signature of a lowered graph function."""
    attributes = function.attributes
    inputs = [decode(ir.TypeAttr(each).value) for each in attributes[GRAPH_INPUTS]]
    results = [decode(ir.TypeAttr(each).value) for each in attributes[GRAPH_RESULTS]]
    names = [string_value(each) for each in attributes[INPUT_NAMES]]
    # The lowering decided the kind of each result: a tensor that the caller allocates, or an object that the function
    # makes.
    parameters = function_type_of(function).inputs[len(inputs) :]
    outputs = [
        info if isinstance(info, TensorInfo) and isinstance(type_, ir.MemRefType) else ObjectInfo()
        for info, type_ in zip(results, parameters, strict=True)
    ]
    written = list(attributes[WRITTEN]) if WRITTEN in attributes else []
    return Signature(
        name_in_program(function),
        passed_inputs(function, names, inputs, written),
        _named(function, given_outputs(function, results, outputs)),
        tuple(string_value(each) for each in attributes[RESULT_MAKERS]) if RESULT_MAKERS in attributes else (),
    )


def _structure_of(function: Operation) -> dict[str, object]:
    """Return the manifest entry for the structure of the model's arguments and results."""
    text = text_in(function, STRUCTURE, "")
    return {"structure": json.loads(text)} if text else {}


def _grown_of(function: Operation) -> dict[str, object]:
    """Return the manifest entry of inputs that grow in place.

    Each must be written to, or its new rows would be lost.
    """
    try:
        grown = decode_grown(function)
    except ValueError as problem:
        raise located_error(f"attribute '{GROWN}' {problem}", function.location) from None
    written = list(function.attributes[WRITTEN]) if WRITTEN in function.attributes else []
    places = {string_value(name): place for place, name in enumerate(function.attributes[INPUT_NAMES])}
    for each in grown:
        if each.input not in places or each.length not in places:
            reason = f"names arguments '{each.input}' and '{each.length}', of which it has one at most"
            raise located_error(f"attribute '{GROWN}' {reason}", function.location)
        if places[each.input] not in written:
            reason = "nothing that is computed reads what it grows to: do not donate it"
            raise located_error(f"argument '{each.input}' is not written to, as {reason}", function.location)
    buffers = [{**each._asdict(), "input": places[each.input], "length": places[each.length]} for each in grown]
    return {"grown": buffers} if buffers else {}


def _named(function: Operation, outputs: Sequence[Passed]) -> tuple[Passed, ...]:
    """Return the results with the model's names for them, or without names if the model has none."""
    names = [""] * len(outputs)
    if RESULT_NAMES in function.attributes:
        held = function.attributes[RESULT_NAMES]
        if not isinstance(held, ir.ArrayAttr) or not all(isinstance(each, ir.StringAttr) for each in held):
            raise located_error(f"attribute '{RESULT_NAMES}' must be an array of strings", function.location)
        names = list(map(string_value, held)) or names
    if len(names) != len(outputs):
        raise RelaxError(
            f"function '{name_in_program(function)}' has {len(outputs)} results and {len(names)} names for them"
        )
    try:
        labels = decode_labels(function)
    except ValueError as problem:
        raise located_error(f"attribute '{RESULT_LABELS}' {problem}", function.location) from None
    pairs = zip(outputs, names, strict=True)
    return tuple(
        each._replace(group=each.group._replace(name=name), labels=labels.get(name, ())) for each, name in pairs
    )
