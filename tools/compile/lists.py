# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lists that relax-compile prints: operators that front ends convert, codegens with their patterns."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial

from ...support.registry import table
from ..common.models import STABLEHLO, TFLITE, TORCH, TOSA


def _codegens_text() -> str:
    """Each codegen with its patterns."""
    from ... import all_codegens
    from ...passes.partition.codegen import options_of
    from ...passes.partition.options import options_text

    lines = []
    for codegen in all_codegens():
        lines.append(f"{codegen.name}: {(codegen.__doc__ or '').strip().partition(chr(10))[0]}".rstrip(": "))
        lines += [f"  option {each}" for each in options_text(options_of(codegen))]
        lines += [f"  {each.name}: {each.pattern}" for each in codegen.composites()]
    return "".join(f"{line}\n" for line in lines)


def _operators_text() -> str:
    """A line for each converter, those of plug-ins included."""
    from ...frontends.onnx.registry import all_converters

    rows = [(f"{each.domain}.{each.name}".lstrip("."), f"{each.since:>3}", each.place) for each in all_converters()]
    return table(*rows) + "\n"


def _converters_text(kind: str) -> str:
    """The same of another front end's operators, which have no versions."""
    registry = importlib.import_module(f"...frontends.{kind}.registry", __package__)
    return table(*((each.name, each.place) for each in registry.CONVERTERS.all())) + "\n"


#: Options that print a list, and what makes it.
LISTS: dict[str, Callable[[], str]] = {
    "list-onnx-operators": _operators_text,
    **{f"list-{kind}-operators": partial(_converters_text, kind) for kind in (TORCH, TFLITE, STABLEHLO, TOSA)},
    "list-codegens": _codegens_text,
}
