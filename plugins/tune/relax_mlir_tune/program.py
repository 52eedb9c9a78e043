# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Space of a program: choices of graph rewrites, layouts and fusion, which the passes of a target's stages offer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import relax_mlir as rx
from relax_mlir.bindings.navigation import operations_named
from relax_mlir.compilation.tuned_programs import program_key, tuned_stages
from relax_mlir.passes.core.stage_edits import StageEdit, edit_stages, pass_place
from relax_mlir.rewriting import operations_in
from relax_mlir.targets.core.registry import parse_target

#: Most edits of a choice for each node or group of nodes.
_MOST_NODES = 16
_CONVOLUTIONS = ("relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d")
_PRODUCTS = ("relax.matmul", "relax.einsum", *_CONVOLUTIONS)


class Point(NamedTuple):
    """Program before a pass of its stages."""

    module: rx.Module
    target: str


@dataclass(frozen=True)
class Choice:
    """Choice that a pass offers: edits of the stages, each an alternative to the default.

    An edit is text, such as "drop relax-split-batch" or "set relax-fuse-ops{epilogues=false}".
    """

    name: str
    #: Pass that the edits change, or before which they run another pass.
    anchor: str
    #: Edits, or a function that returns edits for a program before the pass.
    edits: Sequence[str] | Callable[[Point], Iterable[str]]
    #: The choice applies to programs with one of these operators before the pass. Empty: to all programs.
    operators: tuple[str, ...] = ()
    #: True if edits of the choice can be combined.
    several: bool = False
    #: True if results are equal to the default's in every bit. Other choices need `inexact=True`.
    exact: bool = True

    def edits_at(self, point: Point) -> list[str]:
        """Return the edits for a program before the pass."""
        names = {operation.name for operation in operations_in(point.module.operation)} if self.operators else set()
        if self.operators and names.isdisjoint(self.operators):
            return []
        return list(self.edits(point) if callable(self.edits) else self.edits)


def _convolution_groups(point: Point) -> Iterator[str]:
    """Yield an edit for each group of equal convolutions, which then keep their layouts. Large groups come first."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, operation in enumerate(operations_named(point.module.operation, "relax.nn.conv2d")):
        attributes = (f"{name}={operation.attributes[name]}" for name in operation.attributes)
        signature = (*(str(value.type) for value in operation.operands), *attributes)
        groups.setdefault(signature, []).append(place)
    if len(groups) < 2:
        return  # equal to an edit without the pass
    for places in sorted(groups.values(), key=len, reverse=True)[:_MOST_NODES]:
        yield f"set llvm-block-channels{{keep={','.join(f'nn.conv2d#{place}' for place in places)}}}"


def _fused_calls(point: Point) -> Iterator[str]:
    """Yield an edit for each PrimFunc with calls that fusion may join to others. Its calls then stay apart."""
    counts: dict[str, int] = {}
    for call in operations_named(point.module.operation, "relax.call_tir"):
        name = str(call.attributes["func"]).removeprefix("@")
        counts[name] = counts.get(name, 0) + 1
    for name in sorted(counts, key=lambda count: -counts[count])[:_MOST_NODES]:
        yield f"set relax-fuse-ops{{keep={name}}}"


def _winograd(point: Point) -> Iterator[str]:
    chosen = parse_target(point.target)
    for tile in ("2", "4"):
        options = tuple(sorted({**dict(chosen.options), "winograd": tile}.items()))
        yield f"set llvm-winograd{{target='@target{replace(chosen, options=options).options_text}'}}"


#: Choices of this project's targets. A choice of a pass that a target does not run has no effect.
_OWN = (
    Choice(
        "products of one operand",
        "relax-decompose-ops",
        (
            "run relax-combine-parallel-matmul{constants-only=true} before relax-decompose-ops",
            "run relax-combine-parallel-matmul{constants-only=true keep-meeting=true} before relax-decompose-ops",
        ),
        _PRODUCTS,
    ),
    Choice("attention", "relax-fuse-attention", ("drop relax-fuse-attention",), ("relax.nn.softmax",), exact=False),
    Choice("heads", "relax-regroup-heads", ("drop relax-regroup-heads",), ("relax.matmul",)),
    Choice("wide convolutions", "llvm-widen-convolutions", ("drop llvm-widen-convolutions",), _CONVOLUTIONS),
    Choice("blocks of channels", "llvm-block-channels", ("drop llvm-block-channels",), _CONVOLUTIONS),
    Choice(
        "channels last",
        "llvm-block-channels",
        ("run relax-convert-layout{desired=relax.nn.conv2d:NHWC:HWIO} before llvm-block-channels",),
        _CONVOLUTIONS,
    ),
    Choice(
        "blocks of channels by group", "llvm-block-channels", _convolution_groups, ("relax.nn.conv2d",), several=True
    ),
    Choice("transposed weights", "llvm-turn-weights", ("drop llvm-turn-weights",), ("relax.einsum",)),
    Choice("winograd", "llvm-winograd", _winograd, ("relax.nn.conv2d",), exact=False),
    Choice("batch", "relax-split-batch", ("drop relax-split-batch",), _CONVOLUTIONS),
    Choice("epilogues", "relax-fuse-ops", ("set relax-fuse-ops{epilogues=false}",)),
    Choice("siblings", "relax-fuse-ops", ("set relax-fuse-ops{beside=false}",)),
    Choice("recomputation", "relax-fuse-ops", ("set relax-fuse-ops{again=false}",)),
    Choice("fusion by kernel", "relax-fuse-ops", _fused_calls, several=True),
    Choice("padding", "tir-cut-padding", ("drop tir-cut-padding",)),
    Choice("rows", "tir-fuse-rows", ("drop tir-fuse-rows",)),
    Choice("branches", "relax-outline-branches", ("drop relax-outline-branches",)),
    Choice("loops", "tir-inline-into-loops", ("drop tir-inline-into-loops",)),
)
_registered: dict[str, Choice] = {each.name: each for each in _OWN}


def register_choice(choice: Choice) -> Choice:
    """Add a choice to the space of programs. Raise RelaxError if its name is taken, or an edit has another form."""
    if choice.name in _registered:
        raise rx.RelaxError(f"there is a choice '{choice.name}' already: use another name")
    check_choice(choice)
    _registered[choice.name] = choice
    return choice


def check_choice(choice: Choice) -> None:
    """Raise RelaxError for an edit of another form, or of another pass."""
    for text in () if callable(choice.edits) else choice.edits:
        if (anchor := StageEdit.parse(text).anchor) != choice.anchor:
            raise rx.RelaxError(f"choice '{choice.name}': '{text}' changes '{anchor}', expected '{choice.anchor}'")


def all_choices() -> tuple[Choice, ...]:
    """Return the registered choices."""
    return tuple(_registered.values())


# ---- candidates of a program ----


class Candidate(NamedTuple):
    """Edit of a choice."""

    edit: str
    choice: Choice


@dataclass(frozen=True)
class ProgramSpace:
    """Candidates of a program, by the passes of its stages."""

    module: rx.Module
    target: str
    precision: str
    choices: tuple[Choice, ...]

    def anchors(self) -> list[str]:
        """Return the passes with choices, in the order of the stages."""
        stages = rx.stages(self.target)
        order = {name: number for number, name in enumerate(stages.names)}
        found = {choice.anchor: pass_place(stages, choice.anchor) for choice in self.choices}
        places = {anchor: (order[place[0]], place[1]) for anchor, place in found.items() if place is not None}
        return sorted(places, key=places.__getitem__)

    def candidates(self, anchor: str, edits: Sequence[str]) -> list[Candidate]:
        """Return the candidates of a pass, of a program with earlier edits. Each gives another program."""
        stages = edit_stages(rx.stages(self.target), edits)
        if pass_place(stages, anchor) is None:
            return []
        point = Point(self._run_before(stages, anchor), self.target)
        place = pass_place(stages, anchor)
        assert place is not None
        stage, number = place
        one = stages.only(stage).replace(stage, stages[stage].passes[number])
        known = {self._key(point, one)}
        found = []
        for choice in self.choices:
            for edit in choice.edits_at(point) if choice.anchor == anchor else ():
                if (key := self._key(point, edit_stages(one, [edit]))) not in known:
                    known.add(key)
                    found.append(Candidate(edit, choice))
        return found

    def _run_before(self, stages: rx.Stages, anchor: str) -> rx.Module:
        place = pass_place(stages, anchor)
        assert place is not None
        stage, number = place
        cut = stages.until(stage).replace(stage, stages[stage].passes[:number])
        # products get their precision before constants are folded
        precision = self.precision if {"fold", "legalize"}.intersection(cut.names) else "f32"
        return rx.lower(self.module, self.target, pipeline=cut, precision=precision)

    def _key(self, point: Point, stages: rx.Stages) -> str:
        try:
            return program_key(rx.lower(point.module, self.target, pipeline=stages).operation, self.target)
        except rx.RelaxError:
            return ""  # the pass refuses the program, as a trial would


def are_compatible(one: Candidate, other: Candidate) -> bool:
    """Check whether two edits of the same or of different choices can be combined."""
    if one.choice.name == other.choice.name:
        return one.choice.several
    verbs = {StageEdit.parse(candidate.edit).verb for candidate in (one, other)}
    return one.choice.anchor != other.choice.anchor or "drop" not in verbs


def fitted(module: rx.Module, target: str, bind: Mapping[str, int] | None) -> rx.Module:
    """Return a copy of a module that enters a target's stages: with bound sizes."""
    return rx.lower(module, target, pipeline=replace(rx.stages(target), stages=()), bind=bind)


def stages_of(
    module: rx.Module, target: str, folder: str | os.PathLike[str], bind: Mapping[str, int] | None, precision: str
) -> rx.Stages:
    """Return a target's stages with the choices of a folder's file for a program."""
    stages = rx.stages(target)
    if not os.path.isdir(folder):
        return stages
    return tuned_stages(stages, fitted(module, target, bind).operation, folder, target, precision)
