# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Store of the weights of cached programs. Programs with the same weights share them: each constant is there once.

A file of the store is an artifact that has constants and no code. The name of a constant is its digest. The program of
a cached model has empty constants instead, and SHARED names the digests and the files of the store.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import relax_mlir as rx
from relax_mlir.runtime import Artifact, Constant, Executable, read_artifact, write_artifact

#: File of a cached model with the digests of constants by name, and the names of the store's files.
SHARED = "weights.json"
#: Folder of the store in the cache.
_STORE = "weights"
#: Bytes of the smallest constant in the store. Smaller ones take as much room as their digests.
_LEAST_BYTES = 1024
#: Seconds that a process has to write the cached model of a new file in the store.
_GRACE = 3600.0


def share_weights(program: Path) -> None:
    """Move the large constants of a cached model's program to the store, unless the store has them."""
    store = _store(program)
    artifact = read_artifact(program, verify_constants=False)
    digests = {
        constant.name: _digest(constant) for constant in artifact.constants if constant.data.nbytes >= _LEAST_BYTES
    }
    large = {digests[constant.name]: constant for constant in artifact.constants if constant.name in digests}
    files = _places(store, large)
    added = {digest: replace(value, name=digest) for digest, value in large.items() if digest not in files}
    if added:
        store.mkdir(exist_ok=True)
        file = store / f"{_hash(''.join(sorted(added)).encode())}.rxa"
        write_artifact(Artifact(entries=(), objects=(), constants=tuple(added.values())), file)
        files.update(dict.fromkeys(added, file))
    used = {files[digest] for digest in large}
    for file in used:
        os.utime(file)  # spares the file from `remove_unused` of another process
    constants = (_drop_data(constant) if constant.name in digests else constant for constant in artifact.constants)
    write_artifact(replace(artifact, constants=tuple(constants)), program)
    names = sorted(file.name for file in used)
    (program.parent / SHARED).write_text(json.dumps({"files": names, "constants": digests}), encoding="utf-8")


def load_program(program: Path) -> Executable:
    """Return the program of a saved or cached model. Raise ArtifactError if the store lacks one of its constants."""
    file = program.parent / SHARED
    if not file.exists():
        # The weights are most of the file. Checking them for damage would read all of them before the first token.
        return rx.runtime.load(program, verify_constants=False)
    artifact = read_artifact(program, verify_constants=False)
    try:
        shared = json.loads(file.read_text(encoding="utf-8"))
        stored: dict[str, Constant] = {}
        for name in shared["files"]:
            stored.update(_constants(_store(program) / name))
        digests = shared["constants"]
        constants = [
            replace(stored[digests[constant.name]], name=constant.name) if constant.name in digests else constant
            for constant in artifact.constants
        ]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise rx.ArtifactError(f"{file} is damaged: {error}; load the model's own files") from None
    return Executable(replace(artifact, constants=tuple(constants)))


def remove_unused(cache: Path) -> None:
    """Remove the files of the store that no cached model names."""
    used: set[str] = set()
    for path in cache.glob(f"*/*/{SHARED}"):
        with suppress(OSError, ValueError, KeyError):
            used.update(json.loads(path.read_text(encoding="utf-8"))["files"])
    for file in _files(cache / _STORE):
        with suppress(OSError):
            if file.name not in used and time.time() - file.stat().st_mtime > _GRACE:
                file.unlink()


def _store(program: Path) -> Path:
    """Return the folder of the store. It is beside the folders of models, which have a folder for each program."""
    return program.parents[2] / _STORE


def _files(store: Path) -> Iterator[Path]:
    return store.glob("*.rxa")


def _places(store: Path, large: Mapping[str, Constant]) -> dict[str, Path]:
    """Return the files of the store that have constants of a program.

    A file with other constants too is left out: it would be kept for a few bytes, such as the tables of a rope.
    """
    files = ((file, _constants(file)) for file in _files(store))
    return {digest: file for file, stored in files if stored.keys() <= large.keys() for digest in stored}


def _constants(file: Path) -> dict[str, Constant]:
    """Return the constants in a file of the store by digest, mapped. A damaged file has none."""
    try:
        return {constant.name: constant for constant in read_artifact(file, verify_constants=False).constants}
    except rx.ArtifactError:
        return {}


def _drop_data(constant: Constant) -> Constant:
    return replace(constant, shape=(0,), data=memoryview(b""))


def _digest(constant: Constant) -> str:
    return _hash(f"{constant.dtype} {constant.shape}\n".encode(), constant.data)


def _hash(*parts: bytes | memoryview) -> str:
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(part)
    return found.hexdigest()
