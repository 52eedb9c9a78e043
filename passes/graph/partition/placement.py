# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured placements: the matches that each codegen takes, in a text file, and the planner that repeats the choice.

    tuned/model-1f0c93be52a4d871-x86_64-512-2048K.placement

The name has the key of the model, and the machine. A match is found again by its pattern, and by a hash of its
operations, attributes and types. Names of the model's nodes are for readers only.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from ....bindings.diagnostics import warn
from ....bindings.ir import Block, Operation
from ....bindings.navigation import operations_of, outermost, parent_of
from ....dialects.core.ir_attributes import PART_NUMBER, PART_REFUSED
from ....dialects.relax.known_constants import is_constant
from ....support.errors import RelaxError
from ....support.files import write_whole
from ....support.json_records import read_record
from ...core.facts import origins_of
from ...kernels.schedule.tuned_plans import MachineFacts
from ...patterns.matched import Match
from .codegen import Composite
from .external_functions import blocks_in, functions_to_part
from .planning import PLACEMENT_SUFFIX, Planner, Taken, prospects_of
from .sequence import sort_by_graph

VERSION = 1
_NOTES = frozenset({PART_NUMBER, PART_REFUSED})
_KEY_BYTES = 8
#: Path of the first function's block.
_FIRST = "0"
# Most model nodes that a message names.
_MOST_NODES = 4


class PlacedMatch(NamedTuple):
    """Match that a codegen takes."""

    #: Number of the match's graph function, with the path to its block if the block is inside of another operation.
    block: str
    #: Name of the pattern, `<codegen>.<what>`.
    pattern: str
    #: Hash of the matched operations.
    key: str
    #: Number of the match among the block's matches of equal pattern and key.
    number: int
    #: Nodes of the model, for readers.
    nodes: tuple[str, ...] = ()


class PlacedRegion(NamedTuple):
    """Measured region, for readers: microseconds of a call by the target and by a codegen."""

    codegen: str
    operators: tuple[str, ...]
    #: Number of equal regions in the model.
    occurrences: int
    target: float
    own: float
    noise: float
    is_taken: bool


@dataclass(frozen=True)
class MeasuredPlacement:
    """Choice of codegens for the parts of a model on a machine, with the times that decided."""

    #: Key of the model, from `model_key`.
    model: str
    machine: MachineFacts
    #: Codegens with their options, in the order of priority.
    codegens: tuple[str, ...]
    matches: tuple[PlacedMatch, ...]
    #: Number of the model's operators of each name, which finds the placement of a similar model.
    operators: Mapping[str, int]
    #: Microseconds of a call of the program for each choice, and the noise of their ratios.
    times: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.0
    regions: tuple[PlacedRegion, ...] = ()
    #: Name of the CPU and number of threads, for readers.
    cpu: str = ""
    threads: int = 1
    #: File that the placement was read from.
    path: str = field(default="", compare=False)

    @property
    def file_name(self) -> str:
        return f"model-{self.model}-{self.machine.label}{PLACEMENT_SUFFIX}"

    def write(self, folder: str | os.PathLike[str], name: str = "") -> Path:
        """Write the file into a folder. Return its path."""
        path = Path(folder, name or self.file_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"version": VERSION, **{each.name: getattr(self, each.name) for each in fields(self)}}
        del content["path"]
        content["machine"] = self.machine._asdict()
        lists = {name: content.pop(name) for name in ("matches", "regions")}
        text = json.dumps(content, indent=1).removesuffix("\n}")
        for name, rows in lists.items():
            text += f',\n "{name}": [' + ",".join(f"\n  {json.dumps(row)}" for row in rows) + "\n ]"
        write_whole(str(path), f"{text}\n}}\n".encode())
        return path


def read_placement(path: str | os.PathLike[str]) -> MeasuredPlacement:
    """Read a placement. Raises RelaxError for a file of another version, and for a damaged one."""
    return read_record(MeasuredPlacement, path, VERSION, "placement", "measure the placement again", _from_json)


def _from_json(content: dict[str, Any]) -> None:
    content["codegens"] = tuple(map(str, content["codegens"]))
    content["matches"] = tuple(map(_match, content["matches"]))
    content["regions"] = tuple(_region(*row) for row in content["regions"])
    content["operators"] = {str(name): int(count) for name, count in content["operators"].items()}
    content["machine"] = MachineFacts.from_json(content["machine"])


def _match(row: Sequence[object]) -> PlacedMatch:
    block, pattern, key, number, nodes = row
    if not (isinstance(number, int) and isinstance(nodes, list) and "." in str(pattern)):
        raise ValueError(f"{row} is no match")
    return PlacedMatch(str(block), str(pattern), str(key), number, tuple(map(str, nodes)))


def _region(
    codegen: str, operators: Sequence[str], occurrences: int, target: float, own: float, noise: float, is_taken: bool
) -> PlacedRegion:
    return PlacedRegion(str(codegen), tuple(map(str, operators)), occurrences, target, own, noise, bool(is_taken))


def placements_in(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the paths of a folder's placements. Raises RelaxError if the folder cannot be read."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise RelaxError(f"placements in '{os.fspath(folder)}' cannot be read: {error.strerror}") from None
    return (os.path.join(folder, name) for name in names if name.endswith(PLACEMENT_SUFFIX))


class Possible(NamedTuple):
    """Match in a block, under the name of a placement."""

    placed: PlacedMatch
    composite: Composite
    match: Match


def matches_in(block: Block, composites: Sequence[Composite]) -> Iterator[Possible]:
    """Yield all matches in a block, earlier patterns first."""
    operations = sort_by_graph(operations_of(block))
    waiting, path = prospects_of(composites).among(operations), _path_of(block)
    for place, composite in enumerate(composites):
        counts: Counter[str] = Counter()
        for op in waiting.get(place, ()):
            for match in composite.matches(op):
                key = _key(match.operations)
                nodes = tuple(dict.fromkeys(node for operation in match.operations for node in origins_of(operation)))
                yield Possible(PlacedMatch(path, composite.name, key, counts[key], nodes), composite, match)
                counts[key] += 1


def planner_of(path: str) -> Planner:
    """Return the planner that takes a placement's matches. Raises RelaxError for a damaged file."""
    placement = read_placement(path)

    def by_placement(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
        """Yield the placement's matches in a block. One warning lists matches that do not fit."""
        names, place = {composite.codegen for composite in composites}, _path_of(block)
        own = [match for match in placement.matches if match.pattern.partition(".")[0] in names]
        # The first block reports the matches of blocks that the model does not have.
        there = _paths_in(outermost(block.owner.operation)) if place == _FIRST else set[str]()
        lost = [each for each in own if there and each.block not in there]
        wanted = [each for each in own if each.block == place]
        patterns = {each.pattern for each in wanted}
        chosen = [composite for composite in composites if composite.name in patterns]
        found = (
            {possible_match.placed[:4]: possible_match for possible_match in matches_in(block, chosen)}
            if wanted
            else {}
        )
        taken: dict[PlacedMatch, Possible] = {}
        used: set[object] = set()
        for each in wanted:
            possible = found.get(each[:4])
            results = [] if possible is None else [op.results[0] for op in possible.match.operations]
            if possible is not None and used.isdisjoint(results):
                used.update(results)
                taken[each] = possible
        _report(path, [*wanted, *lost], [*(each for each in wanted if each not in taken), *lost], block)
        # The list is complete before outlining one erases its operations.
        yield from [Taken.of(possible_match.composite, possible_match.match) for possible_match in taken.values()]

    return by_placement


def _report(path: str, placed_matches: Sequence[PlacedMatch], left: Sequence[PlacedMatch], block: Block) -> None:
    if not left:
        return
    nodes = list(dict.fromkeys(node for placed_match in left for node in placed_match.nodes))
    shown = f" ({', '.join(nodes[:_MOST_NODES])}{', ...' if len(nodes) > _MOST_NODES else ''})" if nodes else ""
    what = f"{len(left)} of {len(placed_matches)} matches{shown} do not fit the model and stay with the target"
    warn(f"placement '{path}': {what}", block.owner.location)


def _key(operations: Sequence[Operation]) -> str:
    """Return a hash of operations: names, attributes, types, and the operands from inside and outside."""
    inside = {value: number for number, value in enumerate(value for op in operations for value in op.results)}
    hashed = hashlib.blake2b(digest_size=_KEY_BYTES)
    for op in operations:
        attributes = [f"{name}={op.attributes[name]}" for name in op.attributes if name not in _NOTES]
        kinds = ["constant" if is_constant(value) else "value" for value in op.operands]
        operands = [f"{inside.get(value, kind)}: {value.type}" for value, kind in zip(op.operands, kinds, strict=True)]
        line = (op.name, *sorted(attributes), *operands, *(str(value.type) for value in op.results))
        hashed.update(("\n".join(line) + "\n\n").encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def _path_of(block: Block) -> str:
    """Return the number of a block's function, followed by the places of operations around the block."""
    owner = block.owner.operation
    around = parent_of(owner)
    if around is None or around.name == "builtin.module":
        graphs = functions_to_part(owner if around is None else around, (), "a placement")
        return str(graphs.index(owner))
    siblings = [op for op in operations_of(owner.block) if op.name == owner.name]
    regions = [each for region in owner.regions for each in region.blocks]
    return f"{_path_of(owner.block)}/{owner.name}.{siblings.index(owner)}.{regions.index(block)}"


def _paths_in(module: Operation) -> set[str]:
    functions = functions_to_part(module, (), "a placement")
    return {_path_of(block) for function in functions for block in blocks_in(function)}
