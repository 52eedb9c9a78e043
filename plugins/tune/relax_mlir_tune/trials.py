# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All trials in an SQLite file: an interrupted search continues with them, and readers can study them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from .measuring import Outcome
from .space import Plans

FILE = "trials.sqlite"
_TABLE = """create table if not exists trials (
    key text, machine text, kernel text, plans text, turns text, problem text, wrong integer, seconds real,
    at text default current_timestamp
)"""


class Trials:
    """Trials of a folder. A database that cannot be used is reported, and trials are not kept then."""

    def __init__(self, folder: Path, machine: str):
        self._machine, self.problem = machine, ""
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database: sqlite3.Connection | None = sqlite3.connect(path)
            self._database.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            self.problem, self._database = f"trials are not kept: '{path}': {error}", None

    def add(self, key: str, kernel: str, outcome: Outcome) -> None:
        if self._database is None:
            return
        row = (
            *(key, self._machine, kernel, json.dumps(outcome.plans), json.dumps(outcome.turns), outcome.problem),
            *(outcome.is_wrong, outcome.seconds),
        )
        try:
            with self._database:
                self._database.execute(
                    "insert into trials (key, machine, kernel, plans, turns, problem, wrong, seconds) "
                    "values (?, ?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
        except sqlite3.Error as error:
            self.problem, self._database = f"trials are not kept: {error}", None

    def known(self, key: str) -> dict[Plans, Outcome]:
        """Return the earlier outcomes of a kernel on this machine."""
        if self._database is None:
            return {}
        try:
            rows = self._database.execute(
                "select plans, turns, problem, wrong, seconds from trials where key = ? and machine = ?",
                (key, self._machine),
            ).fetchall()
            return {each.plans: each for each in map(_outcome, rows)}
        except (sqlite3.Error, ValueError, TypeError) as error:
            self.problem, self._database = f"earlier trials are not used, and new ones not kept: {error}", None
            return {}

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


def _outcome(row: tuple[str, str, str, int, float]) -> Outcome:
    plans, turns, problem, wrong, seconds = row
    pairs = tuple((float(default), float(tuned)) for default, tuned in json.loads(turns))
    return Outcome(tuple(map(str, json.loads(plans))), pairs, problem, bool(wrong), seconds)
