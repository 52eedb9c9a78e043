# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of tools/dev/check_codegens.py: lists of defects, differences between a run and its list, and pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest
from relax_mlir_proof.testing.trial import Subject
from relax_mlir_proof.testing.verdicts import Verdict

from relax_mlir.testing import Report

REPOSITORY = Path(__file__).resolve().parents[2]


def report(**verdicts: str) -> Report:
    """Return a report with cases of relax.exp, by their element types."""
    cases = [Verdict(f"relax.exp {dtype}", "operators", each, "as it is") for dtype, each in verdicts.items()]
    return Report(Subject("mynpu", codegens=("mynpu",)), 0, [*cases, Verdict("vgg", "models", "right", taken=3)])


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools" / "dev"))
    import conformance_lists

    monkeypatch.setattr(conformance_lists, "FOLDER", tmp_path)
    return conformance_lists


@pytest.fixture
def pages(lists: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    import conformance_pages

    monkeypatch.setattr(conformance_pages, "FOLDER", tmp_path)
    monkeypatch.setattr(conformance_pages, "LISTS", tmp_path / "operators.json")
    monkeypatch.setitem(conformance_pages.TITLES, "mynpu", "codegen mynpu")
    return conformance_pages


def test_lists_keep_the_reasons_of_unchanged_verdicts(lists: ModuleType) -> None:
    lists.write("mynpu", report(f32="right", f64="wrong", f16="not taken", bf16="refused"))
    path = lists.path_of("mynpu")
    assert path.read_text() == "wrong: relax.exp f64: as it is\nrefused: relax.exp bf16: as it is\n"
    path.write_text("wrong: relax.exp f64: in words: why\nrefused: relax.exp bf16: why too\n")
    lists.write("mynpu", report(f64="wrong", bf16="error"))
    assert path.read_text() == "wrong: relax.exp f64: in words: why\nerror: relax.exp bf16: as it is\n"


def test_where_a_run_and_a_list_disagree(lists: ModuleType) -> None:
    lists.write("mynpu", report(f64="wrong", bf16="refused", f16="refused"))
    listed = lists.read("mynpu")
    assert lists.differences(report(f32="right", f64="wrong", bf16="refused", i32="not taken"), listed) == []
    assert lists.differences(report(f32="wrong", f64="right", bf16="crash"), listed) == [
        "relax.exp bf16 is crash, was refused: as it is",
        "relax.exp f32 is wrong, was right: as it is",
        "relax.exp f64 is right: take it off the list",
    ]


def test_a_page_has_operators_by_element_types(lists: ModuleType, pages: ModuleType) -> None:
    found = report(f32="right", f64="wrong", f16="not taken")
    lists.write("mynpu", found)
    pages.write("mynpu", found, 0.25, lists.read("mynpu"))
    text = pages.path_of("mynpu").read_text()
    assert "| f32, f64 | `relax.exp` 1/3 |" in text
    assert "- wrong: `relax.exp f64`: as it is" in text and re.search(
        r"^Without a case: \d+ operators\.$", text, re.MULTILINE
    )
    assert "| vgg | right | 3 of 0 |" in text and "Cases: 4 (25% of all); 2 right, 1 not taken, 1 wrong." in text
    assert {"relax.exp", "relax.abs", "relax.nn.conv2d"} <= pages.operators_on("mynpu")
    pages.write_index(["mynpu", "other"])
    assert (
        "| [codegen mynpu](mynpu.md) | 4 (25% of all) | 2 | 1 | 0 | 0 | 0 | 1 |"
        in (pages.FOLDER / "index.md").read_text()
    )


def test_an_added_operator_is_counted_on_the_page_of_a_target(pages: ModuleType) -> None:
    pages.write("cuda", report(f32="right"), 1.0, {})
    text = pages.path_of("cuda").read_text()
    assert "Right in all cases: `relax.exp`." in text and "element types" not in text
    groups = json.loads(pages.LISTS.read_text())
    for operator in ("relax.abs", "relax.cos"):
        groups["cuda"]["Without a case"].remove(operator)
    pages.LISTS.write_text(json.dumps(groups))
    added = [Verdict("relax.abs f32", "operators", "right"), Verdict("relax.cos f16", "operators", "wrong")]
    pages.add("cuda", Report(Subject("cuda"), 0, added))
    text = pages.path_of("cuda").read_text()
    assert "Right in all cases: `relax.abs`, `relax.exp`." in text and "| f16 | `relax.cos` 0/1 |" in text
    assert "Cases: 4; 3 right, 1 wrong." in text


def test_the_pages_of_today_have_the_operators_of_today(lists: ModuleType) -> None:
    import check_codegens

    assert check_codegens.due() == []


def test_without_a_device_its_subjects_are_skipped(
    lists: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import check_codegens

    monkeypatch.setattr(check_codegens, "_target_of", lambda kind: ("", f"no driver of {kind}"))
    monkeypatch.setattr("sys.argv", ["check_codegens.py", "vulkan", "opencl"])
    assert check_codegens.main() == 0
    assert capsys.readouterr().out == "vulkan: skipped: no driver of vulkan\nopencl: skipped: no driver of opencl\n"
    assert check_codegens.fitting(check_codegens.Subject("llvm")) == (check_codegens.Subject("llvm"), "")
