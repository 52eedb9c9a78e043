# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuned programs: a JSON file for each program and machine, with the edits of stages that measurements chose.

    tuned/program-main-1f0c93be52a4d871-x86_64-512-2048K.json

The key describes the module that enters the stages, with bound sizes, because an edit may change any stage. It depends
on operations and types, but not on weights and locations.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..bindings.diagnostics import warn
from ..bindings.ir import Operation
from ..bindings.navigation import functions_in, is_private, symbol_name
from ..dialects.core.elements import print_by_content
from ..passes.core.stage_edits import edit_stages
from ..passes.core.stages import Stages
from ..passes.kernels.schedule.tuned_plans import MachineFacts, Times
from ..support.errors import RelaxError
from ..support.files import write_whole
from ..support.json_records import read_record
from ..targets.core.backend import TUNED_PROGRAM
from ..targets.core.code import find_backend
from ..targets.core.registry import parse_target

VERSION = 1
_KEY_BYTES = 8
_WEIGHTS = "weights"
#: Options of targets that the facts of a machine describe.
_OF_MACHINE = ("cpu", "features", "triple", "vector-bytes", "cores", "caches")


@dataclass(frozen=True)
class TunedProgram:
    """Edits of a target's stages for a program and a machine, with the times of the program."""

    #: Name of the program's first public function.
    program: str
    key: str
    #: Name of the target.
    target: str
    machine: MachineFacts
    edits: tuple[str, ...]
    times: Times
    #: Candidates that were measured.
    trials: int = 0
    #: True if results may differ from the default's in the last bits.
    inexact: bool = False
    #: Name of the CPU, for readers.
    cpu: str = ""
    #: File that the program was read from.
    path: str = field(default="", compare=False)

    @property
    def file_name(self) -> str:
        return f"{TUNED_PROGRAM}{_word(self.program)}-{self.key}-{self.machine.label}.json"

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write the file into a folder. Return its path."""
        path = Path(folder, self.file_name)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"version": VERSION, **asdict(self), "machine": self.machine._asdict(), "times": self.times._asdict()}
        del content["path"]
        write_whole(str(path), (json.dumps(content, indent=1) + "\n").encode())
        return path


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name)


def program_name(module: Operation) -> str:
    """Return the name of a module's first public function, or "main"."""
    return next((symbol_name(function) for function in functions_in(module) if not is_private(function)), "main")


def program_key(module: Operation, target: str, precision: str = "f32") -> str:
    """Return a hash of a module that enters a target's stages: its operations and types, but not its weights."""
    chosen = parse_target(target)
    options = [pair for pair in chosen.options if pair[0] not in _OF_MACHINE]
    text = print_by_content(module, lambda weights: _WEIGHTS, places=False)
    parts = json.dumps([chosen.name, options, precision, text])
    return hashlib.blake2b(parts.encode("utf-8", "surrogateescape"), digest_size=_KEY_BYTES).hexdigest()


def program_paths(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the files of tuned programs in a folder."""
    return sorted(Path(folder).glob(f"{TUNED_PROGRAM}*-*-*-*-*.json"))


def find_program(folder: str | os.PathLike[str], key: str, target: str) -> TunedProgram | None:
    """Return the program that was tuned for a target on the most similar machine. Raises RelaxError for damage."""
    if not (paths := sorted(Path(folder).glob(f"{TUNED_PROGRAM}*-{key}-*.json"))):
        return None
    chosen = parse_target(target)
    facts = MachineFacts.of(find_backend(chosen.name).machine(chosen))
    read = [read_program(path) for path in paths]
    for each in read:
        if each.key != key:
            raise RelaxError(f"tuned program '{each.path}' is for the key {each.key}: rename it '{each.file_name}'")
    found = [each for each in read if each.target == chosen.name and each.machine.fits(facts)]
    return min(found, key=lambda each: each.machine.distance(facts), default=None)


def tuned_stages(
    stages: Stages, module: Operation, folder: str | os.PathLike[str], target: str, precision: str = "f32"
) -> Stages:
    """Return stages with the edits of a tuned program. A file that does not fit is left out, with a warning."""
    if not program_paths(folder):
        return stages  # the key costs time
    try:
        program = find_program(folder, program_key(module, target, precision), target)
        return stages if program is None else edit_stages(stages, program.edits)
    except RelaxError as error:
        warn(f"@{program_name(module)}: its tuned choices are left out: {error.message}", module.location)
        return stages


def read_program(path: Path) -> TunedProgram:
    """Read a tuned program. Raises RelaxError for a file of another version, and for a damaged file."""
    return read_record(TunedProgram, path, VERSION, "tuned program", "tune the program again", _from_json)


def _from_json(content: dict[str, Any]) -> None:
    edits = content["edits"]
    if not isinstance(edits, list) or not all(isinstance(edit, str) for edit in edits):
        raise TypeError(f"edits are {edits!r:.60}, expected a list of texts")
    content["edits"] = tuple(edits)
    content["times"] = Times.from_json(content["times"])
    content["machine"] = MachineFacts.from_json(content["machine"])
