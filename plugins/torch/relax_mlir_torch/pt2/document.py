# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graph of a .pt2 archive, from JSON, with everything checked that torch would execute, import or evaluate."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Annotated, Any, TypeAlias

from .checked_names import check_identifier, check_path
from .refusals import refuse, shortened
from .size_expressions import parse_expression
from .structures import check_structure
from .targets import HasConverter, check_target

Check: TypeAlias = Callable[[Any], Any]
#: The metadata of a node to keep: source lines and modules.
_METADATA = ("stack_trace", "nn_module_stack", "torch_fn")
#: torch counts one by one up to the number of a symbol that depends on data.
_UNBACKED = re.compile(r"(?:u|zuf)\d+")
_MOST_UNBACKED = 1_000_000


def read_document(data: object, has_converter: HasConverter) -> Any:
    """Return the program as an instance of torch's schema. Raise UnreadableError if reading the program runs code."""
    from torch._export.serde import schema, serialize

    program = serialize._dict_to_dataclass(schema.ExportedProgram, data)
    _DocumentChecker(schema, has_converter).check(program, schema.ExportedProgram, "the program")
    program.guards_code = []  # Python source code, which the import does not need.
    program.graph_module.metadata = {}
    for node in _nodes_in(program.graph_module.graph):
        node.metadata = {key: text for key, text in node.metadata.items() if key in _METADATA}
    return program


def _nodes_in(graph: Any) -> Iterator[Any]:
    """Walk the nodes of a graph and of the graphs in its nodes."""
    for node in graph.nodes:
        yield node
        for argument in node.inputs:
            yield from _nodes_in_argument(argument.arg)


def _nodes_in_argument(argument: Any) -> Iterator[Any]:
    if argument.type == "as_graph":
        yield from _nodes_in(argument.value.graph)
    elif argument.type == "as_string_to_argument":
        for each in argument.value.values():
            yield from _nodes_in_argument(each)


# ---- checks of texts ----


def _anything(text: str) -> str:
    """Accept texts that torch keeps as values, and writes as literals."""
    return text


def _argument_name(name: str) -> str:
    return name and check_identifier(name)


def _no_object(name: str) -> str:
    refuse(f"the program uses an object in C++ or of its author's class, {shortened(name)}, which only code can make")


def _range_name(name: str) -> str:
    if _UNBACKED.fullmatch(name) and int(name.lstrip("zuf")) > _MOST_UNBACKED:
        refuse(f"a symbolic size has the name {shortened(name)}: at most {_MOST_UNBACKED} are allowed")
    return name


#: Fields with names of operators.
_TARGETS = ("Node.target", "Argument.as_operator")
#: Checks of texts and of keys by the class and the field of torch's schema. Other texts are names or paths.
_CHECKS: Mapping[str, Check] = {
    "SymExpr.expr_str": parse_expression,
    "SymIntArgument.as_name": check_identifier,
    "SymFloatArgument.as_name": check_identifier,
    "SymBoolArgument.as_name": check_identifier,
    "TensorArgument.name": check_identifier,
    "TokenArgument.name": check_identifier,
    "GraphArgument.name": check_identifier,
    "CustomObjArgument.name": _no_object,
    "CustomObjArgument.class_fqn": _no_object,
    "Argument.as_string": _anything,
    "Argument.as_strings": _anything,
    "NamedArgument.name": _argument_name,
    "Node.name": check_identifier,
    "Node.metadata": _anything,
    "Graph.tensor_values": check_identifier,
    "Graph.sym_int_values": check_identifier,
    "Graph.sym_bool_values": check_identifier,
    "Graph.sym_float_values": check_identifier,
    "ConstantValue.as_string": _anything,
    "InputToConstantInputSpec.name": _argument_name,
    "GradientToUserInputSpec.user_input_name": check_identifier,
    "UserInputMutationSpec.user_input_name": check_identifier,
    "ModuleCallSignature.in_spec": lambda text: check_structure(text, has_arguments=True),
    "ModuleCallSignature.out_spec": lambda text: check_structure(text, has_arguments=False),
    "ModuleCallSignature.forward_arg_names": check_identifier,
    "NamedTupleDef.field_names": check_identifier,
    "GraphModule.metadata": _anything,
    "ExportedProgram.range_constraints": _range_name,
    "ExportedProgram.torch_version": _anything,
    "ExportedProgram.guards_code": _anything,
}


class _DocumentChecker:
    """Walk over a program by the types of torch's schema, which replaces texts of sizes by expressions."""

    def __init__(self, schema: object, has_converter: HasConverter) -> None:
        self._schema = schema
        self._checks = {**_CHECKS, **dict.fromkeys(_TARGETS, lambda name: check_target(name, has_converter))}
        self._hints: dict[type, dict[str, Any]] = {}

    def check(self, value: object, hint: object, place: str) -> Any:
        """Return the value of a field. `place` names the class and the field."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return self.check(value, arguments[0], place)
        if origin in (typing.Union, types.UnionType):
            return None if value is None else self.check(value, arguments[0], place)
        if origin is list and isinstance(value, list):
            return [self.check(each, arguments[0], place) for each in value]
        if origin is dict and isinstance(value, dict):
            return self._mapping(value, arguments[1], place)
        if dataclasses.is_dataclass(hint) and type(value) is hint:
            return self._fields(value, hint)
        if hint is str and isinstance(value, str):
            return self._checks.get(place, check_path)(value)
        if isinstance(hint, type) and _is_number(value, hint):
            return value
        refuse(f"{place} is {shortened(value)}, expected {getattr(hint, '__name__', hint)}")

    def _mapping(self, value: dict[Any, Any], hint: object, place: str) -> dict[str, Any]:
        check_key = self._checks.get(place, check_path)
        return {check_key(key): self.check(each, hint, place) for key, each in value.items()}

    def _fields(self, value: Any, kind: type) -> Any:
        if kind not in self._hints:
            self._hints[kind] = typing.get_type_hints(kind, vars(self._schema), include_extras=True)
        hints = self._hints[kind]
        # A union has a single field that is set.
        names = [str(value.type)] if hasattr(kind, "create") else list(hints)
        for name in names:
            if name in hints and not name.startswith("_"):
                setattr(value, name, self.check(getattr(value, name), hints[name], f"{kind.__name__}.{name}"))
        return value


def _is_number(value: object, hint: type) -> bool:
    """Check a number or a truth value. Numbers of enumerations are integers in JSON."""
    expected = int if issubclass(hint, IntEnum) else hint
    return expected in (int, bool, float) and type(value) is expected
