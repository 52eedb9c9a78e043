# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Listings of relax-opt: help, passes, dialects, operators, versions."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator

from ...bindings.context import UPSTREAM_DIALECTS
from ...bindings.mlir import ROOT, ir
from ...bindings.upstream_passes import upstream_passes
from ...dialects.context import create_context
from ...dialects.core.dialect import registered_dialects
from ...passes.core.options import describe_type, option_fields
from ...passes.core.registry import all_passes
from ...passes.kernels.intrinsics.registry import intrinsics_table
from ...passes.kernels.schedule.registry import all_schedules, steps_rules
from ...passes.legalize.rules import all_rules
from ...support.errors import OptionError
from ...support.suggest import suggest
from ..common import command_line
from ..common.command_line import help_row
from .option_docs import default_text, option_doc
from .options import OPTIONS

_COLUMN = 46


def help_text() -> str:
    head = [
        "relax-opt: runs passes over MLIR modules with relax and tir operators",
        "",
        "usage: relax-opt [options] [file]        (without a file: standard input)",
        "",
        "  relax-opt m.mlir --pass-pipeline='builtin.module(relax-canonicalize,func.func(cse))'",
        "  relax-opt m.mlir --relax-inline --cse -o out.mlir",
    ]
    lines = [command_line.help_text(head, OPTIONS, _COLUMN)]
    lines += ["Passes of this project and of plug-ins:", *_own_pass_rows(), ""]
    lines += ["Upstream passes:", *_upstream_rows(pipelines=False), ""]
    lines += ["Upstream pipelines:", *_upstream_rows(pipelines=True)]
    return "\n".join(lines) + "\n"


def help_list() -> str:
    """Return the options of the tool and of passes in alphabetical order."""
    rows = {f"--{name}": command_line.option_rows(name, option, _COLUMN) for name, option in OPTIONS.items()}
    passes = [*_own_pass_rows(), *_upstream_rows(pipelines=False), *_upstream_rows(pipelines=True)]
    for row in passes:
        if row.startswith("  --"):
            name = row.split()[0]
            rows.setdefault(name, [])
        rows[name].append(row)
    return "\n".join(line for _, lines in sorted(rows.items()) for line in lines) + "\n"


def _row(left: str, right: str, indent: int) -> str:
    return "\n".join(line.rstrip() for line in help_row(" " * indent + left, right, _COLUMN))


def _own_pass_rows() -> Iterator[str]:
    for name, cls in all_passes().items():
        yield _row(f"--{name}", first_line(cls), 2)
        hints = typing.get_type_hints(cls)
        for key, field in option_fields(cls).items():
            text = ": ".join(filter(None, [describe_type(hints[field.name]), option_doc(cls, field)]))
            yield _row(f"{key}={default_text(field)}", text, 6)


def first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _upstream_rows(*, pipelines: bool) -> Iterator[str]:
    for name, info in upstream_passes().items():
        if info.is_pipeline == pipelines:
            yield _row(f"--{name}", info.description, 2)
            for option in info.options:
                yield _row(f"{option.name}={option.default or ''}", option.description, 6)


def passes_text() -> str:
    """Return one line per pass with its description."""
    lines = ["Passes of this project and of plug-ins:"]
    lines += [_row(name, first_line(cls), 2) for name, cls in all_passes().items()]
    for title, pipelines in (("Upstream passes:", False), ("Upstream pipelines:", True)):
        lines += ["", title]
        lines += [
            _row(name, info.description, 2) for name, info in upstream_passes().items() if info.is_pipeline == pipelines
        ]
    return "\n".join(lines) + "\n"


def dialects_text() -> str:
    return "Available Dialects: " + ", ".join(sorted({*UPSTREAM_DIALECTS, *registered_dialects()})) + "\n"


def ops_text() -> str:
    """Return one line per operator. Operators that Relax lacks are marked."""
    lines = []
    for _, dialect in sorted(registered_dialects().items()):
        for _, definition in sorted(dialect.ops.items()):
            mark = "  (own)" if definition.own else ""
            lines.append(f"{definition.full_name:<44} {definition.doc}{mark}".rstrip())
    return "\n".join(lines) + "\n"


def legalizations_text(target: str) -> str:
    """Return operator, target and location of each rule. For a target, only the first rule per operator is listed."""
    return "".join(f"{rule.op:<36} {rule.target:<12} {rule.place}\n" for rule in all_rules(target or None))


def intrinsics_text(target: str) -> str:
    """Return the table of intrinsics' rules."""
    return intrinsics_table(target or None).rstrip("\n") + "\n"


def schedules_text(target: str) -> str:
    """Return subject, target and location of schedules, in the order of trying for a target.

    Rules that express choices as steps follow.
    """
    rows = [(schedule.subject, schedule.target, schedule.place) for schedule in all_schedules(target or None)]
    rows += [(rule.subject, rule.target, rule.place) for rule in steps_rules(target or None)]
    return "".join(f"{subject:<36} {target:<12} {place}\n" for subject, target, place in rows)


def primitives_text() -> str:
    """Return the steps of rx.Schedule with their usage, and the intrinsics that tensorize accepts."""
    from ...passes.kernels.loops.intrins import all_intrins  # imported here because schedules need many modules
    from ...passes.kernels.loops.primitives import find_primitive, primitive_names

    lines = ["Steps of schedules:"]
    for name in primitive_names():
        primitive = find_primitive(name)
        lines.append(_row(primitive.usage, primitive.summary, 2))
    lines += ["", "Intrinsics that tensorize takes:"]
    lines += [_row(intrin.name, intrin.place, 2) for intrin in all_intrins()] or ["  none"]
    return "\n".join(lines) + "\n"


def explained_text(name: str) -> str:
    """Return the description of an operator."""
    from .explanation import explanation  # imported here because the option is rare

    return explanation(name)


def irdl_text(name: str) -> str:
    """Return a dialect as IRDL for an upstream tool's --irdl-file. `a.b` is spelt `a_b` (see --irdl-names)."""
    if (dialect := registered_dialects().get(name)) is None:
        known = list(registered_dialects())
        problem = f"--dump-irdl: no dialect '{name}' is defined in Python{suggest(name, known)}"
        raise OptionError(f"{problem} (known: {', '.join(known)})")
    return made_by("IRDL") + str(dialect.irdl_module(create_context())) + "\n"


def made_by(what: str, comment: str = "//") -> str:
    """Return the first line of a text for other tools, with the version of LLVM that reads it."""
    from ... import __version__

    version = mlir_version().replace("MLIR", "LLVM")
    return f"{comment} {what} of {version}, by relax-mlir {__version__}\n"


def version_text() -> str:
    from ... import __version__

    return f"relax-mlir {__version__} (MLIR bindings: {ROOT}, {mlir_version()})\n"


def mlir_version() -> str:
    """Return LLVM's version as the bindings write it into bytecode."""
    import io
    import re

    with create_context(), ir.Location.unknown():
        stream = io.BytesIO()
        ir.Module.create().operation.write_bytecode(stream)
    match = re.search(rb"MLIR([\w.]+)", stream.getvalue())
    return f"MLIR {match.group(1).decode()}" if match else "unknown version"


#: Texts by option. The argument is true, or the option's value, which may be empty.
TEXTS: dict[str, Callable[..., str]] = {
    "list-passes": lambda _: passes_text(),
    "list-primitives": lambda _: primitives_text(),
    "list-legalizations": legalizations_text,
    "list-intrinsics": intrinsics_text,
    "list-schedules": schedules_text,
    "explain-op": explained_text,
    "dump-irdl": irdl_text,
    "show-dialects": lambda _: dialects_text(),
    "list-ops": lambda _: ops_text(),
}
