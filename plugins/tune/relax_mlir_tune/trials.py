# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All trials in an SQLite file: an interrupted search continues with them, and readers can study them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import relax_mlir as rx

from .measuring import Outcome
from .space import Plans

FILE = "trials.sqlite"
_TABLES = (
    """create table if not exists trials (
    key text, machine text, kernel text, plans text, turns text, problem text, wrong integer, seconds real,
    at text default current_timestamp
)""",
    """create table if not exists kernels (
    key text, machine text, kernel text, plans text, seconds real, calls integer, primary key (key, machine)
)""",
)
#: Columns of an outcome.
_OUTCOME = "plans, turns, problem, wrong, seconds"
#: Seconds to wait for another search that writes to the database.
_WAIT = 30.0


@dataclass
class Searched:
    """Kernel on a machine, with its trials in their order."""

    key: str
    machine: str
    kernel: str
    #: Plans of the target's rules.
    default: Plans = ()
    #: Seconds of a call by the default plans, and calls in the program.
    seconds: float = 0.0
    calls: int = 0
    outcomes: list[Outcome] = field(default_factory=list)


class Trials:
    """Trials of a folder. A database that cannot be used is reported, and trials are not kept then."""

    def __init__(self, folder: Path, machine: str):
        self._machine, self.problem = machine, ""
        self._path, self._can_write = folder / FILE, True
        self._database: sqlite3.Connection | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._path, timeout=_WAIT)
            for table in _TABLES:
                self._database.execute(table)
        except (OSError, sqlite3.Error) as error:
            self._stop_writing(error)

    def add_kernel(self, searched: Searched) -> None:
        """Store a kernel, for readers of its trials."""
        row = (searched.key, self._machine, searched.kernel, json.dumps(searched.default))
        self._write("insert or replace into kernels", (*row, searched.seconds, searched.calls))

    def add(self, key: str, kernel: str, outcome: Outcome) -> None:
        """Store a trial."""
        texts = json.dumps(outcome.plans), json.dumps(outcome.turns), outcome.problem
        row = (key, self._machine, kernel, *texts, outcome.is_wrong, outcome.seconds)
        self._write(f"insert into trials (key, machine, kernel, {_OUTCOME})", row)

    def known(self, key: str) -> dict[Plans, Outcome]:
        """Return the earlier outcomes of a kernel on this machine."""
        if self._database is None:
            return {}
        query = f"select {_OUTCOME} from trials where key = ? and machine = ?"
        try:
            rows = self._database.execute(query, (key, self._machine)).fetchall()
        except sqlite3.Error as error:
            self.problem = self.problem or f"earlier trials are not used: '{self._path}': {error}"
            return {}
        outcomes, damaged = outcomes_in(rows)
        if damaged:
            self.problem = self.problem or f"{damaged} damaged trials are not used: '{self._path}'"
        return {outcome.plans: outcome for outcome in outcomes}

    def _write(self, statement: str, row: tuple[str | float | None, ...]) -> None:
        if self._database is None or not self._can_write:
            return
        try:
            with self._database:
                self._database.execute(f"{statement} values ({', '.join('?' * len(row))})", row)
        except sqlite3.Error as error:
            self._stop_writing(error)

    def _stop_writing(self, error: OSError | sqlite3.Error) -> None:
        self._can_write = False
        self.problem = self.problem or f"trials are not kept: '{self._path}': {error}"

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


def outcomes_in(rows: Iterable[tuple[str, str, str, int, float]]) -> tuple[list[Outcome], int]:
    """Return the outcomes of rows, and the number of damaged rows."""
    found, damaged = [], 0
    for row in rows:
        try:
            found.append(_outcome(row))
        except (ValueError, TypeError):
            damaged += 1
    return found, damaged


def _outcome(row: tuple[str, str, str, int, float]) -> Outcome:
    plans, turns, problem, wrong, seconds = row
    pairs = tuple((float(default), float(tuned)) for default, tuned in json.loads(turns))
    return Outcome(tuple(map(str, json.loads(plans))), pairs, str(problem), bool(wrong), float(seconds))


def searched_in(folder: Path) -> tuple[list[Searched], int]:
    """Return the kernels of a folder's database with their trials, and the number of damaged rows.

    Raises RelaxError if there is no database that can be read.
    """
    path = folder / FILE
    if not path.is_file():
        raise rx.RelaxError(f"'{folder}' has no {FILE}: tune a model with -o '{folder}' first")
    try:
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT)
        try:
            rows = database.execute(f"select key, machine, kernel, {_OUTCOME} from trials order by rowid").fetchall()
            has_kernels = database.execute("select 1 from sqlite_master where name = 'kernels'").fetchone()
            kernels = database.execute("select * from kernels").fetchall() if has_kernels else []
        finally:
            database.close()
    except sqlite3.Error as error:
        raise rx.RelaxError(f"trials in '{path}' cannot be read: {error}") from None
    return _group(rows, kernels)


def _group(
    rows: Iterable[tuple[str, str, str, str, str, str, int, float]],
    kernels: Iterable[tuple[str, str, str, str, float, int]],
) -> tuple[list[Searched], int]:
    searched_kernels: dict[tuple[str, str], Searched] = {}
    damaged = 0
    for key, machine, kernel, plans, seconds, calls in kernels:
        try:
            default = tuple(map(str, json.loads(plans)))
            searched_kernels[key, machine] = Searched(key, machine, str(kernel), default, float(seconds), int(calls))
        except (ValueError, TypeError):
            damaged += 1
    for key, machine, kernel, *row in rows:
        outcomes, count = outcomes_in([tuple(row)])  # type: ignore[list-item]
        damaged += count
        searched_kernels.setdefault((key, machine), Searched(key, machine, str(kernel))).outcomes += outcomes
    return list(searched_kernels.values()), damaged
