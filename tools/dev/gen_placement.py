# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/conformance/placement.md, the placements that peers' tests expect.

The cases are in plugins/quantize/test/placement_cases.
"""

from __future__ import annotations

import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

from generated import ROOT, main

PAGE = ROOT / "docs" / "conformance" / "placement.md"
HEAD = """\
<!-- Written by tools/dev/gen_placement.py (`make generate`): do not edit. -->
# Placement of quantized tensors
Equal: `rx.quantize` quantizes the tensors of the peer's test, in its types.

| suite | cases | equal | by design | refused | missing |
| --- | --- | --- | --- | --- | --- |
"""


def pages() -> dict[Path, str]:
    sys.path[:0] = [str(ROOT / "test" / "python" / "helpers"), str(ROOT / "plugins" / "quantize" / "test")]
    from placement_cases import CASES

    verdicts = ("equal", "by design", "refused", "missing")
    suites = [(suite, list(cases)) for suite, cases in groupby(CASES, lambda case: case.suite)]
    lines = []
    for suite, cases in [*suites, ("all", CASES)]:
        counts = Counter(case.verdict for case in cases)
        lines.append(f"| {suite} | {len(cases)} | " + " | ".join(str(counts[each]) for each in verdicts) + " |\n")
    reasons = Counter(
        (case.verdict, case.differs or case.refused or case.missing) for case in CASES if case.verdict != "equal"
    )
    told = [f"- {verdict}, {count}: {reason}\n" for (verdict, reason), count in reasons.items()]
    return {PAGE: HEAD + "".join(lines) + "\n" + "".join(told)}


if __name__ == "__main__":
    raise SystemExit(main(__doc__, pages))
