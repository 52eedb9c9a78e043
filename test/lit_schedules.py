# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of scheduled kernels: the command `schedules TABLE...` prints a script with all cases of the last table.

A table is a Python file that is only read. Its functions are kernels. Its strings are cases that pass:

    rows = \"\"\"
    on matmul: C(i, j, k)
      i_0, i_1 = sch.split(i, [None, 2])
    CHECK-LABEL: def rows(
    \"\"\"

`on` selects a kernel of one of the tables, and looks up blocks and loops: `C = sch.get_block("C")` and
`i, j, k = sch.get_loops(C)`. The kernel gets the name of the string, and a schedule of these lookups and the steps.

A table of refusals has a string for each primitive, with many cases:

    split = \"\"\"
    on matmul: C(i, j, k)
      a, b = sch.split(k, [None, None])
      error: only one factor may be None
    \"\"\"

The steps before an error are one case. The error is reported at the kernel, with a note that shows the loops. An error
without this note begins with `error without loops:`. A step `# schedule 2` is the first line of the schedule. Other
comments describe the case.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import lit_graphs

_COMMAND = re.compile(r"^# RUN: schedules (?P<tables>.*?) ?%s ", re.MULTILINE)
_ERROR = re.compile(r"error(?P<bare> without loops)?: (?P<message>.+)")
_HEADING = re.compile(r"on (?P<kernel>\w+):?(?P<lookups>(?: \w+(?:\([\w, ]+\))?)*)")
_LOOKUP = re.compile(r"(\w+)(?:\(([\w, ]+)\))?")
_CHECK = re.compile(r"CHECK[A-Z-]*:")
_VERSION = "# schedule "


class Case(NamedTuple):
    """Schedule of a kernel. If the schedule is refused, `message` is the expected error."""

    section: str
    kernel: str
    steps: tuple[str, ...]
    message: str = ""
    shows_loops: bool = False
    warning: str = ""

    def script(self, kernels: Mapping[str, str]) -> str:
        """Return the kernel with the schedule and the expected diagnostics."""
        start, head, body = re.split(
            r"^(def \w+\((?:.|\n)*?\):\n)", kernels[self.kernel], maxsplit=1, flags=re.MULTILINE
        )
        below = 1 + self.shows_loops + bool(self.message)
        start += f"# expected-warning@+{below} {{{{{self.warning}}}}}\n" if self.warning else ""
        start += "# expected-note@+2 {{the loops as they stand}}\n" if self.shows_loops else ""
        start += f"# expected-error@+1 {{{{{self.message}}}}}\n" if self.message else ""
        head = re.sub(r"^def \w+", "def f" if self.message else f"def {self.section}", head)
        return f'{start}{head}    T.func_attr({{"tir.schedule": {list(self.steps)}}})\n{body}\n'


def read_table(path: Path) -> tuple[dict[str, str], list[Case]]:
    """Return the kernels of a table by name, and its cases."""
    text = path.read_text("utf-8")
    kernels: dict[str, str] = {}
    cases: list[Case] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            lines = text.splitlines()[node.decorator_list[0].lineno - 1 : node.end_lineno]
            kernels[node.name] = "\n".join(lines)
        elif isinstance(node, ast.Assign):
            cases += _read_section(ast.unparse(node.targets[0]), ast.literal_eval(node.value))
    return kernels, cases


def _read_section(section: str, text: str) -> Iterator[Case]:
    kernel, lookups, steps, refuses, warning = "", list[str](), list[str](), False, ""
    for line in filter(None, map(str.strip, text.splitlines())):
        heading, error = _HEADING.fullmatch(line), _ERROR.fullmatch(line)
        if heading:
            kernel, lookups = heading["kernel"], list(_look_up(heading["lookups"]))
        elif error:
            yield Case(section, kernel, _schedule(lookups, steps), error["message"], error["bare"] is None, warning)
            steps, refuses, warning = [], True, ""
        elif line.startswith("warning: "):
            warning = line.removeprefix("warning: ")
        elif line.startswith(_VERSION) or not line.startswith("#") and not _CHECK.match(line):
            steps.append(line)
    if refuses and steps:
        raise ValueError(f"{section}: steps without an error: {steps}")
    if not refuses:
        yield Case(section, kernel, _schedule(lookups, steps))


def _schedule(lookups: list[str], steps: list[str]) -> tuple[str, ...]:
    version, own = (steps[0], steps[1:]) if steps and steps[0].startswith(_VERSION) else (f"{_VERSION}1", steps)
    return version, *lookups, *own


def _look_up(lookups: str) -> Iterator[str]:
    for block, loops in _LOOKUP.findall(lookups):
        yield f'{block} = sch.get_block("{block}")'
        if loops:
            yield f"{loops}{'' if ',' in loops else ','} = sch.get_loops({block})"


def expand(*paths: Path) -> str:
    """Return the script of the last table's cases. Refusals are modules of their own."""
    kernels: dict[str, str] = {}
    for path in paths:
        own_kernels, cases = read_table(path)
        kernels |= own_kernels
    unused = own_kernels.keys() - {each.kernel for each in cases}
    if unused or not cases:
        raise ValueError(f"{path}: no case uses {', '.join(sorted(unused)) or 'the table'}")
    scripts = [each.script(kernels) for each in cases]
    head = "from relax_mlir.script import ir as I, tir as T\n\n"
    if cases[0].message:
        return head + "\n# -----\n\n".join(scripts)
    return head + "@I.ir_module\nclass Module:\n" + textwrap.indent("\n".join(scripts), "    ")


def script_of(test: Path) -> str:
    """Return the text of a lit test, the script of its table, or its short scripts in full."""
    text = test.read_text("utf-8")
    command = _COMMAND.search(text)
    if command is None:
        return lit_graphs.expand(text) if lit_graphs.COMMAND.search(text) else text
    others = command["tables"].replace("%S", str(test.parent)).split()
    return expand(*map(Path, others), test)


def run(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Print the cases of the last table. The other tables have kernels only."""
    stdout.write(expand(*map(Path, argv)))
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr))
