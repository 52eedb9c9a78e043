# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verification of diagnostics (`--verify-diagnostics`) against the file's `expected-error {{...}}` comments.

The form is `// expected-SEVERITY[-re] [@above|@below|@+N|@-N|@unknown] {{text}}` at the end of a line (`#` in a
script), with SEVERITY one of error, warning, remark, note. The diagnostic must contain the text. With -re, `{{regex}}`
in the text is a regular expression. `@above` and `@below` mean the nearest line without an expectation, `@unknown` a
diagnostic without a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...support.suggest import suggest

SEVERITIES = ("error", "warning", "remark", "note")

_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?"
    r" *(?:@(?P<place>[+-][0-9]+|above|below|unknown))? *\{\{(?P<text>.*)\}\}$"
)
# A comment that begins like an expectation. A malformed expectation would silently check nothing.
_INTENTION = re.compile(
    r"(?://|#)\s*(?P<whole>expected-(?:(?P<known>error|warning|remark|note)\b|(?P<other>\w+)[^{]*\{\{).*)"
)
_SECOND_EXPECTATION = re.compile(r"\}\}.*expected-(?:error|warning|remark|note)\b")


@dataclass
class Expected:
    """A diagnostic that a comment expects. A `line` of None is a diagnostic without a location."""

    severity: str
    line: int | None
    text: str
    written_line: int
    written_column: int
    regex: re.Pattern[str] | None = None
    problem: str = ""  # reason why the comment is malformed, in which case nothing matches it
    matched: bool = False

    def matches(self, line: int | None, message: str) -> bool:
        if self.problem or self.line != line:
            return False
        return self.text in message if self.regex is None else self.regex.search(message) is not None


def expected_diagnostics(text: str) -> list[Expected]:
    """Return the expectations in a file or padded chunk. `problem` marks malformed ones."""
    lines = text.split("\n")
    all_expected: list[Expected] = []
    waiting: list[Expected] = []  # for the next line without an expectation
    line_above = 1
    for number, line in enumerate(lines, 1):
        expected, place = _parse_line(line.rstrip(), number)
        if expected is None:
            for below in waiting:
                below.line = number
            waiting, line_above = [], number
            continue
        all_expected.append(expected)
        if place == "above":
            expected.line = line_above
        elif place == "below":
            expected.line = len(lines)
            waiting.append(expected)
    return all_expected


def _parse_line(line: str, number: int) -> tuple[Expected | None, str]:
    """Return the expectation of a line with its own or an offset line number, and its `@` place."""
    if (match := _EXPECTATION.search(line)) is None:
        return _explain_malformed(line, number), ""
    expected = Expected(match["severity"], number, match["text"], number, match.start() + 1)
    place = match["place"] or ""
    if _SECOND_EXPECTATION.search(match["text"]):
        expected.problem = "two expectations on one line: write each on a line of its own"
    elif match["regex"]:
        _compile_regex(expected)
    if place == "unknown":
        expected.line = None
    elif place[:1] in ("+", "-"):
        expected.line = number + int(place)
        if expected.line < 1:
            expected.problem = f"line offset '{place}' is before the start of the file"
    return expected, place


def _explain_malformed(line: str, number: int) -> Expected | None:
    if (match := _INTENTION.search(line)) is None:
        return None
    if match["known"]:
        problem = "malformed expectation: write expected-error [@above|@below|@+N|@-N|@unknown] {{text}}"
        if match["known"] != "error":
            problem = problem.replace("error", match["known"])
        if "{{" in match["whole"] and "}}" in match["whole"]:
            problem += " with nothing behind it"
    else:
        severity = match["other"]
        problem = f"no diagnostic is called '{severity}'{suggest(severity, SEVERITIES)}"
    return Expected("error", number, match["whole"], number, match.start("whole") + 1, problem=problem)


def _compile_regex(expected: Expected) -> None:
    """Compile an expectation's regex. Text outside of `{{` `}}` is literal."""
    pattern = ""
    rest = expected.text
    while "{{" in rest:
        literal, _, rest = rest.partition("{{")
        block, end, rest = rest.partition("}}")
        if not end:
            expected.problem = "found start of regex with no end '}}'"
            return
        try:
            re.compile(block)
        except re.error as error:
            expected.problem = f"invalid regex: {error}"
            return
        pattern += f"{re.escape(literal)}(?:{block})"
    expected.regex = re.compile(pattern + re.escape(rest))


class DiagnosticVerifier:
    """Compares the diagnostics of one run over a file or padded chunk with the expectations.

    As in mlir-opt, several diagnostics may match one expectation. With `only_expected`, unexpected diagnostics are
    ignored.
    """

    def __init__(self, text: str, filename: str, *, only_expected: bool = False):
        self._lines = text.split("\n")
        self._filename = filename
        self._only_expected = only_expected
        self._expected = expected_diagnostics(text)
        self._unexpected: list[str] = []

    def handle(
        self, severity: str, line: int | None, message: str, *, column: int = 0, filename: str | None = None
    ) -> None:
        """Record one diagnostic or note. `line` is None without a location, `filename` may be another file."""
        severity = severity.lower()
        is_elsewhere = filename is not None and filename != self._filename
        candidates = [] if is_elsewhere else [e for e in self._expected if e.matches(line, message)]
        for expected in candidates:
            if expected.severity == severity:
                expected.matched = True
                return
        if self._only_expected:
            return
        if candidates:
            wanted = candidates[-1]
            problem = f"'{severity}' diagnostic emitted when expecting a '{wanted.severity}'"
            self._unexpected.append(self._report_at(wanted, problem))
            return
        problem = f"unexpected {severity}: {message}"
        if is_elsewhere or line is None:
            place = "<unknown>:0" if line is None else f"{filename}:{line}:{column}"
            self._unexpected.append(f"{place}: error: {problem}")
            return
        self._unexpected.append(self._report(line, column, 1, problem))

    def finish(self) -> list[str]:
        """Return every mismatch in mlir-opt's words with its source line, or an empty list."""
        malformed = [self._report_at(e, e.problem) for e in self._expected if e.problem]
        missing = [
            self._report_at(e, f'expected {e.severity} "{e.text}" was not produced')
            for e in self._expected
            if not e.problem and not e.matched
        ]
        return malformed + self._unexpected + missing

    def _report_at(self, expected: Expected, problem: str) -> str:
        return self._report(expected.written_line, expected.written_column, len(expected.text), problem)

    def _report(self, line: int, column: int, width: int, problem: str) -> str:
        place = f"{self._filename}:{line}:{column}" if column else f"{self._filename}:{line}"
        report = f"{place}: error: {problem}"
        if not 1 <= line <= len(self._lines):
            return report
        source = self._lines[line - 1].rstrip("\r")
        if not 1 <= column <= len(source):
            return f"{report}\n{source}"
        underline = "^" + "~" * (min(width, len(source) - column + 1) - 1)
        return f"{report}\n{source}\n{' ' * (column - 1)}{underline}"
