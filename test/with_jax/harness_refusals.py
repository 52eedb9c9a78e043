# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refused functions of jax's table, with reasons: refused/jit.txt and platform.txt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "refused"
_HEADER = """\
# What of jax's table of functions is refused by {way}, and why: reason, then names.
# `suite.py jax-harnesses` compares this list with a run; `suite.py jax-harnesses --write` writes it.
"""
_WAYS = {"jit": "rx.jit", "platform": "jax.jit on the platform relax"}

#: Verdicts, by names and ways, as (verdict, reason).
Outcomes = Mapping[tuple[str, str], tuple[str, str]]


def read(way: str, folder: Path = FOLDER) -> dict[str, str]:
    """Return reasons by name."""
    path, found, reason = folder / f"{way}.txt", {}, ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("  "):
            found[line.strip()] = reason
        elif not line.startswith("#"):
            reason = line
    return found


def write(way: str, refused: Mapping[str, str], folder: Path = FOLDER) -> None:
    reasons: dict[str, list[str]] = {}
    for name, reason in sorted(refused.items()):
        reasons.setdefault(reason, []).append(name)
    lines = [line for reason in sorted(reasons) for line in (reason, *(f"  {name}" for name in reasons[reason]))]
    folder.mkdir(exist_ok=True)
    text = _HEADER.format(way=_WAYS[way]) + "".join(f"{line}\n" for line in lines)
    (folder / f"{way}.txt").write_text(text, encoding="utf-8")


def merged(way: str, outcomes: Outcomes, listed: Mapping[str, str]) -> dict[str, str]:
    """Return the list updated by a run."""
    own = {name: found for (name, each), found in outcomes.items() if each == way}
    kept = {name: reason for name, reason in listed.items() if name not in own}
    return kept | {name: reason for name, (verdict, reason) in own.items() if verdict == "refused"}


def differences(outcomes: Outcomes, listed: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return differences between a run and the lists, and wrong results."""
    found = []
    for (name, way), (verdict, reason) in outcomes.items():
        was = listed[way].get(name)
        if verdict in ("wrong", "error"):
            found.append(f"{name} by {way} {verdict}: {reason}")
        elif verdict == "refused" and was is None:
            found.append(f"{name} by {way} is refused, and not in the list: {reason}")
        elif verdict == "passes" and was is not None:
            found.append(f"{name} by {way} passes, and is in the list: write it again")
    return found
