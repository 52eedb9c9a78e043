# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Budgets of unclear prose in docstrings, comments and pages; needs Python alone. Usage: check_prose.py [REPOSITORY].

Comments of MLIR, C, JavaScript, TOML, make and the shell count, too.

Each top-level folder has a budget per rule. A count above the budget is an error, and so is a count below it, so that
budgets only fall. With --write the table in this file receives the lower counts.
"""

from __future__ import annotations

import argparse
import gc
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from check_layers import python_files, source_files

OPENINGS = "docstrings or comments that begin with What, Whether, Of, How or the like"
IDIOMS = "idioms in docstrings and comments"
SENTENCES = "sentences of more than 30 words"

#: Accepted counts per top-level folder: (openings, idioms), and sentences for the pages of docs/.
BUDGETS: dict[str, tuple[int, int]] = {
    "bindings": (0, 11),
    "compilation": (0, 5),
    "dialects": (0, 20),
    "emit": (0, 17),
    "passes": (0, 31),
    "runtime": (2, 1),
    "support": (0, 17),
    "targets": (0, 18),
    "test": (1, 82),
    "tools": (0, 6),
}
LONG_SENTENCES = 5

MOST_WORDS = 30
_MOST_SHOWN, _SHOWN_WORDS = 20, 8
_OPENING = re.compile(r"(?:What|Whether|Of|Those|These|That|How|Where|Which|Who|Whose|Why|As|Is|Has)\b")
_IDIOM = re.compile(
    r"\b(?:held|stands|alone|whose|those that|those of|the given|the made|the kept|comes of it|what is|what are"
    r"|who knows|goes on in)\b",
    re.IGNORECASE,
)
# One alternation skips strings while it finds comments: parsing the repository would take 10 s.
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^\'\\]|\\.|\'(?!\'\'))*\'\'\''
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*',
    re.DOTALL,
)
#: Begins of comments in other languages, by suffix or name of a file.
_MARKS = {
    **dict.fromkeys((".mlir", ".js", ".c", ".h", ".cpp"), r"(?://|/\*)"),
    **dict.fromkeys(("Makefile", ".toml", "run"), "#"),
}
_DIRECTIVE = re.compile(r"\s*(?:[A-Z][-\w]*:|expected-)")  # of lit
_HEADER_END = re.compile(r":[ \t]*(?:#.*)?\Z")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_UNIT_START = re.compile(r"^[ \t]*(?:[-+>]\s|\*\s|\||#+\s|\d+\.\s)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[*_)\"]*\s+")

Budgets = Mapping[str, Mapping[str, int]]


class Offender(NamedTuple):
    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"    {self.file.as_posix()}:{self.line}: {' '.join(self.text.split()[:_SHOWN_WORDS])}"


Found = dict[str, dict[str, list[Offender]]]


def find_offenders(root: Path) -> Found:
    """Return all offenders by rule and top-level folder."""
    found: Found = {rule: defaultdict(list) for rule in (OPENINGS, IDIOMS, SENTENCES)}

    def text_of(file: Path) -> str:
        return (root / file).read_text(encoding="utf-8", errors="replace")  # check_layers.py refuses other encodings

    for file in python_files(root):
        for rule, line, words in _python_offenders(text_of(file)):
            found[rule][_folder(file)].append(Offender(file, line, words))
    for file in (*source_files(root), Path(".ci/run")):
        if (mark := _MARKS.get(file.suffix or file.name)) and (root / file).is_file():
            for rule, line, words in _comment_offenders(text_of(file), mark):
                found[rule][_folder(file)].append(Offender(file, line, words))
    for page in sorted({*(root / "docs").glob("**/*.md")} - {*(root / "docs" / "conformance").glob("*.md")}):
        for line, words in long_sentences(page.read_text(encoding="utf-8")):
            found[SENTENCES]["docs"].append(Offender(page.relative_to(root), line, words))
    return found


def _folder(file: Path) -> str:
    return file.parts[0] if len(file.parts) > 1 else "."


def _comment_offenders(text: str, mark: str) -> Iterator[tuple[str, int, str]]:
    """Yield the offenders in comments behind a mark. A block of comments opens like a docstring."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        written = re.search(rf"(?:^|\s){mark}(.*)", line)
        words = written[1].strip() if written and not _DIRECTIVE.match(written[1]) else ""
        if not before and _OPENING.match(words):
            yield OPENINGS, number, words
        yield from ((IDIOMS, number, _around(words, idiom)) for idiom in _IDIOM.finditer(words))
        before = words


def _python_offenders(text: str) -> Iterator[tuple[str, int, str]]:
    line, end = 1, 0
    for token in _TOKEN.finditer(text):
        written, start = token[0], token.start()
        is_docstring = written.startswith('"""') and _opens_body(text, start)
        if not is_docstring and not written.startswith("#"):
            continue
        line, end = line + text.count("\n", end, start), start
        if is_docstring and _OPENING.match(written[3:].lstrip()):
            yield OPENINGS, line, written.strip('"')
        for idiom in _IDIOM.finditer(written):
            yield IDIOMS, line + written.count("\n", 0, idiom.start()), _around(written, idiom)


def _opens_body(text: str, start: int) -> bool:
    """Check whether the string at `start` is the first statement of a module, class or function."""
    before = text[max(0, start - 2000) : start]
    lines = before.split("\n")
    if lines.pop().strip(" \trR"):
        return False
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return not lines or _HEADER_END.search(lines[-1]) is not None


def _around(text: str, match: re.Match[str]) -> str:
    """Return the idiom with up to 30 characters of its line before it."""
    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - 30)
    return text[start : match.end() + 30].strip()


def long_sentences(page: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each sentence above the limit. Code blocks do not count; table cells are units."""
    for line, unit in _units(page):
        plain = _CODE.sub("code", _LINK.sub(r"\1", unit))
        for cell in plain.split("|"):
            yield from ((line, each) for each in _SENTENCE_END.split(cell) if len(each.split()) > MOST_WORDS)


def _units(page: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs, list items, headings and table rows of a page, each with its first line number."""
    unit: list[str] = []
    fenced, first = False, 1
    for number, line in enumerate([*page.splitlines(), ""], 1):
        is_fence = _FENCE.match(line) is not None
        if fenced or is_fence or not line.strip() or _UNIT_START.match(line):
            if unit:
                yield first, " ".join(unit)
            unit, first = [], number
        fenced ^= is_fence
        if line.strip() and not fenced and not is_fence:
            first = first if unit else number
            unit.append(_UNIT_START.sub("", line).strip())


def accepted() -> Budgets:
    openings = {folder: budget for folder, (budget, _) in BUDGETS.items()}
    idioms = {folder: budget for folder, (_, budget) in BUDGETS.items()}
    return {OPENINGS: openings, IDIOMS: idioms, SENTENCES: {"docs": LONG_SENTENCES}}


def problems(root: Path, budgets: Budgets, found: Found) -> list[str]:
    """Return one message per folder and rule with a count other than its budget."""
    messages = []
    for rule, counted in found.items():
        for folder in sorted({*counted, *budgets[rule]}):
            offenders, budget = counted.get(folder, []), budgets[rule].get(folder, 0)
            if len(offenders) > budget:
                shown = map(str, newest_first(root, offenders)[:_MOST_SHOWN])
                head = f"error: {folder}: {len(offenders)} {rule}, {budget} at most; rewrite the new ones:"
                messages.append("\n".join([head, *shown]))
            elif len(offenders) < budget:
                head = f"error: {folder}: {len(offenders)} {rule}, below the budget of {budget};"
                messages.append(f"{head} lower the budget with tools/dev/check_prose.py --write")
    return messages


def newest_first(root: Path, offenders: list[Offender]) -> list[Offender]:
    """Sort offenders on lines that the last commit or the working tree changed before all others."""
    changed = _changed_lines(root)
    return sorted(offenders, key=lambda each: each.line not in changed.get(each.file.as_posix(), ()))


def _changed_lines(root: Path) -> dict[str, set[int]]:
    """Return the added lines by file, without untracked files. Empty outside of a git repository."""
    command = ["git", "-C", str(root), "diff", "-U0", "--no-color", "--relative", "HEAD~1"]
    try:
        diff = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return {}
    lines: dict[str, set[int]] = defaultdict(set)
    name = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[6:]
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            start = int(hunk[1])
            lines[name].update(range(start, start + int(hunk[2] or 1)))
    return lines


def lowest(budgets: Budgets, found: Found) -> Budgets:
    """Return each budget lowered to its count. Budgets never rise."""
    return {
        rule: {folder: min(budget, len(found[rule].get(folder, []))) for folder, budget in limits.items()}
        for rule, limits in budgets.items()
    }


def with_budgets(source: str, budgets: Budgets) -> str:
    """Return this file's text with other budgets. Rows of zeros are left out."""
    idioms = budgets[IDIOMS]
    rows = [
        f'    "{folder}": ({openings}, {idioms[folder]}),\n'
        for folder, openings in sorted(budgets[OPENINGS].items())
        if openings or idioms[folder]
    ]
    table = re.compile(r"(?<=\nBUDGETS: dict\[str, tuple\[int, int\]\] = \{\n).*?(?=\}\n)", re.DOTALL)
    source = table.sub("".join(rows), source, count=1)
    return re.sub(r"(?<=\nLONG_SENTENCES = )\d+", str(budgets[SENTENCES]["docs"]), source, count=1)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="check_prose.py", description=__doc__)
    parser.add_argument("repository", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--write", action="store_true", help="lower the budgets in this file to the counts")
    options = parser.parse_args(arguments)
    gc.disable()  # as in check_layers.py
    found, budgets = find_offenders(options.repository), accepted()
    if options.write:
        this, budgets = Path(__file__), lowest(budgets, found)
        this.write_text(with_budgets(this.read_text(encoding="utf-8"), budgets), encoding="utf-8")
    messages = problems(options.repository, budgets, found)
    print(*messages, sep="\n", end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
