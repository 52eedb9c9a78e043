# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of a check on the workers of a cluster: found by their names there, or sent as files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from relax_mlir.support.plugins import load_plugin, named_plugins

from .case_lists import all_cases, preload
from .core.cases import Case
from .kept_cases import kept_case
from .trial import Subject, tried
from .verdicts import Verdict


class RemoteSubject(NamedTuple):
    """Subject of a check, and the plug-ins that its cases need."""

    subject: Subject
    plugins: tuple[str, ...]

    @staticmethod
    def of(subject: Subject) -> RemoteSubject:
        return RemoteSubject(subject, named_plugins())


class RemoteCase(NamedTuple):
    """Case by its name, or by the files of a folder that --keep wrote."""

    place: int
    name: str
    group: str
    files: tuple[tuple[str, bytes], ...] = ()


#: Arguments of `try_case`.
Arguments = tuple[RemoteSubject, RemoteCase, int]


def arguments_of(subject: Subject, cases: Sequence[Case], folders: Sequence[str], seed: int) -> Iterator[Arguments]:
    """Yield the arguments of `try_case` for each case. `folders` has one for each case, or is empty."""
    place = RemoteSubject.of(subject)
    for index, case in enumerate(cases):
        files = tuple(_files(folders[index])) if folders else ()
        yield place, RemoteCase(index, case.name, case.group, files), seed


def _files(folder: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(Path(folder).iterdir()):
        if path.suffix in (".mlir", ".npz"):
            yield path.name, path.read_bytes()


@cache
def prepare(place: RemoteSubject) -> None:
    """Load plug-ins, the compiler and the list of cases."""
    for name in place.plugins:
        load_plugin(name)
    preload(place.subject.target)
    _cases_by_name(place.subject)


def try_case(place: RemoteSubject, case: RemoteCase, seed: int) -> Verdict:
    """Run a case in this process."""
    if not case.files:
        if (case_ := _cases_by_name(place.subject).get(case.name)) is None:
            return Verdict(case.name, case.group, "unchecked", "the worker has no such case: its plug-ins differ")
        return tried(place.subject, case_, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, case.name)
        os.mkdir(path)
        for name, data in case.files:
            Path(path, name).write_bytes(data)
        return tried(place.subject, kept_case(path), seed)


@cache
def _cases_by_name(subject: Subject) -> dict[str, Case]:
    return {listed_case.name: listed_case for listed_case in all_cases(subject)}
