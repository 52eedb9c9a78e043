# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables for people of a partition's results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....support.byte_sizes import byte_text
from ....support.registry import table
from ....support.suggest import counted
from .pricing import time_text

#: Facts of a journal.
_Fact = Mapping[str, Any]
_MOST_NODES = 4


def partition_table(facts: Sequence[_Fact]) -> str:
    """Return the table for a journal's facts, or "" if nothing was partitioned."""
    if not (given := [fact for fact in facts if fact["kind"] == "partition"]):
        return ""
    made = {fact["name"]: fact for fact in facts if fact["kind"] == "external"}
    rows: list[Sequence[str]] = [("codegen", "operators", "parts", "bytes in", "bytes out", "code", "patterns")]
    rows += [_row(fact, made) for fact in given if _parts(fact, made) or not _has_others(fact, given, made)]
    total = max(fact["operators"] for fact in given)
    taken = sum(sum(_count_matches(fact, made).values()) for fact in given)
    verbs = Counter(fact["verb"] for fact in made.values() if fact["reason"])
    back = "".join(f", {counted(count, 'part')} {verb}" for verb, count in verbs.items())
    lines = [f"partition: {taken} of {total} operators{back}", table(*rows)]
    lines += [_line(fact["verb"], fact, fact["reason"]) for fact in made.values() if fact["reason"]]
    lines += [_line("cannot run here", fact, fact["missing"]) for fact in made.values() if fact["missing"]]
    return "\n".join(lines) + "\n"


def _has_others(fact: _Fact, facts: Sequence[_Fact], made: Mapping[str, _Fact]) -> bool:
    """Check whether the same codegen has a row with parts. The journal may have several facts of one codegen."""
    return any(_parts(other, made) for other in facts if other["codegen"] == fact["codegen"])


def _row(fact: _Fact, facts: Mapping[str, _Fact]) -> tuple[str, ...]:
    prefix = f"{fact['codegen']}."
    matched, parts = _count_matches(fact, facts), _parts(fact, facts)
    patterns = ", ".join(f"{name.removeprefix(prefix)} {count}" for name, count in sorted(matched.items()))
    code = sum(facts[name]["bytes"] for name in parts if name in facts)
    # The bytes are sums over all parts: the shares of declined parts are not known separately.
    most = "up to " if len(parts) < len(fact["parts"]) else ""
    crossing = [most + _bytes(fact[way]) if parts else "0 bytes" for way in ("bytes_in", "bytes_out")]
    sizes = [*crossing, _bytes(code)]
    return (fact["codegen"], str(sum(matched.values())), str(len(parts)), *sizes, patterns)


def _parts(fact: _Fact, facts: Mapping[str, _Fact]) -> list[str]:
    """Return the parts that the codegen has not declined."""
    return [name for name in fact["parts"] if name not in facts or not facts[name]["reason"]]


def _count_matches(fact: _Fact, facts: Mapping[str, _Fact]) -> Counter[str]:
    """Count the operators of these parts that each pattern has matched."""
    return sum((Counter(fact["of_parts"].get(name, {})) for name in _parts(fact, facts)), Counter())


def _bytes(size: int | str | None) -> str:
    return "?" if size is None else size if isinstance(size, str) else byte_text(size)


def _line(what: str, fact: _Fact, why: str) -> str:
    shown = _nodes(fact["origins"])
    return f"{what}: {fact['codegen']}, part {fact['name']}{f' ({shown})' if shown else ''}: {why}"


def _nodes(nodes: Sequence[str]) -> str:
    return ", ".join(nodes[:_MOST_NODES]) + (", ..." if len(nodes) > _MOST_NODES else "")


def explanation(facts: Sequence[Mapping[str, object]]) -> str:
    """Return the reasons why operators stayed, by the nearest pattern, and the costs that a plan has counted."""
    kept = [fact for fact in facts if fact["kind"] == "kept"]
    prices = [fact for fact in facts if fact["kind"] == "price"]
    return _kept_table(kept) + _price_table(prices)


def _kept_table(kept: Sequence[_Fact]) -> str:
    if not kept:
        return ""
    rows: list[Sequence[str]] = [("stayed", "node", "nearest pattern", "why")]
    rows += [
        (_operators(match), _nodes(_origins(match)), match[0]["pattern"] or "-", match[0]["reason"])
        for match in _group_by_match(kept)
    ]
    return table(*rows) + "\n"


def _group_by_match(kept: Sequence[_Fact]) -> Iterator[list[_Fact]]:
    """Group the operators of one match that stayed for one reason. An unmatched operator has a group to itself."""
    groups: dict[tuple[object, ...], list[_Fact]] = {}
    for number, fact in enumerate(kept):
        match = fact.get("match", "") or number
        groups.setdefault((match, fact["pattern"], fact["reason"]), []).append(fact)
    yield from groups.values()


def _operators(match: Sequence[_Fact]) -> str:
    names = [fact["operator"] for fact in match]
    return "+".join(names[:_MOST_NODES]) + (f" and {len(names) - _MOST_NODES} more" if len(names) > _MOST_NODES else "")


def _origins(match: Sequence[_Fact]) -> list[str]:
    return list(dict.fromkeys(node for fact in match for node in fact["origins"]))


def _price_table(prices: Sequence[_Fact]) -> str:
    if not prices:
        return ""
    rows: list[Sequence[str]] = [("matched", "node", "goes to", "codegen", "border", "target")]
    for fact in prices:
        seconds = (time_text(fact[name]) for name in ("seconds", "border_seconds", "host_seconds"))
        rows.append(
            (fact["pattern"], _nodes(fact["origins"]), fact["codegen"] if fact["taken"] else "target", *seconds)
        )
    return table(*rows) + "\n"
