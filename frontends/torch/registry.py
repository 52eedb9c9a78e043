# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of torch's operators to relax's: by overload, `aten::add.Tensor`, or by operator for all of
its overloads that have none of their own, `aten::add`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...support.argument_types import types_checked
from ...support.errors import RelaxError
from ...support.suggest import suggest
from ..core.converters import NamedConverter, NamedConverters
from ..core.node import Unsupported
from ..core.values import Outputs
from .fx_node import Node
from .fx_operators import name_of
from .in_place import is_mutable, updated_arguments

#: `convert(node)` returns the outputs: values, or one.
Convert = Callable[[Node], Outputs]
Function = TypeVar("Function", bound=Convert)


CONVERTERS = NamedConverters("torch", "torch operator", __package__ or "", "mylib::op.default")
register_rows = CONVERTERS.teach_rows


@types_checked
def register_torch(*names: str) -> Callable[[Function], Function]:
    """Teaches the front end operators of torch, those of `torch.library` too; use it as a decorator.

    A name is an overload's, "mylib::op.default", or an operator's, "mylib::op", for all overloads that have no
    converter of their own.
    """
    return CONVERTERS.teaching(*map(_canonical, names))


def _canonical(name: str) -> str:
    namespace, separator, operator = name.partition("::")
    if not separator:
        # As torch prints them: mylib.op.default
        namespace, separator, operator = name.partition(".")
    if not namespace or not operator:
        raise RelaxError(f"register_torch: {name!r} is no operator's name; expected one such as 'mylib::op.default'")
    return f"{namespace}::{operator}"


def find_converter(name: str) -> NamedConverter | None:
    """The converter of an overload, `aten::add.Tensor`, or the one of its operator."""
    return CONVERTERS.converter_of(name, name.rpartition(".")[0])


def find_complex_converter(name: str) -> NamedConverter | None:
    """The converter of an operator whose arguments or results are complex numbers."""
    return find_converter(_of_complex(name))


def register_complex(*names: str) -> Callable[[Function], Function]:
    """As `register_torch`, for nodes with arguments or results that are complex numbers."""
    return register_torch(*map(_of_complex, names))


def _of_complex(name: str) -> str:
    return f"complex {name}"


def converter_of(node: Node) -> NamedConverter | None:
    """Return the converter of a node's operator, for complex numbers if the node has some."""
    return find_complex_converter(node.op) if node.is_complex else find_converter(node.op)


def converted(node: Node, target: Any) -> Outputs:
    """What the converter of a node's operator makes of it; `target` is the operator. Raises Unsupported without one."""
    converter = converter_of(node)
    if converter is None:
        raise (
            Unsupported("no converter of this operator for complex numbers")
            if node.is_complex
            else unknown(target, is_inside=node.fx.target is not target)
        )
    return converter(node)


def unknown(target: Any, *, is_inside: bool = False) -> Unsupported:
    """Why a use of an operator without a converter cannot be imported, and how it is taught. `is_inside` of a node that
    is called otherwise.
    """
    name = name_of(target)
    schema = getattr(target, "_schema", None)
    near = suggest(name, known_names(name.partition("::")[0]))
    names = [each.name for each in schema.arguments] if schema is not None else ["x"]
    changed = updated_arguments(target) if is_mutable(target) else []
    result = (
        f"what {', '.join(changed)} {'becomes' if len(changed) == 1 else 'become'}" if changed else "what it computes"
    )
    lines = f"""teach it in your own package, where the operator's arguments have these names: {", ".join(names)}
@rx.register_torch("{name}")
def convert(node):
    return relax.nn.relu(node.tensor("{names[0] if names else "x"}"))  # {result}, with relax's operators"""
    return Unsupported(f"no converter{f' of {name}' if is_inside else ''}{near}", help=lines)


def known_names(namespace: str) -> list[str]:
    """The operators and overloads of a namespace that have a converter."""
    CONVERTERS.load()
    return sorted(name for name in list(CONVERTERS.entries) if name.startswith(f"{namespace}::"))
