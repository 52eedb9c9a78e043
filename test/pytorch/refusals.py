# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refused operators of torch, with reasons: refused/static.txt, dynamic.txt, gradients.txt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from op_workers import Outcome

FOLDER = Path(__file__).parent / "refused"
#: Verdicts that may be listed. Others, except good ones, are bugs.
LISTED = ("refused", "not exported")
_HEADER = """\
# What of torch's operators is refused{mode}, and why: entry, dtypes, samples of how many, reason.
# `suite.py torch-ops` compares this list with a run; `suite.py torch-ops --write` writes it. It only shrinks.
"""
_HOW = {"static": " with static sizes", "dynamic": " with dynamic sizes", "gradients": " in steps of training"}


class Refusal(NamedTuple):
    """Number of an entry's refused samples, and the most frequent reason."""

    count: int
    total: int
    reason: str


#: By entry and dtype.
Refusals = dict[tuple[str, str], Refusal]


def read(mode: str, folder: Path = FOLDER) -> Refusals:
    path = folder / f"{mode}.txt"
    found: Refusals = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if not line or line.startswith("#"):
            continue
        entry, dtypes, counts, reason = line.split(": ", 3)
        count, _, total = counts.partition(" of ")
        for dtype in dtypes.split():
            found[entry, dtype] = Refusal(int(count), int(total), reason)
    return found


def write(mode: str, refusals: Mapping[tuple[str, str], Refusal], folder: Path = FOLDER) -> None:
    lines: dict[tuple[str, Refusal], list[str]] = {}
    for (entry, dtype), refusal in sorted(refusals.items(), key=lambda item: item[0][0]):
        lines.setdefault((entry, refusal), []).append(dtype)
    folder.mkdir(exist_ok=True)
    texts = [
        f"{entry}: {' '.join(dtypes)}: {refusal.count} of {refusal.total}: {refusal.reason}\n"
        for (entry, refusal), dtypes in lines.items()
    ]
    (folder / f"{mode}.txt").write_text(_HEADER.format(mode=_HOW.get(mode, " on four ranks")) + "".join(texts))


def of_outcomes(outcomes: Iterable[Outcome]) -> Refusals:
    found: Refusals = {}
    for outcome in outcomes:
        refused = [verdict for verdict in outcome.verdicts.values() if verdict[0] in LISTED]
        if refused:
            reasons = Counter(
                reason if verdict == "refused" else f"torch.export: {reason}" for verdict, reason, _ in refused
            )
            key = (outcome.task.entry, outcome.task.dtype)
            found[key] = Refusal(len(refused), len(outcome.verdicts), reasons.most_common(1)[0][0])
    return found


def bugs_of(outcome: Outcome) -> list[str]:
    """Return the bugs of an outcome, independent of the lists."""
    return [
        f"{outcome.task.entry} {outcome.task.dtype} {outcome.task.mode} #{place} {verdict}: {reason} {sample}"
        for place, (verdict, reason, sample) in outcome.verdicts.items()
        if verdict in ("wrong", "error")
    ]


def differences(outcomes: Iterable[Outcome], listed: Mapping[str, Refusals]) -> list[str]:
    """Return differences between a run and the lists by mode, and bugs.

    If the samples are not the list's, any number of refusals is accepted.
    """
    found = []
    for outcome in outcomes:
        task = outcome.task
        name = f"{task.entry} {task.dtype} {task.mode}"
        found += bugs_of(outcome)
        key = (task.entry, task.dtype)
        refusal, was = of_outcomes([outcome]).get(key), listed[task.mode].get(key)
        count, before = (0 if each is None else each.count for each in (refusal, was))
        has_same_samples = was is None or len(outcome.verdicts) == was.total
        if refusal and count > before and has_same_samples:
            found.append(
                f"{name}: {count} samples of {refusal.total} are refused, {before} in the list: {refusal.reason}"
            )
        elif was and count < before and has_same_samples:
            found.append(f"{name}: {count} samples are refused, {before} in the list: write it again")
    return found
