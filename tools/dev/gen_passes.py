# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/all-passes.md, every stage and every pass, from the targets and the registry of passes."""

from __future__ import annotations

import re
import sys
import typing
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from generated import cell, main

if TYPE_CHECKING:
    from relax_mlir.passes.core.base import Pass

PAGE = Path(__file__).resolve().parents[2] / "docs" / "all-passes.md"
HEAD = """\
<!-- Written by tools/dev/gen_passes.py from the registry of passes (`make generate`): do not edit. -->
# All passes
Every stage of the targets with its passes, then every pass with its options. [passes.md](passes.md) explains those on
graphs, [compiling.md](compiling.md) what each stage finds and leaves. `relax-opt --help` has the same, upstream's
passes too. An option is written `relax-fuse-ops{max-ops=16 beside=false}`.
"""
TARGETS = {"llvm": "a CPU", "cuda": "an NVIDIA GPU", "c": "C source files"}
#: For which device: stages for a CPU depend on what it can do, and the page is the same wherever it is made.
DEVICES = {"llvm": "llvm{triple=x86_64-linux-gnu cpu=sapphirerapids}"}
#: What stands in stages for the target with its options, as a pass's only option or among others.
PLACE = r"target=@target(?:{[^{}]*})?"
ALONE, AMONG = re.compile("{" + PLACE + "}"), re.compile(" " + PLACE)
WORD = re.compile(r"[a-z][\w-]*")


def pages() -> dict[Path, str]:
    return {PAGE: "\n".join([HEAD, *stages(), *passes()])}


def stages() -> list[str]:
    """A table for each target; its stages have the passes of the highest level."""
    from relax_mlir import stages as stages_of

    lines = ["## Stages", "From which level a stage runs is in the second column; `-O2` is the default.", ""]
    for target, what in TARGETS.items():
        lines += [f"### `{target}`: {what}", "| stage | from | what it does | passes |", "| --- | --- | --- | --- |"]
        for stage in stages_of(DEVICES.get(target, target), 3):
            texts = (AMONG.sub("", ALONE.sub("", str(each))) for each in stage.passes)
            shown = ", ".join(f"`{text}`" for text in texts)
            lines.append(f"| {stage.name} | -O{stage.level} | {cell(stage.doc)} | {cell(shown)} |")
        lines.append("")
    return lines


def passes() -> list[str]:
    """A section for each pass, in one for each prefix."""
    from relax_mlir import all_passes

    own = [each for each in all_passes().values() if each.__module__.startswith("relax_mlir.")]
    used = users()
    lines = ["## Passes", f"{len(own)} passes of this project, by the prefixes of their names.", ""]
    for prefix, members in groupby(own, key=lambda each: each.name.partition("-")[0]):
        lines += [f"### {prefix}", ""]
        for each in members:
            lines += [f"#### `{each.name}`", about(each), *in_stages(used.get(each.name, [])), *options(each), ""]
    return lines


def about(cls: type[Pass]) -> str:
    """The docstring, whose first line is what --help prints."""
    return "\n".join(line.strip() for line in (cls.__doc__ or "").strip().splitlines())


def users() -> dict[str, list[str]]:
    """Pass -> the stages that run it, as `target.stage`."""
    from relax_mlir import stages as stages_of

    found: dict[str, list[str]] = {}
    for target in TARGETS:
        for stage in stages_of(DEVICES.get(target, target), 3):
            for name in dict.fromkeys(name for each in stage.passes for name in WORD.findall(str(each))):
                found.setdefault(name, []).append(f"{target}.{stage.name}")
    return found


def in_stages(names: list[str]) -> list[str]:
    return [f"\nIn the stages {', '.join(f'`{name}`' for name in names)}."] if names else []


def options(cls: type[Pass]) -> list[str]:
    from relax_mlir.passes.core.options import describe_type, option_fields
    from relax_mlir.tools.opt.option_docs import default_text, option_doc

    fields = option_fields(cls)
    if not fields:
        return []
    hints = typing.get_type_hints(cls)
    lines = ["", "| option | default | kind | what it says |", "| --- | --- | --- | --- |"]
    for key, field in fields.items():
        kind, doc = describe_type(hints[field.name]), cell(option_doc(cls, field))
        default = default_text(field)
        lines.append(f"| `{key}` | {f'`{default}`' if default else ''} | {kind} | {doc} |")
    return lines


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
