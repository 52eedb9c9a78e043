# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Altered .pt2 archives for tests: records replaced, the graph's JSON changed."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

MODEL = "models/model.json"


def records_of(path: Path) -> dict[str, bytes]:
    """Return the records of an archive by their names below the root folder."""
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def write(path: Path, records: Mapping[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> Path:
    """Write an archive with these records."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in records.items():
            archive.writestr(f"root/{name}", data)
    return path


def altered(source: Path, target: Path, record: str, change: Callable[[Any], object]) -> Path:
    """Write a copy of an archive in which a function has changed the JSON of a record.

    The function changes the JSON in place, or returns another one.
    """
    records = records_of(source)
    data = json.loads(records[record])
    result = change(data)
    return write(target, {**records, record: json.dumps(data if result is None else result).encode()})


def replaced(value: Any, key: str, other: object) -> Any:
    """Return a copy of JSON in which all values of a key are replaced."""
    if isinstance(value, dict):
        return {
            name: copy.deepcopy(other) if name == key else replaced(each, key, other) for name, each in value.items()
        }
    return [replaced(each, key, other) for each in value] if isinstance(value, list) else value


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Walk the paths of all values in JSON."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def nodes(document: Any) -> list[Any]:
    """Return the nodes of the graph in a model's JSON."""
    found: list[Any] = document["graph_module"]["graph"]["nodes"]
    return found
