# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--verify-diagnostics: matching of diagnostics and comments, and the messages about mismatches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.tools.common.verify_diagnostics import SEVERITIES, DiagnosticVerifier, expected_diagnostics
from relax_mlir.tools.opt.split_input import split_input


def disagreements(text, *diagnostics, **options):
    verifier = DiagnosticVerifier(text, "a.mlir", **options)
    for severity, line, message in diagnostics:
        verifier.handle(severity, line, message)
    return verifier.finish()


def first_lines(reports):
    return [report.split("\n")[0] for report in reports]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{bad}}", 1),
        ("op // expected-error {{bad}}  \t\r", 1),
        ("op // expected-error{{bad}}", 1),
        ("// expected-error @below {{bad}}\nop", 2),
        ("// expected-error@below {{bad}}\n// expected-note @below {{x}}\nop", 3),
        ("// expected-error @+2 {{bad}}\n\nop", 3),
        ("op\n\n// expected-error @-2 {{bad}}", 1),
        ("op\n// expected-note @above {{x}}\n// expected-error @above {{bad}}", 1),
        ("// expected-error @above {{bad}}", 1),
        ("op\n// expected-error @below {{bad}}", 2),
        ("// expected-error @unknown {{bad}}", None),
    ],
)
def test_line_of_an_expectation(text, line):
    (error,) = [e for e in expected_diagnostics(text) if e.severity == "error"]
    assert (error.line, error.text, error.problem) == (line, "bad", "")
    assert not any("bad" in report for report in disagreements(text, ("error", line, "a bad thing")))


@given(st.lists(st.sampled_from(["op", "below", "above"]), min_size=1, max_size=12))
def test_below_and_above_skip_expectations(kinds):
    """Compare with an oracle by positions, not line by line."""
    lines = ["op" if kind == "op" else f"// expected-error @{kind} {{{{x}}}}" for kind in kinds]
    ops = [number for number, kind in enumerate(kinds, 1) if kind == "op"]
    wanted = [
        min((op for op in ops if op > number), default=len(lines))
        if kind == "below"
        else max((op for op in ops if op < number), default=1)
        for number, kind in enumerate(kinds, 1)
        if kind != "op"
    ]
    assert [expected.line for expected in expected_diagnostics("\n".join(lines))] == wanted


def test_agreement_is_silent():
    text = "op // expected-warning {{careful}}\n// expected-note @below {{see}}\nother"
    assert disagreements(text, ("warning", 1, "be careful"), ("NOTE", 2 + 1, "see here")) == []
    assert disagreements("nothing is expected") == []


def test_one_expectation_meets_several_diagnostics():
    assert disagreements("op // expected-error {{bad}}", *[("error", 1, "bad")] * 2) == []


def test_missing_diagnostic_is_reported_where_it_was_expected():
    (report,) = disagreements("op\n  // expected-error @above {{bad}}\n")
    assert report == (
        'a.mlir:2:6: error: expected error "bad" was not produced\n  // expected-error @above {{bad}}\n     ^~~'
    )


def test_unexpected_diagnostic():
    assert disagreements("op", ("error", 1, "bad")) == ["a.mlir:1: error: unexpected error: bad\nop"]
    verifier = DiagnosticVerifier("  op", "a.mlir")
    verifier.handle("error", 1, "bad", column=3)
    verifier.handle("remark", None, "somewhere")
    verifier.handle("error", 7, "behind the end", column=2)
    verifier.handle("error", 1, "included", column=2, filename="b.mlir")
    assert verifier.finish() == [
        "a.mlir:1:3: error: unexpected error: bad\n  op\n  ^",
        "<unknown>:0: error: unexpected remark: somewhere",
        "a.mlir:7:2: error: unexpected error: behind the end",
        "b.mlir:1:2: error: unexpected error: included",
    ]


def test_a_diagnostic_of_another_file_meets_nothing():
    verifier = DiagnosticVerifier("op // expected-error {{bad}}", "a.mlir")
    verifier.handle("error", 1, "bad", filename="b.mlir")
    assert len(verifier.finish()) == 2


def test_wrong_severity_is_a_near_miss():
    reports = disagreements("op // expected-warning {{bad}}", ("error", 1, "bad"))
    assert first_lines(reports) == [
        "a.mlir:1:7: error: 'error' diagnostic emitted when expecting a 'warning'",
        'a.mlir:1:7: error: expected warning "bad" was not produced',
    ]


def test_wrong_line_and_wrong_text():
    text = "op // expected-error {{bad}}\nop"
    assert len(disagreements(text, ("error", 2, "bad"))) == 2
    assert len(disagreements(text, ("error", 1, "good"))) == 2
    assert len(disagreements(text, ("error", None, "bad"))) == 2


def test_only_expected():
    text = "op // expected-error {{bad}}"
    diagnostics = [("error", 1, "bad"), ("error", 1, "other"), ("warning", None, "more")]
    assert disagreements(text, *diagnostics, only_expected=True) == []
    assert len(disagreements(text, *diagnostics[1:], only_expected=True)) == 1


@pytest.mark.parametrize(
    ("text", "message", "meets"),
    [
        ("'op' has {{[0-9]+}} operands", "'op' has 12 operands", True),
        ("'op' has {{[0-9]+}} operands", "'op' has x operands", False),
        ("(a|b).{{.*}}", "(a|b).anything", True),
        ("(a|b).{{.*}}", "a.anything", False),
        ("{{one|two}} x", "say two x", True),
        ("{{one|two}} x", "one", False),
        ("no regex here.", "no regex here.", True),
        ("no regex here.", "no regex here!", False),
        ("{{a}}{{b}}", "ab", True),
        ("", "anything", True),
    ],
)
def test_regex(text, message, meets):
    reports = disagreements(f"op // expected-error-re {{{{{text}}}}}", ("error", 1, message))
    assert (reports == []) == meets


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=20))
def test_text_stands_for_itself(text):
    if "}}" in text and "expected-" in text:
        return
    line = f"op // expected-error {{{{{text}}}}}"
    assert disagreements(line, ("error", 1, f"before {text} after")) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("// expected-error-re {{a{{(}}}}", "invalid regex: missing )"),
        ("// expected-error-re {{a{{}}", "found start of regex with no end '}}'"),
        ("// expected-error @-3 {{a}}", "line offset '-3' is before the start of the file"),
        ("// expected-error {{a}} tail", "malformed expectation: write expected-error"),
        ("// expected-warning @over {{a}}", "malformed expectation: write expected-warning"),
        ("// expected-note a", "malformed expectation: write expected-note"),
        ("// expected-eror {{a}}", "no diagnostic is called 'eror'; did you mean 'error'?"),
        ("// expected-error {{a}} expected-note {{b}}", "two expectations on one line"),
    ],
)
def test_malformed_expectations_are_reported(text, problem):
    reports = disagreements(f"{text}\nop", ("error", 1, "a"))
    assert reports[0].startswith(f"a.mlir:1:4: error: {problem}"), reports
    assert not any("was not produced" in report for report in reports)


@pytest.mark.parametrize("text", ["// the expected-error form", "// expected results", "// CHECK: expected-type"])
def test_prose_is_no_expectation(text):
    assert expected_diagnostics(text) == []


def test_chunks_of_a_split_file_have_the_lines_of_the_file():
    text = "a // expected-error {{one}}\n// -----\nb\n// expected-error @above {{two}}\nc // expected-error {{three}}\n"
    first, second = split_input(text)
    assert disagreements(first.text, ("error", 1, "one")) == []
    assert disagreements(second.text, ("error", 3, "two"), ("error", 5, "three")) == []
    assert first_lines(disagreements(second.text)) == [
        'a.mlir:4:4: error: expected error "two" was not produced',
        'a.mlir:5:6: error: expected error "three" was not produced',
    ]


@given(st.sampled_from(SEVERITIES), st.sampled_from(SEVERITIES))
def test_severity_must_be_the_same(expected, reported):
    reports = disagreements(f"op // expected-{expected} {{{{x}}}}", (reported, 1, "x"))
    assert (reports == []) == (expected == reported)
