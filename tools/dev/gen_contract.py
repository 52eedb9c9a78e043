# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write test/python/contract-1.txt, the signatures of the codegen contract.

Run it only for an intended change of the contract: docs/codegens/contract.md lists the other changes that this
requires. `make generate` does not run it.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ForwardRef

from generated import ROOT, main

FILE = ROOT / "test" / "python" / "contract-1.txt"
HEAD = "# Written by tools/dev/gen_contract.py, on purpose only: docs/codegens/contract.md\n"
_EMPTY = inspect.Parameter.empty


class _Text(str):
    """Annotation that a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def contract() -> dict[str, str]:
    """Return each name of the contract with its signature, including attributes of the IR."""
    from relax_mlir.dialects.core.ir_attributes import TABLE
    from relax_mlir.support.contract import NAMES

    found: dict[str, str] = {}
    for path, members in NAMES.items():
        namespace, _, name = f"relax_mlir.{path}".rpartition(".")
        thing = getattr(importlib.import_module(namespace), name)
        found[f"rx.{path}"] = _shown(thing)
        for member in members.split():
            found[f"rx.{path}.{member}"] = _member(thing, member)
    for row in TABLE.values():
        if row.contract:
            found[f"attribute {row.name}"] = f"{row.kind.text}, on {row.on.text}"
    return found


def changes(frozen: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the differences from the frozen contract, in words."""
    absent = "not there"
    return [
        f"this changes contract 1: {name}: was ({frozen.get(name, absent)}), is ({now.get(name, absent)}); raise the "
        "version, or keep the old form working"
        for name in sorted({*frozen, *now})
        if frozen.get(name) != now.get(name)
    ]


def frozen() -> dict[str, str]:
    lines = FILE.read_text("utf-8").splitlines()
    return dict(_split(line) for line in lines if not line.startswith("#"))


def _split(line: str) -> tuple[str, str]:
    name, _, signature = line.partition(": ")
    return name, signature


def _shown(thing: Any) -> str:
    """Return the text of a name: for a constant its type, for a class only "class", as its members are listed
    separately."""
    if isinstance(thing, type):
        return "class"
    if not callable(thing):
        return type(thing).__name__
    if not inspect.isroutine(thing):
        return _unqualified(repr(thing))  # an alias of a type
    return _signature(thing)


def _member(cls: Any, name: str) -> str:
    if name == "__init__":
        return _signature(cls)  # also named tuples, which have none
    found = inspect.getattr_static(cls, name, None)
    if isinstance(found, (staticmethod, classmethod)):
        inner: Any = found.__func__
        return f"{type(found).__name__} {_signature(inner)}"
    if isinstance(found, (property, cached_property)):
        getter = found.fget if isinstance(found, property) else found.func
        inner = getter
        return f"property -> {_annotation(inspect.signature(inner).return_annotation)}"
    if inspect.isroutine(found):
        return _signature(found)
    stated = [vars(base).get("__annotations__", {}).get(name) for base in cls.__mro__]
    default = "" if found is None or inspect.isdatadescriptor(found) else f" = {found!r}"
    return str(next(_annotation(each) for each in stated if each is not None)) + default


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    parameters = [each.replace(annotation=_annotation(each.annotation)) for each in signature.parameters.values()]
    result = _EMPTY if isinstance(function, type) else _annotation(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=result))


def _annotation(stated: object) -> object:
    if stated is _EMPTY:
        return stated
    text = stated.__forward_arg__ if isinstance(stated, ForwardRef) else stated
    return _Text(_unqualified(text if isinstance(text, str) else inspect.formatannotation(text)))


def _unqualified(text: str) -> str:
    """Remove the modules of types: they are not part of the contract."""
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def _lines() -> Iterator[str]:
    for name, signature in contract().items():
        yield f"{name}: {signature}\n"


def pages() -> dict[Path, str]:
    return {FILE: HEAD + "".join(_lines())}


if __name__ == "__main__":
    sys.exit(main(__doc__, pages, "tools/dev/gen_contract.py, if the codegen contract is meant to change"))
