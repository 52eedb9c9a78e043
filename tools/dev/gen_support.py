# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/support.md, the support for each operator and the operators of each codegen, from the registries."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from generated import cell, main

if TYPE_CHECKING:
    from relax_mlir.passes.graph.partition.codegen import Codegen

PAGE = Path(__file__).resolve().parents[2] / "docs" / "support.md"
HEAD = """\
<!-- Written by tools/dev/gen_support.py from the registries (`make generate`): do not edit. -->
# Support
Operators, external codegens, and ONNX's operators. A codegen can decline an operator because of types or attributes:
`relax-compile --explain-partition` lists the assignment of a model's operators, with reasons.
`relax-opt --explain-op=relax.nn.conv2d` lists the source locations for an operator.

"""
OPERATORS = """\
## Operators
*Rules*: targets with their own legalization rule. All other targets use their parents' rule or the default rule; an
operator without a default rule is marked "only". The target `c` rejects operators that need memory of a data-dependent
size ([c.md](codegens/c.md)). *Gradient*: has a derivative ([training.md](training.md)). *Layouts*: follows
`relax-convert-layout`. *Folded*: computed at compile time if the operands are known. *To ONNX*: exported by
`rx.to_onnx`. *Codegens*: codegens with a pattern, besides `c`, which has one for each operator. Calls, shapes and
literals are not listed.

| operator | rules | gradient | layouts | folded | to ONNX | codegens |
| --- | --- | --- | --- | --- | --- | --- |
"""
CODEGENS = """\
## External codegens
`relax-compile --partition=dnnl`, `rx.compile(module, partition=["dnnl"])`: [codegens](codegens/index.md).

| codegen | description | devices | options | operators | patterns |
| --- | --- | --- | --- | --- | --- |
"""
ONNX = """\
## ONNX
Imported operators. A number is the first supported version, if that is not 1. Operators that ONNX defines as functions
of others need no converter and are not listed. [onnx.md](onnx.md) has the limits.

"""


def pages() -> dict[Path, str]:
    return {PAGE: HEAD + CODEGENS + codegens() + "\n" + OPERATORS + operators() + "\n" + ONNX + onnx()}


def own_codegens() -> list[type[Codegen]]:
    from relax_mlir.support.importing import is_own_module

    from relax_mlir import all_codegens

    return [each for each in all_codegens() if is_own_module(each.__module__)]


def codegens() -> str:
    from relax_mlir.passes.graph.partition.codegen import operators_of, options_of

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
    from relax_mlir.passes.graph.layout.registry import find_layout_rule
    from relax_mlir.passes.graph.partition.codegen import operators_of
    from relax_mlir.targets.default.legalize_decompositions import refuse

    from relax_mlir import all_decompositions, all_evaluations, all_gradients, all_rules, registered_dialects

    targets: dict[str, list[str]] = {}
    for rule in (rule for rule in all_rules() if rule.function is not refuse):
        targets.setdefault(rule.op, []).append(rule.target)
    # A definition by simpler operators provides a derivative, too.
    gradients = {each.op for each in (*all_gradients(), *all_decompositions())}
    known = {each.op for each in all_evaluations()}
    exported = set(exported_names())
    ops = {op.full_name: op for op in registered_dialects()["relax"].ops.values()}
    taken = {each.name: operators_of(each) for each in own_codegens() if each.name != "c"}

    def cells(name: str) -> str:
        rules = ", ".join(sorted({*targets[name]} - {"default"}))
        rules = rules if "default" in targets[name] else f"only {rules}"
        marks = (name in gradients, find_layout_rule(ops[name]) is not None, name in known, name in exported)
        codegens = ", ".join(codegen for codegen, operators in taken.items() if name in operators)
        return " | ".join([rules, *("yes" if mark else "" for mark in marks), codegens])

    names = sorted(ops.keys() & targets.keys())
    rows = ((", ".join(f"`{name}`" for name in alike), shared) for shared, alike in groupby(names, key=cells))
    return "".join(f"| {operators} | {shared} |\n" for operators, shared in rows)


def onnx() -> str:
    from relax_mlir.frontends.onnx.registry import all_converters
    from relax_mlir.support.importing import is_own_module

    own = [each for each in all_converters() if is_own_module(each.function.__module__)]
    lines = []
    for domain, converters in groupby(
        sorted(own, key=lambda each: (each.domain, each.name)), key=lambda each: each.domain
    ):
        since: dict[str, int] = {}
        for each in converters:
            since[each.name] = min(each.since, since.get(each.name, each.since))
        names = ", ".join(name if version == 1 else f"{name} {version}" for name, version in since.items())
        lines.append(f"**{domain or 'ai.onnx'}** ({len(since)}): {names}.\n")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
