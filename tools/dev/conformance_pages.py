# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs/conformance/: what a run of relax-check has found, as pages of the site."""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conformance_lists import Listed
from generated import ROOT, cell
from relax_mlir.support.version import VERSION
from relax_mlir.testing import Report
from relax_mlir.testing.fitting import all_rows
from relax_mlir.testing.report import type_of
from relax_mlir.testing.verdicts import FAULTS, VERDICTS, Verdict

FOLDER = ROOT / "docs" / "conformance"
_WRITTEN = "<!-- Written by tools/dev/check_codegens.py from a run (`make check-codegens WRITE=1`): do not edit. -->\n"
TITLES = {
    "llvm": "target llvm", "target_c": "target c", "cuda": "target cuda, on the emulator",
    "vulkan": "target vulkan, on Mesa's lavapipe", "opencl": "target opencl, on Intel's runtime for CPUs",
    "webgpu": "target webgpu, on Mesa's lavapipe", "c": "codegen c",
    "dnnl": "codegen dnnl", "blas": "codegen blas", "onnxruntime": "codegen onnxruntime",
    "example_npu": "codegen example_npu",
}  # fmt: skip
_TYPES = ("f32", "f64", "f16", "bf16", "i32", "i64", "i8", "ui8", "i1")
_OTHERS = "others"
_INDEX = """\
# Conformance
What [relax-check](../proof.md) says of this project's targets and codegens: each operator with its element types, sizes
and attributes, small models, random graphs, compared with the reference. *Not taken is fine, wrong is not.*
`make check-codegens` runs it, and fails where something has got worse than these pages say.

| | cases | right | not taken | deviates | refused | unchecked | wrong | run |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.md"


def operators_on(name: str) -> set[str]:
    """The operators that a page has; none where there is no page."""
    path = path_of(name)
    return set(re.findall(r"`(relax\.[\w.]+)`", path.read_text("utf-8"))) if path.is_file() else set()


def write(name: str, report: Report, share: float, listed: Mapping[str, Listed]) -> None:
    """Of a run of that share of the cases."""
    path_of(name).write_text(_page(name, report, share, listed), "utf-8")


def _page(name: str, report: Report, share: float, listed: Mapping[str, Listed]) -> str:
    counts = Counter(each.verdict for each in report.verdicts)
    cases = f"{len(report.verdicts)}" if share == 1.0 else f"{len(report.verdicts)} ({share:.0%} of all)"
    facts = {**counts, "cases": cases, "run": f"{datetime.date.today()}, relax-mlir {VERSION}"}
    parts = [
        f"{_WRITTEN}<!-- {json.dumps(facts)} -->\n# Conformance of the {TITLES[name]}\n",
        f"Cases: {cases}; {_summary(counts)}. Run on {facts['run']}.\n",
        "Numbers in the tables are of cases that are right. [What the verdicts mean](../proof.md#is-it-right).\n",
        *_problems(listed),
        *_deviations(report),
        *_patterns(report),
        *_operators(report),
        *_models(report, TITLES[name].startswith("codegen")),
    ]
    return "\n".join(parts)


def _summary(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(VERDICTS) if counts.get(verdict))


def _problems(listed: Mapping[str, Listed]) -> Iterable[str]:
    if not listed:
        return
    yield "## What is not right\n"
    groups: dict[Listed, list[str]] = {}
    for case, each in listed.items():
        groups.setdefault(each, []).append(case)
    yield "".join(f"- {each.verdict}: {_cases(cases)}: {cell(each.reason)}\n" for each, cases in groups.items())


def _deviations(report: Report) -> Iterable[str]:
    """What a codegen declares of NaN and infinities, where a case shows it."""
    groups: dict[str, list[str]] = {}
    for each in report.verdicts:
        if each.verdict == "deviates":
            groups.setdefault(each.reason, []).append(each.case)
    if groups:
        yield "## What it declares of NaN and infinities\n"
        yield "".join(f"- {_cases(cases)}: {cell(reason)}\n" for reason, cases in groups.items())


def _cases(cases: Sequence[str]) -> str:
    return f"`{cases[0]}`" if len(cases) == 1 else f"`{cases[0]}` and {len(cases) - 1} more"


def _operators(report: Report) -> Iterable[str]:
    """A row for each operator that has a case which is taken; the others by name."""
    found: dict[str, list[Verdict]] = {row.op: [] for row in sorted(all_rows(), key=lambda row: row.op)}
    for each in report.verdicts:
        if each.group == "operators":
            found.setdefault(each.case.partition(" ")[0], []).append(each)
    rows = {name: _row(cases) for name, cases in found.items()}
    is_used = {name: any(each.verdict != "not taken" for each in cases) for name, cases in found.items()}
    yield "## Operators\n"
    if any(is_used.values()):
        yield _table(("operator", *_TYPES, _OTHERS), [(f"`{name}`", *rows[name]) for name in rows if is_used[name]])
    for what, is_drawn in (("Not taken", True), ("No case is drawn of", False)):
        left = [f"`{name}`" for name, cases in found.items() if not is_used[name] and bool(cases) == is_drawn]
        if left:
            yield f"{what}: {', '.join(left)}.\n"


def _row(cases: Sequence[Verdict]) -> list[str]:
    """A cell for each element type, and one for all others."""
    by_type: dict[str, list[Verdict]] = {}
    for each in cases:
        dtype = type_of(each)
        by_type.setdefault(dtype if dtype in _TYPES else _OTHERS, []).append(each)
    return [_cell(by_type.get(dtype, [])) for dtype in (*_TYPES, _OTHERS)]


def _cell(cases: Sequence[Verdict]) -> str:
    counts = Counter(each.verdict for each in cases)
    right, taken = counts["right"], len(cases) - counts["not taken"]
    if not taken:
        return ""
    shown = f"{right}" if right == len(cases) else f"{right} of {len(cases)}"
    others = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict not in ("right", "not taken")]
    return ", ".join([shown, *(each for each in others if not each.startswith("0 "))])


def _patterns(report: Report) -> Iterable[str]:
    found: dict[str, list[Verdict]] = {}
    for each in sorted(report.verdicts, key=lambda each: each.case):
        if each.group == "composites":
            found.setdefault(each.case.partition(" ")[0], []).append(each)
    if found:
        yield "## Patterns\n"
        yield _table(("pattern", "cases"), [(f"`{name}`", _cell(cases)) for name, cases in found.items()])


def _models(report: Report, is_codegen: bool) -> Iterable[str]:
    models = sorted((each for each in report.verdicts if each.group == "models"), key=lambda each: each.case)
    if models and is_codegen:
        rows = [(each.case, each.verdict, f"{each.taken} of {each.operators}") for each in models]
        yield f"## Models\n\n{_table(('model', 'verdict', 'operators taken'), rows)}"
    elif models:
        yield f"## Models\n\n{_table(('model', 'verdict'), [(each.case, each.verdict) for each in models])}"
    graphs = [each for each in report.verdicts if each.group == "graphs"]
    if graphs:
        yield f"## Random graphs\n\n{_cell(graphs) or 'None of them is taken.'}\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_index(names: Sequence[str]) -> None:
    """The page that has a row for each other page that there is."""
    rows = [_index_row(name) for name in names if path_of(name).is_file()]
    (FOLDER / "index.md").write_text(f"{_WRITTEN}{_INDEX}{''.join(rows)}", "utf-8")


def _index_row(name: str) -> str:
    facts = json.loads(path_of(name).read_text("utf-8").splitlines()[1].removeprefix("<!-- ").removesuffix(" -->"))
    wrong = sum(facts.get(verdict, 0) for verdict in FAULTS)
    counts = [f"{facts.get(verdict, 0)}" for verdict in ("right", "not taken", "deviates", "refused", "unchecked")]
    return f"| [{TITLES[name]}]({name}.md) | {facts['cases']} | {' | '.join(counts)} | {wrong} | {facts['run']} |\n"
