# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists that relax-compile prints: operators with converters, and codegens with their patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...frontends.front_end import front_end_named
from ...support.errors import OptionError
from ...support.registry import table


def _codegens_text(_: bool) -> str:
    """Return a list of the codegens with their options and patterns."""
    from ... import all_codegens
    from ...passes.graph.partition.codegen import options_of
    from ...passes.graph.partition.options import options_text

    lines = []
    for codegen in all_codegens():
        lines.append(f"{codegen.name}: {(codegen.__doc__ or '').strip().partition(chr(10))[0]}".rstrip(": "))
        lines += [f"  option {each}" for each in options_text(options_of(codegen))]
        lines += [f"  {composite.name}: {composite.pattern}" for composite in codegen.composites()]
    return "".join(f"{line}\n" for line in lines)


def _operators_text(front_end: str) -> str:
    """Return a table of a front end's operators with their converters, including plug-ins'."""
    end = front_end_named(front_end)
    with end.guarded():
        if (operators := end.load().operators) is None:
            raise OptionError(f"--list-operators: the front end '{front_end}' lists no operators")
        return table(*operators()) + "\n"


#: Functions for the options that print a list. Each gets the option's value.
LISTS: dict[str, Callable[[Any], str]] = {"list-operators": _operators_text, "list-codegens": _codegens_text}
