# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How ONNX's operators become relax operators: by domain, name and the version since which it is so."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ...support.errors import RelaxError
from ...support.places import place_of
from .model import DEFAULT_DOMAINS

#: `convert(node)` returns the outputs: values, or one.
Convert = Callable[[Any], Any]
Function = TypeVar("Function", bound=Convert)


class Converter(NamedTuple):
    """How an operator is converted from a version of its domain on. `place` says where that is written."""

    domain: str
    name: str
    since: int
    function: Convert
    place: str


_CONVERTERS: dict[tuple[str, str], dict[int, Converter]] = {}
_FAMILIES = Path(__file__).parent / "operators"
_loaded: list[str] = []


def register_onnx(domain: str, names: str | Sequence[str], since: int = 1) -> Callable[[Function], Function]:
    """Teaches the front end an operator (or several) of a domain, from a version on; use it as a decorator.

    A registration for a version that has one already replaces it only from the same place in a file.
    """
    domain = "" if domain in DEFAULT_DOMAINS else domain

    def register(function: Function) -> Function:
        for name in [names] if isinstance(names, str) else names:
            converter = Converter(domain, name, since, function, place_of(function))
            versions = _CONVERTERS.setdefault((domain, name), {})
            taken = versions.get(since)
            if taken is not None and taken.place != converter.place:
                shown = f"{domain}.{name}" if domain else name
                raise RelaxError(
                    f"ONNX operator '{shown}' since version {since} has a converter already: {taken.place}"
                )
            versions[since] = converter
        return function

    return register


def load_families() -> None:
    """Imports this project's converters, once."""
    if _loaded:
        return
    families = sorted(path.stem for path in _FAMILIES.glob("[a-z]*.py"))
    for family in families:
        importlib.import_module(f"{__package__}.operators.{family}")
    _loaded.extend(families)


def find_converter(domain: str, name: str, version: int) -> Converter | None:
    """The converter that holds for a version: the newest that is not newer."""
    load_families()
    versions = _CONVERTERS.get(("" if domain in DEFAULT_DOMAINS else domain, name), {})
    fitting = [since for since in versions if since <= version]
    return versions[max(fitting)] if fitting else None


def known_names(domain: str) -> list[str]:
    """The operators of a domain that have a converter of any version."""
    load_families()
    domain = "" if domain in DEFAULT_DOMAINS else domain
    return sorted(name for where, name in _CONVERTERS if where == domain)


def all_converters() -> list[Converter]:
    """Every converter, sorted by domain, name and version."""
    load_families()
    return [versions[since] for _, versions in sorted(_CONVERTERS.items()) for since in sorted(versions)]
