# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check subjects of commits: an area, a colon, a sentence, 72 characters at most. Usage: check_subjects.py [RANGE]."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_MOST = 72
_FORM = re.compile(r"[\w./*{},+-]+: [a-zA-Z`].*[^.\s]")


def problem_of(subject: str) -> str:
    """Return the problem with a subject, or an empty string."""
    if len(subject) > _MOST:
        return f"{len(subject)} characters, expected at most {_MOST}"
    if not _FORM.fullmatch(subject):
        return "expected an area and a sentence without a period, such as `passes/graph/fuse: keep producers apart`"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="?", default="-30", help="a range such as main..HEAD (the last 30 commits)")
    commits = parser.parse_args().commits
    if not (ROOT / ".git").exists():
        return 0  # an unpacked archive has no commits
    command = ["git", "log", "--format=%h %s", commits]
    log = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if log.returncode:
        parser.error(f"git log {commits}: {log.stderr.strip()}")
    problems = [(line, problem_of(line.partition(" ")[2])) for line in log.stdout.splitlines()]
    for line, problem in problems:
        if problem:
            print(f"{line}\n    {problem}", file=sys.stderr)
    return 1 if any(problem for _, problem in problems) else 0


if __name__ == "__main__":
    sys.exit(main())
