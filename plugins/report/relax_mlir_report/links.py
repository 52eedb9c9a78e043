# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Links between facts of a journal: from the model's nodes to operators to kernel calls.

Passes identify places in the model by origins, which are names of nodes. An operator has its node's origins, and a call
the origins of all its operators. Facts about fusion name the former PrimFunc of each operator.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_mlir.passes.core.journal import Journal
from relax_mlir.support.highlighting import marks

#: A JSON object of the page's data.
Row: TypeAlias = dict[str, Any]

_WHY = {
    "constant": "its value is known when the model is imported",
    "input": "it hands on what it gets",
    "nodes": "the nodes of its own graph took its place",
    "operators": "nothing computes: what it made is a size, or simplified away, or unused",
}
_Key = tuple[str, tuple[str, ...]]


@dataclass
class Links:
    """Nodes, operators, calls and kernels that refer to each other by index. Each is a list of JSON objects."""

    nodes: list[Row] = field(default_factory=list)
    operators: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    kernels: list[Row] = field(default_factory=list)


def link(journal: Journal) -> Links:
    """Return the facts of a journal as linked lists."""
    links = Links()
    links.kernels = _kernels(journal)
    links.calls = _calls(journal, links.kernels)
    links.operators = _operators(journal, links.calls)
    links.nodes = _nodes(journal, links.operators, links.calls)
    _describe_parts(journal, links)
    return links


def _describe_parts(journal: Journal, links: Links) -> None:
    """Describe a codegen's part by its owner and the nodes it replaces, because its symbol is arbitrary."""
    parts = [kernel for kernel in links.kernels if kernel["codegen"]]
    of_node = {node["name"]: node["op"] for node in links.nodes}
    matched = {fact.get("codegen"): fact.get("matched", {}) for fact in journal.of("partition")}
    for number, kernel in enumerate(parts, 1):
        codegen = kernel["codegen"]
        origins = dict.fromkeys(origin for call in kernel["calls"] for origin in links.calls[call]["origins"])
        counts = Counter(of_node[origin] for origin in origins if origin in of_node)
        if not counts and sum(part["codegen"] == codegen for part in parts) == 1:
            counts = Counter({name.partition(".")[2]: count for name, count in matched.get(codegen, {}).items()})
        kernel["title"] = f"{codegen}, part {number}" if len(parts) > 1 else f"{codegen}, all in one part"
        kernel["operator"] = "+".join(f"{count} {name}" if count > 1 else name for name, count in counts.items())


# ---- kernels ----


def _kernels(journal: Journal) -> list[Row]:
    """Return the called kernels in the order of their first calls."""
    kernels = {fact["name"]: fact for fact in journal.of("kernel")}
    schedules = {fact["kernel"]: fact for fact in journal.of("schedule")}
    code = {fact["name"]: fact for fact in journal.of("code")}
    loops: dict[str, list[Row]] = defaultdict(list)
    for fact in journal.of("loops"):
        loops[fact["kernel"]].append(_without(fact, "kind", "kernel"))
    names = dict.fromkeys(fact["callee"] for fact in journal.of("call") if fact["callee"])
    facts = [fact for fact in journal.of("external") if not fact["reason"]]
    codegens = {f"{fact['name']}.{function}": fact["codegen"] for fact in facts for function in fact["functions"]}
    return [
        {
            "name": name,
            # Name shown on the page.
            "title": name,
            # Codegen of the code, empty for the target's own.
            "codegen": codegens.get(name, ""),
            **{field: kernels.get(name, {}).get(field, "") for field in ("operator", "pattern", "text")},
            "marks": marks(kernels.get(name, {}).get("text", "")),
            "schedule": _without(schedules.get(name, {}), "kind", "kernel"),
            "loops": loops[name],
            "code": _without(code.get(name, {}), "kind", "name"),
            "calls": [],
        }
        for name in names
    ]


def _without(fact: Row, *fields: str) -> Row:
    return {name: value for name, value in fact.items() if name not in fields}


# ---- calls ----


def _calls(journal: Journal, kernels: list[Row]) -> list[Row]:
    fused: dict[_Key, list[Row]] = {}
    for fact in journal.of("fused"):
        fused[(fact["kernel"], tuple(fact["origins"]))] = fact["members"]
    numbers = {kernel["name"]: number for number, kernel in enumerate(kernels)}
    calls: list[Row] = []
    for fact in journal.of("call"):
        callee, origins = fact["callee"], fact["origins"]
        if (kernel := numbers.get(callee)) is not None:
            kernels[kernel]["calls"].append(len(calls))
        members = fused.get((callee, tuple(origins))) or [{"kernel": callee, "origins": origins}]
        calls.append({**_without(fact, "kind", "callee"), "kernel": kernel, "members": members if callee else []})
    _add_reasons_apart(journal, calls)
    return calls


def _add_reasons_apart(journal: Journal, calls: list[Row]) -> None:
    """Record why a call was not fused with its users."""
    by_member: dict[_Key, list[int]] = _group_by_member(calls)
    for fact in journal.of("not-fused"):
        sides = (fact["producer"], fact["consumer"])
        first, second = (by_member.get((side["kernel"], tuple(side["origins"])), []) for side in sides)
        for number in first:
            for other in second:
                apart = calls[number].setdefault("apart", [])
                entry = {"call": other, "reason": fact["reason"]}
                if other != number and entry not in apart:
                    apart.append(entry)


def _group_by_member(calls: Sequence[Row]) -> dict[_Key, list[int]]:
    found: dict[_Key, list[int]] = defaultdict(list)
    for number, call in enumerate(calls):
        for member in call["members"]:
            found[(member["kernel"], tuple(member["origins"]))].append(number)
        if not call["members"]:
            found[(call["operation"], tuple(call["origins"]))].append(number)
    return found


# ---- operators ----


def _operators(journal: Journal, calls: Sequence[Row]) -> list[Row]:
    """Return the graph's operators by index, then those created by rules."""
    operators = [_without(fact, "kind", "index") for fact in journal.of("operator")]
    by_member = _group_by_member(calls)
    for fact in journal.of("legalized"):
        if fact["index"] is None:
            operators.append({"operator": fact["operator"], "origins": fact["origins"], "made": True, "inputs": []})
        operator = operators[-1 if fact["index"] is None else fact["index"]]
        operator.update(rule=fact["rule"], target=fact["target"], place=fact["place"], kernels=fact["kernels"])
    for operator in operators:
        names = operator.setdefault("kernels", [operator["operator"]])
        found = [number for name in names for number in by_member.get((name, tuple(operator["origins"])), ())]
        operator["calls"] = sorted(set(found))
        operator["marks"] = marks(operator.setdefault("text", ""))
    return operators


# ---- nodes ----


def _group_by_origin(rows: Iterable[Row]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        for name in row["origins"]:
            found[name].append(number)
    return found


def _nodes(journal: Journal, operators: Sequence[Row], calls: Sequence[Row]) -> list[Row]:
    """Return the model's own nodes. Nodes of nested functions and graphs are merged into them."""
    facts = journal.of("node")
    of_node, calls_of = _group_by_origin(operators), _group_by_origin(calls)
    inside: dict[str, list[str]] = defaultdict(list)
    for fact in facts:
        if fact["within"]:
            inside[fact["within"]].append(fact["name"])
    return [_node(fact, inside, of_node, calls_of) for fact in facts if not fact["within"]]


def _node(
    fact: Row, inside: dict[str, list[str]], operators_of: dict[str, list[int]], calls_of: dict[str, list[int]]
) -> Row:
    names = list(_with_inner(fact["name"], inside))
    operators = sorted({number for name in names for number in operators_of.get(name, ())})
    calls = sorted({number for name in names for number in calls_of.get(name, ())})
    why = "" if operators or calls else _WHY[fact["became"]]
    return {
        **_without(fact, "kind", "within", "became"),
        "inner": len(names) - 1,
        "operators": operators,
        "calls": calls,
        "why": why,
    }


def _with_inner(name: str, inside: dict[str, list[str]]) -> Iterable[str]:
    found = {name: None}
    pending = [name]
    while pending:
        for inner in inside.get(pending.pop(), ()):
            if inner not in found:
                found[inner] = None
                pending.append(inner)
    return found
