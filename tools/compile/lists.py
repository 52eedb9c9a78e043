# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists that relax-compile prints: operators with converters, and codegens with their patterns."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial

from ...support.registry import table
from ..common.models import STABLEHLO, TFLITE, TORCH, TOSA


def _codegens_text() -> str:
    """Return a list of the codegens with their options and patterns."""
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
    """Return a table of the ONNX converters, including plug-ins'."""
    from ...frontends.onnx.registry import all_converters

    rows = [(f"{each.domain}.{each.name}".lstrip("."), f"{each.since:>3}", each.place) for each in all_converters()]
    return table(*rows) + "\n"


def _converters_text(kind: str) -> str:
    """Return a table of another front end's converters, which have no versions."""
    registry = importlib.import_module(f"...frontends.{kind}.registry", __package__)
    return table(*((each.name, each.place) for each in registry.CONVERTERS.all())) + "\n"


#: Functions for the options that print a list.
LISTS: dict[str, Callable[[], str]] = {
    "list-onnx-operators": _operators_text,
    **{f"list-{kind}-operators": partial(_converters_text, kind) for kind in (TORCH, TFLITE, STABLEHLO, TOSA)},
    "list-codegens": _codegens_text,
}
