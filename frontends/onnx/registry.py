# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of converters of ONNX operators to relax, by domain, name and first version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ...support.argument_types import types_checked
from ...support.errors import RelaxError
from ...support.plugins import load_plugins
from ...support.registry import Registry, names_of
from ..core.values import Outputs
from .model import DEFAULT_DOMAINS
from .onnx_node import OnnxNode

#: `convert(node)` returns the outputs: a list of values, or a single value.
Convert = Callable[[OnnxNode], Outputs]
Function = TypeVar("Function", bound=Convert)


class NodeConverter(NamedTuple):
    """Converter of an operator from a version of its domain on. `place` is the file and line of its definition."""

    domain: str
    name: str
    since: int
    function: Convert
    place: str


def _describe_duplicate(new: NodeConverter, taken: NodeConverter) -> str:
    shown = f"{new.domain}.{new.name}" if new.domain else new.name
    return f"ONNX operator '{shown}' since version {new.since} has a converter already: {taken.place}"


CONVERTERS = Registry[NodeConverter](
    lambda each: ((each.domain, each.name), each.since), _describe_duplicate, families=f"{__package__}.operators"
)


@types_checked
def register_onnx(
    domain: str, names: str | Sequence[str] | None = None, since: int = 1
) -> Callable[[Function], Function]:
    """Register the converter of one or several operators of a domain, from a version on. Use as a decorator.

    `register_onnx("com.own.Doubled")` is short for `register_onnx("com.own", "Doubled")`. A second registration for the
    same version is an error, unless it comes from the same place in a file.
    """
    if not isinstance(domain, str) or not isinstance(since, int):
        raise RelaxError(f"register_onnx: a domain is text and a version a number, got {domain!r} and {since!r}")
    if names is None:
        given = domain
        domain, _, names = domain.rpartition(".")
        if not domain or not names:
            raise RelaxError(
                f'register_onnx: {given!r} has no domain: expected "com.own.Doubled" or "com.own", "Doubled"'
            )
    domain = "" if domain in DEFAULT_DOMAINS else domain

    return CONVERTERS.registering(
        lambda function, place: [NodeConverter(domain, name, since, function, place) for name in names_of(names)]
    )


def find_converter(domain: str, name: str, version: int) -> NodeConverter | None:
    """Return the converter for a version: the newest that is not newer than the version.

    If there is none, packages that announce converters for the domain are imported.
    """
    CONVERTERS.load()
    key = "" if domain in DEFAULT_DOMAINS else domain, name
    if key not in CONVERTERS.entries:
        load_plugins("onnx", key[0] or "ai.onnx")
    versions = CONVERTERS.entries.get(key, {})
    fitting = [sort for sort in versions if sort <= (version,)]
    return versions[max(fitting)][0] if fitting else None


def known_names(domain: str) -> list[str]:
    """Return the operators of a domain with a converter for any version, including converters of plug-ins."""
    CONVERTERS.load()
    domain = "" if domain in DEFAULT_DOMAINS else domain
    load_plugins("onnx", domain or "ai.onnx")
    return sorted(name for where, name in list(CONVERTERS.entries) if where == domain)


def all_converters() -> list[NodeConverter]:
    """Return all converters, including converters of plug-ins, sorted by domain, name and version."""
    load_plugins("onnx")
    return CONVERTERS.all()
