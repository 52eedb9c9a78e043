# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds for each public function of the graph the one that callers see, by the packed-function ABI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ....bindings.mlir import ir, string_value
from ....bindings.rewriting import located_error
from ....dialects.core.codec import decode
from ....dialects.core.infos import Info, ObjectInfo, TensorInfo
from ....dialects.relax.function_attributes import INPUT_GROUPS, RESULT_GROUPS, RESULT_NAMES
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.lower_calls.function import INPUTS, MAKERS, NAMES, RESULTS, input_symbols, is_sized
from ....passes.lower_calls.written import WRITTEN
from ..abi import EXPORT_PREFIX
from ..grouping import given_outputs, passed_inputs
from ..packed_entry import add_packed_entry, kernel_name
from ..signature import Passed, Result, Signature, single
from .llvm_name_functions import NAME, name_in_program
from .llvm_profile_kernels import PROFILE, profile_of

#: On the module: for each entry what the manifest says of it, as JSON.
ENTRIES = "relax.entries"
#: Attributes that have served their purpose.
_SPENT = (INPUTS, RESULTS, MAKERS, NAMES, NAME, WRITTEN, RESULT_NAMES, INPUT_GROUPS, RESULT_GROUPS, PROFILE)
_INTERNAL = "#llvm.linkage<internal>"


@register_pass
@dataclass(frozen=True)
class AddEntries(Pass):
    """Adds the functions that callers see, by the packed-function ABI, for the graph's public functions."""

    name: ClassVar[str] = "llvm-add-entries"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)

    def run(self, op: Any) -> None:
        _refuse_nested(op)
        entries = [function for function in _functions(op) if INPUTS in function.attributes]
        public = [function for function in entries if is_public(function)]
        signatures = [signature_of(function) for function in public]
        profiles = [profile_of(function) for function in public]
        for function in entries:
            _rename(op, function)
        for function in _functions(op):
            _hide(function)
            for name in [name for name in _SPENT if name in function.attributes]:
                del function.attributes[name]
        for each in signatures:
            add_packed_entry(op, each)
        with op.context:
            before = list(op.attributes[ENTRIES]) if ENTRIES in op.attributes else []
            contents = [{**each.describe(), **more} for each, more in zip(signatures, profiles, strict=True)]
            described = [ir.StringAttr.get(json.dumps(content, sort_keys=True)) for content in contents]
            op.attributes[ENTRIES] = ir.ArrayAttr.get([*before, *described])


def _functions(module: Any) -> list[Any]:
    operations = [view.operation for view in module.regions[0].blocks[0].operations]
    return [op for op in operations if op.name in ("llvm.func", "func.func")]


def _refuse_nested(module: Any) -> None:
    """Raises RelaxError for a module in the module: what another code generator was to compile, and has not."""
    for op in [view.operation for view in module.regions[0].blocks[0].operations]:
        if op.name == "builtin.module":
            name = f" @{string_value(op.attributes['sym_name'])}" if "sym_name" in op.attributes else ""
            reason = "is not for this target: whoever compiles it must take it out before"
            raise located_error(f"the nested module{name} {reason}", op.location)


def is_public(function: Any) -> bool:
    attributes = function.attributes
    return "sym_visibility" not in attributes or string_value(attributes["sym_visibility"]) == "public"


def _rename(module: Any, function: Any) -> None:
    """The function that works for the entry; nobody else calls it from outside."""
    old = string_value(function.attributes["sym_name"])
    new = kernel_name(name_in_program(function))
    with function.context:
        ir.SymbolTable.replace_all_symbol_uses(old, new, module)
        function.attributes["sym_name"] = ir.StringAttr.get(new)


def _hide(function: Any) -> None:
    """Symbols of the C library are not to be taken for ours, nor ours for theirs."""
    is_exported = string_value(function.attributes["sym_name"]).startswith(EXPORT_PREFIX)
    if len(function.regions[0].blocks) and not is_exported:
        function.attributes["linkage"] = ir.Attribute.parse(_INTERNAL, function.context)


def signature_of(function: Any) -> Signature:
    """What callers of a lowered graph function pass and get."""
    attributes = function.attributes
    inputs = [decode(ir.TypeAttr(each).value) for each in attributes[INPUTS]]
    results = [decode(ir.TypeAttr(each).value) for each in attributes[RESULTS]]
    names = [string_value(each) for each in attributes[NAMES]]
    outputs = [result_info(info, inputs) for info in results]
    passed = passed_inputs(function, names, inputs)
    return Signature(
        name_in_program(function),
        passed,
        given_outputs(function, results, outputs),
        _result_names(function),
        _written(function, passed),
        tuple(string_value(each) for each in attributes[MAKERS]) if MAKERS in attributes else (),
    )


def _written(function: Any, passed: Sequence[tuple[str, Passed]]) -> frozenset[str]:
    """The names of what a call may write to: a list where that is one of its tensors."""
    positions = set(function.attributes[WRITTEN]) if WRITTEN in function.attributes else set()
    owners = [name for name, info in passed for _ in single([info])]
    return frozenset(owners[position] for position in positions)


def _result_names(function: Any) -> tuple[str, ...]:
    """What a model calls the results; nothing where they have no names."""
    if RESULT_NAMES not in function.attributes:
        return ()
    names = function.attributes[RESULT_NAMES]
    if not isinstance(names, ir.ArrayAttr) or not all(isinstance(each, ir.StringAttr) for each in names):
        raise located_error(f"attribute '{RESULT_NAMES}' must be an array of strings", function.location)
    return tuple(string_value(each) for each in names)


def result_info(info: Info, inputs: Sequence[Info]) -> Result:
    """A tensor that the caller makes room for, or an object that the function makes."""
    if isinstance(info, TensorInfo) and is_sized(info, input_symbols(inputs)):
        return info
    return ObjectInfo()
