# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of torch operators to relax.

A converter is for an overload, `aten::add.Tensor`, or for all overloads of an operator without one of their own,
`aten::add`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from relax_mlir.frontends.core.converters import NamedConverter, NamedConverters
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.core.values import Outputs
from relax_mlir.support.argument_types import types_checked
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.suggest import suggest

from .fx_node import TorchNode
from .fx_operators import name_of
from .in_place import is_mutable, updated_arguments

#: `convert(node)` returns the outputs: a list of values, or a single value.
Convert = Callable[[TorchNode], Outputs]
Function = TypeVar("Function", bound=Convert)


CONVERTERS = NamedConverters("torch", "torch operator", __package__ or "", "mylib::op.default")
#: Converters for nodes with complex arguments or results.
COMPLEX_CONVERTERS = NamedConverters(
    "torch", "torch operator of complex numbers", __package__ or "", "mylib::op.default"
)
register_rows = CONVERTERS.teach_rows


@types_checked
def register_torch(*names: str) -> Callable[[Function], Function]:
    """Register the converter of operators of torch, also of `torch.library`. Use as a decorator.

    A name is an overload, "mylib::op.default", or an operator, "mylib::op", for all overloads without a converter of
    their own.
    """
    return CONVERTERS.teaching(*map(_canonical, names))


def _canonical(name: str) -> str:
    namespace, separator, operator = name.partition("::")
    if not separator:
        # torch's printed form: mylib.op.default.
        namespace, separator, operator = name.partition(".")
    if not namespace or not operator:
        raise RelaxError(
            f"register_torch: {name!r} is not the name of an operator; expected one such as 'mylib::op.default'"
        )
    return f"{namespace}::{operator}"


def find_converter(name: str) -> NamedConverter | None:
    """Return the converter of an overload, `aten::add.Tensor`, or of its operator."""
    return CONVERTERS.converter_of(name, name.rpartition(".")[0])


def find_complex_converter(name: str) -> NamedConverter | None:
    """Return the converter of an operator for complex arguments or results."""
    return COMPLEX_CONVERTERS.converter_of(name, name.rpartition(".")[0])


def register_complex(*names: str) -> Callable[[Function], Function]:
    """Register a converter like `register_torch`, for nodes with complex arguments or results."""
    return COMPLEX_CONVERTERS.teaching(*map(_canonical, names))


def register_real_and_complex(*names: str) -> Callable[[Function], Function]:
    """Register a converter like `register_torch`, for nodes with complex arguments or results, too."""
    return lambda function: register_complex(*names)(register_torch(*names)(function))


def converter_of(node: TorchNode) -> NamedConverter | None:
    """Return the converter of a node's operator, for complex numbers if the node has some."""
    return find_complex_converter(node.op) if node.is_complex else find_converter(node.op)


def converted(node: TorchNode, target: object) -> Outputs:
    """Return the result of the converter of a node's operator, `target`. Raise Unsupported without a converter."""
    if (converter := converter_of(node)) is None:
        raise (
            Unsupported("no converter of this operator for complex numbers")
            if node.is_complex
            else unknown(target, is_inside=node.fx.target is not target)
        )
    return converter(node)


def unknown(target: object, *, is_inside: bool = False) -> Unsupported:
    """Return the error for an operator without a converter, with an example of how to register one.

    With `is_inside`, the node calls another operator than `target`.
    """
    name = name_of(target)
    schema = getattr(target, "_schema", None)
    near = suggest(name, known_names(name.partition("::")[0]))
    names = [argument.name for argument in schema.arguments] if schema is not None else ["x"]
    changed = updated_arguments(target) if is_mutable(target) else []
    result = f"the new value{'' if len(changed) == 1 else 's'} of {', '.join(changed)}" if changed else "the result"
    lines = f"""teach it in your own package, where the operator's arguments have these names: {", ".join(names)}
@rx.register_torch("{name}")
def convert(node):
    return relax.nn.relu(node.tensor("{names[0] if names else "x"}"))  # {result}, with relax's operators"""
    return Unsupported(f"no converter{f' of {name}' if is_inside else ''}{near}", help=lines)


def known_names(namespace: str) -> list[str]:
    """Return the operators and overloads of a namespace that have a converter."""
    CONVERTERS.load()
    return sorted(name for name in list(CONVERTERS.entries) if name.startswith(f"{namespace}::"))
