# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of ONNX's suites that do not pass, with reasons: not_passing.txt."""

from __future__ import annotations

from pathlib import Path

PATH = Path(__file__).parent / "not_passing.txt"
_HEADER = """\
# Cases of ONNX's own suites that do not pass, and why. `suite.py conformance` compares this list with a run.
# It only shrinks: a case that once passed is repaired, not listed; a new operator's cases leave it.
"""


def read(path: Path = PATH) -> dict[str, str]:
    """Return reasons by name."""
    if not path.exists():
        return {}
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: reason.strip() for name, _, reason in (line.partition(":") for line in lines)}


def write(reasons: dict[str, str], path: Path = PATH, header: str = _HEADER) -> None:
    lines = [f"{name}: {reason}\n" for name, reason in sorted(reasons.items())]
    path.write_text(header + "".join(lines))
