# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/all-passes.md, every stage and every pass, from the targets and the registry of passes."""

from __future__ import annotations

import re
import sys
import typing
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from generated import cell, main

if TYPE_CHECKING:
    from relax_mlir.passes.core.base import Pass

PAGE = Path(__file__).resolve().parents[2] / "docs" / "all-passes.md"
HEAD = """\
<!-- Written by tools/dev/gen_passes.py from the registry of passes (`make generate`): do not edit. -->
# All passes
Stages of the targets with their passes, then all passes with their options. [passes.md](passes.md) explains the passes
on graphs, [compiling.md](compiling.md) the input and output of each stage. `relax-opt --help` also lists upstream's
passes. Options follow a pass in braces: `relax-fuse-ops{max-ops=16 beside=false}`.
"""
TARGETS = {"llvm": "a CPU", "cuda": "an NVIDIA GPU", "c": "C source files"}
#: Fixed devices: stages for a CPU depend on its features, and the page must not depend on the machine.
DEVICES = {"llvm": "llvm{triple=x86_64-linux-gnu cpu=sapphirerapids}"}
#: Pattern for the target with its options in stages, as a pass's only option or among others.
PLACE = r"target=@target(?:{[^{}]*})?"
ALONE, AMONG = re.compile("{" + PLACE + "}"), re.compile(" " + PLACE)
#: Number of passes with an option from which the page describes the option only once.
SHARED = 3


class Option(NamedTuple):
    key: str
    default: str
    kind: str
    doc: str


def pages() -> dict[Path, str]:
    return {PAGE: "\n".join([HEAD, *stages(), *passes()])}


def stages() -> list[str]:
    """Return a table for each target. Stages show the passes of the highest level."""
    from relax_mlir import stages as stages_of

    lines = ["## Stages", "The second column has the lowest level that runs a stage. The default is `-O2`.", ""]
    for target, what in TARGETS.items():
        lines += [f"### `{target}`: {what}", "| stage | from | description | passes |", "| --- | --- | --- | --- |"]
        for stage in stages_of(DEVICES.get(target, target), 3):
            texts = (AMONG.sub("", ALONE.sub("", str(each))) for each in stage.passes)
            shown = ", ".join(f"`{text}`" for text in texts)
            lines.append(f"| {stage.name} | -O{stage.level} | {cell(stage.doc)} | {cell(shown)} |")
        lines.append("")
    return lines


def passes() -> list[str]:
    """Return a section for each pass, grouped by prefix."""
    from relax_mlir.support.importing import is_own_module

    from relax_mlir import all_passes

    own = [each for each in all_passes().values() if is_own_module(each.__module__)]
    shared = shared_options(own)
    lines = ["## Passes", f"{len(own)} passes of this project. Options of several passes:", ""]
    lines += [*(option_line(*option) for option in shared), ""]
    for prefix, members in groupby(own, key=lambda each: each.name.partition("-")[0]):
        lines += [f"### {prefix}", ""]
        for each in members:
            lines += [f"#### `{each.name}`", about(each), *options(each, shared), ""]
    return lines


def about(cls: type[Pass]) -> str:
    """Return the docstring. Its first line is the text of --help."""
    return "\n".join(line.strip() for line in (cls.__doc__ or "").strip().splitlines())


def shared_options(classes: Sequence[type[Pass]]) -> list[Option]:
    """Return the options that several passes have in common."""
    counts = Counter(option for cls in classes for option in options_of(cls))
    return sorted(option for option, count in counts.items() if count >= SHARED)


def options_of(cls: type[Pass]) -> list[Option]:
    from relax_mlir.passes.core.options import describe_type, option_fields
    from relax_mlir.tools.opt.option_docs import default_text, option_doc

    hints = typing.get_type_hints(cls)
    return [
        Option(key, default_text(field), describe_type(hints[field.name]), " ".join(option_doc(cls, field).split()))
        for key, field in option_fields(cls).items()
    ]


def options(cls: type[Pass], shared: Sequence[Option]) -> list[str]:
    found = options_of(cls)
    own = [option_line(*option) for option in found if option not in shared]
    names = ", ".join(f"`{option.key}`" for option in found if option in shared)
    lines = [*own, f"- {names}: see above"] if names else own
    return ["", *lines] if lines else []


def option_line(key: str, default: str, kind: str, doc: str) -> str:
    shown = f"{key}={default}" if default else key
    return f"- `{shown}` ({kind}): {doc}"


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
