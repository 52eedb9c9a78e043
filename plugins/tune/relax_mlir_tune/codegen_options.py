# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of codegens as a part of the search space."""

from __future__ import annotations

import typing
from collections.abc import Iterator

from relax_mlir.codegens import CodegenOption
from relax_mlir.passes.graph.partition.codegen import ChosenCodegen, parse_codegen

#: Most values of an integer that are tried.
_MOST_VALUES = 8
#: Option that every codegen with threads has by this name.
_THREADS = "threads"


def variants_of(codegen: str, threads: int) -> Iterator[str]:
    """Yield a codegen with each other value of each option that has a finite set of values and is not stated.

    An option `threads` gets the number of threads of a call.
    """
    chosen = parse_codegen(codegen)
    stated = {name for name, _ in chosen.given}
    for name, option in chosen.codegen.options.items():
        if name not in stated and isinstance(option, CodegenOption):
            for value in _values(name, option, threads):
                if value != _text(chosen.values[name]):
                    yield str(ChosenCodegen(chosen.codegen, chosen.values, (*chosen.given, (name, value))))


def _values(name: str, option: CodegenOption, threads: int) -> list[str]:
    if option.type is bool:
        return ["false", "true"]
    if typing.get_origin(option.type) is typing.Literal:
        return [_text(arg) for arg in typing.get_args(option.type)]
    if option.type is not int:
        return []
    if name == _THREADS:
        return [str(threads)] if option.most is None or threads <= option.most else []
    if option.least is None or option.most is None or option.most - option.least >= _MOST_VALUES:
        return []
    return [str(index) for index in range(int(option.least), int(option.most) + 1)]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
