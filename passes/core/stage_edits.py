# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Edits of a target's stages as text, which a tuned program applies.

    drop relax-split-batch
    set relax-fuse-ops{epilogues=false}
    run relax-convert-layout{desired=relax.nn.conv2d:NHWC:OHWI} before llvm-block-channels

An edit changes each pass with its name. `set` adds to options with several values, and replaces other options.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ...support.errors import OptionError
from .base import Pass
from .options import option_fields, quoted, split_list, split_options
from .registry import find_pass
from .stages import Stage, Stages

_FORMS = (
    re.compile(r"(?P<verb>drop) (?P<anchor>[\w.-]+)"),
    re.compile(r"(?P<verb>set) (?P<anchor>[\w.-]+)\{(?P<text>.*)\}"),
    re.compile(r"(?P<verb>run) (?P<text>\S.*) before (?P<anchor>[\w.-]+)"),
)
_ITEM = re.compile(r"(?P<name>[\w.-]+)(?:\{(?P<options>.*)\})?")


class StageEdit(NamedTuple):
    """Change of the passes with a name."""

    verb: str
    #: Pass that the edit drops or changes, or before which another pass runs.
    anchor: str
    #: Options of `set`, or the pass of `run`.
    text: str = ""

    @classmethod
    def parse(cls, text: str) -> StageEdit:
        """Read an edit. Raise OptionError for text of another form."""
        for form in _FORMS:
            if (match := form.fullmatch(text)) is not None:
                return cls(match["verb"], match["anchor"], match.groupdict().get("text") or "")
        expected = "'drop PASS', 'set PASS{OPTION=VALUE}' or 'run PASS before PASS'"
        raise OptionError(f"'{text}' is no edit of stages: expected {expected}")

    @property
    def passes(self) -> tuple[str, ...]:
        """Return the names of the passes in the edit."""
        run = _ITEM.match(self.text) if self.verb == "run" else None
        return (self.anchor,) if run is None else (self.anchor, run["name"])


def edit_stages(stages: Stages, edits: Iterable[str]) -> Stages:
    """Return stages with edits. Raise OptionError for an edit that does not fit.

    An edit has no effect on a pass that these stages leave out, but the target's own stages have.
    """
    found = stages
    for text in edits:
        found = _edit_stages(found, StageEdit.parse(text))
    for before, after in zip(stages.stages, found.stages, strict=True):
        if before is not after:
            after.pipeline(stages.target.partition("{")[0])  # checks names and options of passes
    return found


def pass_place(stages: Stages, name: str) -> tuple[str, int] | None:
    """Return the stage and the place in it of the first pass with a name, or None."""
    places = (
        (stage.name, place) for stage in stages for place, pass_ in enumerate(stage.passes) if _name(pass_) == name
    )
    return next(places, None)


def _edit_stages(stages: Stages, edit: StageEdit) -> Stages:
    changed = tuple(_edited_stage(stage, edit) for stage in stages.stages)
    known = (*stages.stages, *stages.own, *stages.left_out)
    if not any(_name(pass_) == edit.anchor for stage in known for pass_ in stage.passes):
        raise OptionError(f"no stage of target '{stages.target}' runs '{edit.anchor}'")
    return replace(stages, stages=changed)


def _edited_stage(stage: Stage, edit: StageEdit) -> Stage:
    if not any(_name(pass_) == edit.anchor for pass_ in stage.passes):
        return stage
    return replace(stage, passes=tuple(_edited_passes(stage.passes, edit)))


def _edited_passes(passes: Iterable[str | Pass], edit: StageEdit) -> Iterator[str | Pass]:
    for pass_ in passes:
        if _name(pass_) != edit.anchor:
            yield pass_
        elif edit.verb == "run":
            yield edit.text
            yield pass_
        elif edit.verb == "set":
            yield _with_options(pass_ if isinstance(pass_, str) else pass_.text(), edit)


def _with_options(text: str, edit: StageEdit) -> str:
    match = _ITEM.fullmatch(text)
    assert match is not None
    options = dict(split_options(match["options"] or ""))
    for name, value in split_options(edit.text):
        before = options.get(name)
        if before and value and _takes_several(edit.anchor, name):
            value = ",".join(dict.fromkeys((*split_list(before), *split_list(value))))
        options[name] = value
    shown = (name if value is None else f"{name}={quoted(value)}" for name, value in options.items())
    return f"{edit.anchor}{{{' '.join(shown)}}}"


def _takes_several(pass_name: str, option: str) -> bool:
    found = find_pass(pass_name)
    field = None if found is None else option_fields(found).get(option)
    return field is not None and str(field.type).startswith("tuple")


def _name(each: str | Pass) -> str:
    """Return the name of a pass, or "" for text with several passes."""
    if not isinstance(each, str):
        return each.name
    match = _ITEM.fullmatch(each)
    return "" if match is None else match["name"]
