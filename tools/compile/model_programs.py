# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cached programs of model files, keyed by the content of these files, the options, and the compiler.

A hit imports neither MLIR nor NumPy. Three lookups lead to a program. The model's hash gives the names of its data
files. The hashes of all files give the key of compilation/program_cache.py. That key gives the program's file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable

from ...compilation.device_targets import target_of_machine
from ...compilation.fingerprint import (
    compiler_fingerprint,
    front_end_fingerprint,
    plugin_fingerprint,
    target_fingerprint,
)
from ...support.disk_cache import DiskCache
from ...support.errors import RelaxError
from ...support.files import is_special, refuse_overwriting, refuse_unwritable
from ..common.command_line import Arguments
from .file_hash import FileHashes, Settled, file_status
from .options import OPTIONS

FORMAT = "2"
# Options that affect the program, and options that do not. Any other option requires more than the program.
_DECIDING = tuple("target O shape most-nodes most-growth bind donate precision numerics no-tuned load-plugin".split())
_WITHOUT_EFFECT = frozenset({"o", "emit", "v", "traceback", "jobs", "cache-dir", "no-cache"})
_MODELS, _PROGRAM_KEYS, _OUTPUTS = "models", "model-programs", "outputs"
#: Kind of the entries of compilation/program_cache.py, which cannot be imported here because it imports MLIR.
_PROGRAMS = "programs"


class ModelProgram:
    """Program that a command line requests, identified before compilation."""

    def __init__(self, cache: DiskCache, source: str, output: str, options: str) -> None:
        """Hash the model. Raise OSError if the model cannot be read."""
        self._cache, self._source, self._output = cache, source, output
        self._path, self._folder = os.path.realpath(output), os.path.realpath(os.path.dirname(source))
        self._begun = time.time_ns()
        self._hashes = FileHashes(cache)
        self._model: Settled = self._hashes.settled(source)
        self._key = _hash(FORMAT, options, self._model.digest)

    def fetch(self) -> bool:
        """Write the cached program. Return False if it is not cached. Raise RelaxError if it cannot be written."""
        refuse_unwritable(self._output)
        if (listed := self._cache.get(_MODELS, self._key)) is None:
            return False
        names = json.loads(listed)
        folder = os.path.dirname(self._source)
        refuse_overwriting({"-o": self._output}, [self._source, *(os.path.join(folder, name) for name in names)])
        try:
            known = self._cache.get(_PROGRAM_KEYS, self._files_key(names))
        except OSError:
            return False  # the import reports the error
        if known is None:
            return False
        key = known.decode()
        try:
            if not (self._is_there(key) or self._cache.copy_out(_PROGRAMS, key, self._path)):
                return False
            self._note_output(key)
            return True
        except OSError as error:
            raise RelaxError(f"{self._output}: cannot be written: {error.strerror}") from None

    def keep(self, files: Iterable[str], key: str | None) -> None:
        """Store the program of the model and these files, unless they have changed meanwhile.

        `key` is the program's key if the cache has it already. The cache lacks programs of plug-ins with registered
        rules, which only the key of this class covers.
        """
        names = self._names(files)
        try:
            if not self.is_unchanged(files):
                return
            files_key = self._files_key(names)
        except OSError:
            return
        if key is None:
            key = files_key
            self._cache.copy_in(_PROGRAMS, key, self._output)
        self._cache.put(_PROGRAM_KEYS, files_key, key.encode())
        self._cache.put(_MODELS, self._key, json.dumps(names).encode())
        with contextlib.suppress(OSError):
            self._note_output(key)

    def is_unchanged(self, files: Iterable[str]) -> bool:
        """Check whether the model and its files are unchanged since they were read."""
        try:
            return self._model.is_still_so() and all(map(self._is_older, self._names(files)))
        except OSError:
            return False

    def _names(self, files: Iterable[str]) -> list[str]:
        return sorted(os.path.relpath(file, self._folder) for file in files)

    def _is_there(self, key: str) -> bool:
        """Check whether the output already is this unmodified program, and update its time stamp."""
        known = self._cache.get(_OUTPUTS, _hash(self._path))
        try:
            if known is None or json.loads(known) != [list(file_status(self._path)), key]:
                return False
            os.utime(self._path)
        except OSError:
            return False  # the file was deleted, or belongs to another user
        return True

    def _note_output(self, key: str) -> None:
        status = file_status(self._path)
        self._cache.put(_OUTPUTS, _hash(self._path), json.dumps([status, key]).encode())

    def _files_key(self, names: Iterable[str]) -> str:
        pairs = [(name, self._hashes.settled(os.path.join(self._folder, name)).digest) for name in names]
        return _hash(self._key, json.dumps(pairs))

    def _is_older(self, name: str) -> bool:
        status = os.stat(os.path.join(self._folder, name))
        return max(status.st_ctime_ns, status.st_mtime_ns) < self._begun - 50_000_000


def model_program(arguments: Arguments, cache: DiskCache | None) -> ModelProgram | None:
    """Return the program of a command line, or None if it cannot be cached."""
    if cache is None or not _is_a_program_alone(arguments):
        return None
    target = target_fingerprint(arguments["target"].partition("{")[0].strip())
    front_end = front_end_fingerprint(arguments.files[0])
    plugins = [target, front_end, *(plugin_fingerprint(name) for name in arguments["load-plugin"] or ())]
    if None in plugins:
        return None
    given = {name: arguments[name] for name in _DECIDING}
    given["target"] = target_of_machine(arguments["target"])
    options = json.dumps([given, plugins, compiler_fingerprint()], sort_keys=True)
    try:
        return ModelProgram(cache, arguments.files[0], arguments["o"], options)
    except OSError:
        return None  # the import reports the error


def _is_a_program_alone(arguments: Arguments) -> bool:
    changed = {name for name, option in OPTIONS.items() if arguments[name] != option.default}
    return (
        arguments["emit"] == "artifact" and changed <= {*_DECIDING, *_WITHOUT_EFFECT} and not is_special(arguments["o"])
    )


def _hash(*parts: str) -> str:
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()
