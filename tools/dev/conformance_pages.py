# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of docs/conformance/: the results of a run of relax-check for the site."""

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
from relax_mlir_proof.testing.fitting import all_rows
from relax_mlir_proof.testing.report import type_of
from relax_mlir_proof.testing.verdicts import FAULTS, VERDICTS, Verdict

from relax_mlir.testing import Report

FOLDER = ROOT / "docs" / "conformance"
_WRITTEN = "<!-- Written by tools/dev/check_codegens.py (`suite.py check-codegens --write`): do not edit. -->\n"
TITLES = {
    "llvm": "target llvm", "target_c": "target c", "cuda": "target cuda, on the emulator",
    "vulkan": "target vulkan, on Mesa's lavapipe", "opencl": "target opencl, on Intel's runtime for CPUs",
    "webgpu": "target webgpu, on Mesa's lavapipe", "c": "codegen c",
    "dnnl": "codegen dnnl", "blas": "codegen blas", "onnxruntime": "codegen onnxruntime",
    "example_npu": "codegen example_npu",
}  # fmt: skip
_TYPES = ("f32", "f64", "f16", "bf16", "i32", "i64", "i8", "ui8", "i1")
_OTHERS = "others"
_LEGEND = "Numbers count the cases that are right: 7/9 is 7 of 9. [Verdicts](../proof.md#is-it-right).\n"
_OPERATORS = "## Operators\n"
_RIGHT = "Right in all cases"
#: Number of operators up to which a page has their names, and not only the number.
_LONGEST = 20
#: Lists of operators by page and by the reason why no table has them.
LISTS = ROOT / "test" / "conformance" / "operators.json"
Groups = dict[str, dict[str, list[str]]]
_INDEX = """\
# Conformance
Results of [relax-check](../proof.md) for this project's targets and codegens. It compares operators with different
element types, sizes and attributes, small models and random graphs with the reference. *Not taken is fine, wrong is
not.* `suite.py check-codegens` runs the cases and fails if a result is worse than on these pages.

The page of the target llvm has the element types of the cases. The pages of codegens have the element types that the
codegen takes; operators without a pattern are in [support.md](../support.md#operators). The names behind each count are
in `test/conformance/operators.json`.

| | cases | right | not taken | deviates | refused | unchecked | wrong | run |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.md"


def operators_on(name: str) -> set[str]:
    """Return the operators on a page or on its lists, or an empty set without a page."""
    path = path_of(name)
    if not path.is_file():
        return set()
    listed = (names for names in _read_groups().get(name, {}).values())
    return set(re.findall(r"`(relax\.[\w.]+)`", path.read_text("utf-8"))).union(*listed)


def write(name: str, report: Report, share: float, listed: Mapping[str, Listed]) -> None:
    """Write the page of a run with a share of the cases, and the lists of its operators."""
    table, groups = _operators(name, report)
    _write_groups(name, groups)
    path_of(name).write_text(_page(name, report, share, listed, _section(table, groups)), "utf-8")


def add(name: str, report: Report | None) -> None:
    """Add the cases of operators that a page lacks, or their names without a run. The page keeps its date."""
    marker, first, *lines = path_of(name).read_text("utf-8").splitlines(keepends=True)
    facts = json.loads(first.removeprefix("<!-- ").removesuffix(" -->\n"))
    lacking = {row.op for row in all_rows()} - operators_on(name)
    found = () if report is None else report.verdicts
    verdicts = [each for each in found if each.case.partition(" ")[0] in lacking]
    number, _, share = facts["cases"].partition(" ")
    facts |= _sums(facts, verdicts)
    facts["cases"] = f"{int(number) + len(verdicts)} {share}".strip()
    summary = _summary({verdict: facts.get(verdict, 0) for verdict in VERDICTS})
    shown = f"Cases: {facts['cases']}; {summary}. Run on {facts['run']}.\n"
    text = "".join(shown if line.startswith("Cases: ") else line for line in lines)
    head, _, rest = text.partition(_OPERATORS)
    section, gap, others = rest.partition("\n## ")
    table, groups = _read_table(section), _read_groups().get(name, {})
    for operator in sorted(lacking):
        cases = [each for each in verdicts if each.case.partition(" ")[0] == operator]
        _place(name, operator, cases, report is not None, table, groups)
    _write_groups(name, groups)
    page = f"{marker}<!-- {json.dumps(facts)} -->\n{head}{_section(table, groups)}{gap}{others}"
    path_of(name).write_text(page, "utf-8")


def _read_groups() -> Groups:
    return json.loads(LISTS.read_text("utf-8")) if LISTS.is_file() else {}


def _write_groups(name: str, groups: Mapping[str, Sequence[str]]) -> None:
    every = _read_groups() | {name: groups}
    LISTS.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n", "utf-8")


def _sums(facts: Mapping[str, object], verdicts: Sequence[Verdict]) -> dict[str, int]:
    counts = Counter(each.verdict for each in verdicts)
    return {verdict: int(str(facts.get(verdict, 0))) + count for verdict, count in counts.items()}


def _place(
    name: str,
    operator: str,
    cases: Sequence[Verdict],
    is_run: bool,
    table: dict[str, list[str]],
    groups: dict[str, list[str]],
) -> None:
    """Put an operator in the row of its element types, or on the list of operators without such a row."""
    if not is_run:
        group = "Not run"
    elif not cases:
        group = "Without a case"
    elif all(each.verdict == "not taken" for each in cases):
        group = "Not taken"
    elif not _has_types(name) and all(each.verdict == "right" for each in cases):
        group = _RIGHT
    else:
        row = table.setdefault(_types(cases), [])
        row[:] = sorted([*row, f"`{operator}` {_right(cases)}"])
        return
    groups[group] = sorted([*groups.get(group, []), operator])


def _has_types(name: str) -> bool:
    """Check for a page with the element types of all its operators. Other targets run the cases of the target llvm."""
    return name == "llvm" or TITLES[name].startswith("codegen")


def _read_table(section: str) -> dict[str, list[str]]:
    """Return the entries of a table of operators by element types."""
    rows = re.findall(r"^\| ([^|]+) \| (`[^|]+) \|$", section, re.MULTILINE)
    return {types: entries.split(", ") for types, entries in rows}


def _section(table: Mapping[str, Sequence[str]], groups: Mapping[str, Sequence[str]]) -> str:
    """Return the table of the operators by element types, and a line for each list. A count replaces a long list."""
    parts = [_OPERATORS]
    if table:
        parts.append(_table(("element types", "operators"), [(types, ", ".join(row)) for types, row in table.items()]))
    for group, names in sorted(groups.items()):
        shown = ", ".join(f"`{name}`" for name in names) if len(names) <= _LONGEST else f"{len(names)} operators"
        parts.append(f"{group}: {shown}.\n")
    return "\n".join(parts)


def _page(name: str, report: Report, share: float, listed: Mapping[str, Listed], operators: str) -> str:
    counts = Counter(each.verdict for each in report.verdicts)
    cases = f"{len(report.verdicts)}" if share == 1.0 else f"{len(report.verdicts)} ({share:.0%} of all)"
    facts = {**counts, "cases": cases, "run": f"{datetime.date.today()}, relax-mlir {VERSION}"}
    parts = [
        f"{_WRITTEN}<!-- {json.dumps(facts)} -->\n# Conformance of the {TITLES[name]}\n",
        f"Cases: {cases}; {_summary(counts)}. Run on {facts['run']}.\n",
        _LEGEND,
        *_problems(listed),
        *_deviations(report),
        *_patterns(report),
        operators,
        *_models(report, TITLES[name].startswith("codegen")),
    ]
    return "\n".join(parts)


def _summary(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in reversed(VERDICTS) if counts.get(verdict))


def _problems(listed: Mapping[str, Listed]) -> Iterable[str]:
    if not listed:
        return
    yield "## Cases that are not right\n"
    groups: dict[Listed, list[str]] = {}
    for case, each in listed.items():
        groups.setdefault(each, []).append(case)
    yield "".join(f"- {each.verdict}: {_cases(cases)}: {cell(each.reason)}\n" for each, cases in groups.items())


def _deviations(report: Report) -> Iterable[str]:
    """Yield a codegen's declarations on NaN and infinities, if a case shows them."""
    groups: dict[str, list[str]] = {}
    for each in report.verdicts:
        if each.verdict == "deviates":
            groups.setdefault(each.reason, []).append(each.case)
    if groups:
        yield "## Declared deviations for NaN and infinities\n"
        yield "".join(f"- {_cases(cases)}: {cell(reason)}\n" for reason, cases in groups.items())


def _cases(cases: Sequence[str]) -> str:
    return f"`{cases[0]}`" if len(cases) == 1 else f"`{cases[0]}` and {len(cases) - 1} more"


def _operators(name: str, report: Report) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the operators by the element types of their cases, and the lists of all others."""
    verdicts: dict[str, list[Verdict]] = {row.op: [] for row in all_rows()}
    for each in report.verdicts:
        if each.group == "operators":
            verdicts.setdefault(each.case.partition(" ")[0], []).append(each)
    table: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {}
    for operator, cases in sorted(verdicts.items()):
        _place(name, operator, cases, True, table, groups)
    return table, groups


def _types(cases: Sequence[Verdict]) -> str:
    """Return the element types of the cases that are taken."""
    types = {type_of(each) for each in cases if each.verdict != "not taken"}
    shown = [dtype for dtype in _TYPES if dtype in types]
    return ", ".join([*shown, *([_OTHERS] if types - set(_TYPES) else [])])


def _right(cases: Sequence[Verdict]) -> str:
    """Return the number of right cases, with the number of all cases if some are not right."""
    right = sum(each.verdict == "right" for each in cases)
    return f"{right}" if right == len(cases) else f"{right}/{len(cases)}"


def _patterns(report: Report) -> Iterable[str]:
    found: dict[str, list[Verdict]] = {}
    for each in sorted(report.verdicts, key=lambda each: each.case):
        if each.group == "composites":
            found.setdefault(each.case.partition(" ")[0], []).append(each)
    if found:
        yield "## Patterns\n"
        yield f"{', '.join(f'`{name}` {_right(cases)}' for name, cases in found.items())}.\n"


def _models(report: Report, is_codegen: bool) -> Iterable[str]:
    models = sorted((each for each in report.verdicts if each.group == "models"), key=lambda each: each.case)
    if models and is_codegen:
        rows = [(each.case, each.verdict, f"{each.taken} of {each.operators}") for each in models]
        yield f"## Models\n\n{_table(('model', 'verdict', 'operators taken'), rows)}"
    elif models:
        yield f"## Models\n\n{_by_verdict(models)}"
    graphs = [each for each in report.verdicts if each.group == "graphs"]
    if graphs:
        yield f"## Random graphs\n\n{_right(graphs)} right.\n"


def _by_verdict(models: Sequence[Verdict]) -> str:
    """Return a line for each verdict with the names of its models."""
    groups: dict[str, list[str]] = {}
    for each in models:
        groups.setdefault(each.verdict, []).append(each.case)
    return "".join(f"- {verdict}: {', '.join(names)}\n" for verdict, names in groups.items())


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_index(names: Sequence[str]) -> None:
    """Write the page with a row for each existing page."""
    rows = [_index_row(name) for name in names if path_of(name).is_file()]
    (FOLDER / "index.md").write_text(f"{_WRITTEN}{_INDEX}{''.join(rows)}", "utf-8")


def _index_row(name: str) -> str:
    facts = json.loads(path_of(name).read_text("utf-8").splitlines()[1].removeprefix("<!-- ").removesuffix(" -->"))
    wrong = sum(facts.get(verdict, 0) for verdict in FAULTS)
    counts = [f"{facts.get(verdict, 0)}" for verdict in ("right", "not taken", "deviates", "refused", "unchecked")]
    return f"| [{TITLES[name]}]({name}.md) | {facts['cases']} | {' | '.join(counts)} | {wrong} | {facts['run']} |\n"
