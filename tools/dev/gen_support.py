# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/support.md, what is there for each operator and what each codegen takes, from the registries."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from generated import cell, main

if TYPE_CHECKING:
    from relax_mlir.dialects.core.operator import Operator
    from relax_mlir.passes.partition.codegen import Codegen

PAGE = Path(__file__).resolve().parents[2] / "docs" / "support.md"
HEAD = """\
<!-- Written by tools/dev/gen_support.py from the registries (`make generate`): do not edit. -->
# What is supported
Operators by what there is for each, external codegens, and ONNX's operators. What codegens take depends on types and
attributes too: `relax-compile --explain-partition` says what of a model goes where, and why the rest does not.
`relax-opt --explain-op=relax.nn.conv2d` says where everything about an operator is written.

"""
OPERATORS = """\
## Operators
Rules are by target; where a target has none of its own, its parents' and at last the default's holds. The target `c`
refuses what needs memory whose size the data decide ([c.md](codegens/c.md)). In the other columns: it has a derivative
([training.md](training.md)), follows layouts (`relax-convert-layout`), is evaluated while compiling where operands are
known, can be exported to ONNX (`rx.to_onnx`). Calls, shapes and literals compute nothing and are not listed.

| operator | rules | gradient | layouts | evaluated | to ONNX | codegens |
| --- | --- | --- | --- | --- | --- | --- |
"""
CODEGENS = """\
## External codegens
`relax-compile --partition=dnnl`, `rx.compile(module, partition=["dnnl"])`: [codegens](codegens/index.md).

| codegen | what it does | on | options | operators | patterns |
| --- | --- | --- | --- | --- | --- |
"""
ONNX = """\
## ONNX
Operators that are imported, with the version since which (the oldest converter). Those that ONNX defines as functions
of others need no converter, and are not in the list. [onnx.md](onnx.md) has the limits.

"""


def pages() -> dict[Path, str]:
    return {PAGE: HEAD + CODEGENS + codegens() + "\n" + OPERATORS + operators() + "\n" + ONNX + onnx()}


def own_codegens() -> list[type[Codegen]]:
    from relax_mlir import all_codegens

    return [each for each in all_codegens() if each.__module__.startswith("relax_mlir.")]


def codegens() -> str:
    from relax_mlir.passes.partition.codegen import operators_of, options_of

    rows = []
    for each in own_codegens():
        doc = (each.__doc__ or "").strip().partition("\n")[0]
        options = ", ".join(f"`{name}`" for name in options_of(each))
        page, devices = f"[{each.name}](codegens/{each.name}.md)", ", ".join(each.devices)
        counts = f"{len(operators_of(each))} | {len(each.composites())}"
        rows.append(f"| {page} | {cell(doc)} | {devices} | {options} | {counts} |\n")
    return "".join(rows)


def operators() -> str:
    from relax_mlir.frontends.onnx.export.registry import exported_names
    from relax_mlir.passes.layout.registry import find_layout_rule
    from relax_mlir.passes.partition.codegen import operators_of

    from relax_mlir import all_decompositions, all_evaluations, all_gradients, all_rules, registered_dialects

    targets: dict[str, list[str]] = {}
    for rule in all_rules():
        targets.setdefault(rule.op, []).append(rule.target)
    # A definition by simpler operators gives a derivative, too.
    gradients = {each.op for each in (*all_gradients(), *all_decompositions())}
    known = {each.op for each in all_evaluations()}
    exported = set(exported_names())
    taken = {each.name: operators_of(each) for each in own_codegens()}

    def row(op: Operator) -> str:
        name = op.full_name
        rules = ", ".join(sorted(set(targets[name]), key=lambda target: (target != "default", target)))
        marks = (name in gradients, find_layout_rule(op) is not None, name in known, name in exported)
        cells = [f"`{name}`", rules, *("yes" if mark else "" for mark in marks)]
        return f"| {' | '.join(cells)} | {', '.join(each for each, names in taken.items() if name in names)} |\n"

    ops = registered_dialects()["relax"].ops.values()
    return "".join(row(op) for op in sorted(ops, key=lambda op: op.full_name) if op.full_name in targets)


def onnx() -> str:
    from relax_mlir.frontends.onnx.registry import all_converters

    own = [each for each in all_converters() if each.function.__module__.startswith("relax_mlir.")]
    lines = []
    for domain, converters in groupby(
        sorted(own, key=lambda each: (each.domain, each.name)), key=lambda each: each.domain
    ):
        since: dict[str, int] = {}
        for each in converters:
            since[each.name] = min(each.since, since.get(each.name, each.since))
        names = ", ".join(f"{name} {version}" for name, version in since.items())
        lines.append(f"**{domain or 'ai.onnx'}** ({len(since)}): {names}.\n")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
