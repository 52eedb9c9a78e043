# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of the structures of arguments and results: torch's tree specifications, as JSON in .pt2 archives.

torch imports the modules that such a specification names, for enumerations and for the factories of defaultdicts. torch
also writes the names of keyword arguments into source code.
"""

from __future__ import annotations

import json
import sys
from enum import Enum
from typing import Any

from .checked_names import check_identifier
from .refusals import refuse, shortened
from .registrations import import_hint, register_type

_PROTOCOL = 1
_KEYS = {"type", "context", "children_spec"}
#: Factories of defaultdicts: constructors of Python's own containers and numbers.
_FACTORIES = ("list", "dict", "set", "tuple", "int", "float", "bool", "str")
_DEFAULTDICT, _DICT, _NAMEDTUPLE = "collections.defaultdict", "builtins.dict", "collections.namedtuple"


def check_structure(text: str, *, has_arguments: bool) -> str:
    """Return the text of a tree specification. Raise UnreadableError if torch would import modules to read the text.

    `has_arguments` says that the structure is a tuple of positional arguments and a dictionary of keyword arguments.
    """
    found = json.loads(text)
    if not isinstance(found, list) or len(found) != 2 or found[0] != _PROTOCOL:
        refuse(f"the structure of arguments or results is {shortened(text)}, expected version {_PROTOCOL}")
    _check_tree(found[1])
    if has_arguments:
        _check_arguments(found[1])
    return text


def _check_tree(tree: object) -> None:
    if not isinstance(tree, dict) or set(tree) != _KEYS or not isinstance(tree["children_spec"], list):
        refuse(f"{shortened(tree)} is not a structure of arguments or results")
    if tree["type"] is not None:
        _check_node(tree["type"], tree["context"])
    for child in tree["children_spec"]:
        _check_tree(child)


def _check_node(kind: object, context: object) -> None:
    _check_type(kind)
    if kind == _DEFAULTDICT:
        if not isinstance(context, dict) or (
            context.get("default_factory_module") != "builtins" or context.get("default_factory_name") not in _FACTORIES
        ):
            refuse(f"the factory of a defaultdict is {shortened(context)}, expected one of {', '.join(_FACTORIES)}")
        return
    if kind == _NAMEDTUPLE:
        _check_type(context)
        return
    try:
        value = json.loads(context) if isinstance(context, str) else context
    except ValueError:
        return  # A text that torch keeps as a text.
    _check_enumerations(value)


def _check_type(name: object) -> None:
    """Refuse types that torch does not know in this process."""
    from torch.utils._pytree import SERIALIZED_TYPE_TO_PYTHON_TYPE

    if isinstance(name, str) and name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        register_type(name)
    if not isinstance(name, str) or name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        refuse(
            f"an argument or a result is of the type {shortened(name, 120)}, which torch does not know in this process",
            import_hint("type", str(name).rpartition(".")[0]),
        )


def _check_enumerations(value: object) -> None:
    """Refuse members of enumerations that are not imported yet, because torch would import their module."""
    children: Any = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    if isinstance(value, dict) and "__enum__" in value:
        _check_enumeration(value.get("fqn"))
    for child in children:
        _check_enumerations(child)


def _check_enumeration(name: object) -> None:
    module, _, path = str(name).partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    if not (isinstance(found, type) and issubclass(found, Enum)):
        refuse(f"a structure of arguments names {shortened(name)}, which is not an enumeration that is imported")


def _check_arguments(tree: Any) -> None:
    """Check the names of keyword arguments."""
    if len(tree["children_spec"]) != 2 or tree["children_spec"][1]["type"] != _DICT:
        refuse("the structure of arguments is not a tuple of arguments and a dictionary of keyword arguments")
    context = tree["children_spec"][1]["context"]
    names = json.loads(context) if isinstance(context, str) else context
    if not isinstance(names, list):
        refuse(f"the names of keyword arguments are {shortened(names)}, expected a list")
    for name in names:
        check_identifier(name)
