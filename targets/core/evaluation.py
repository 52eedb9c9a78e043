# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile-time evaluation (constant folding): programs compiled and run here during another compilation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...bindings.ir import Module
from ...bindings.package_files import loaded_compiler
from ...dialects.core.elements import hash_of, print_by_content
from ...passes.core.evaluating import Evaluator, NotComputed, evaluating_by
from ...passes.core.working import Means, working_with
from ...runtime.cpu import cpu_identity, host_caches, host_cores
from ...support.disk_cache import DiskCache
from ...support.errors import RelaxError
from ...support.registry import extensions_digest
from .code import build, stages_of
from .code_options import USUAL_LEVEL, CodeOptions, code_options
from .registry import parse_target

if TYPE_CHECKING:
    from numpy import ndarray

    from ...runtime.artifact import Artifact

#: Target for code on this machine.
HOST = "llvm"
_KIND = "results"
#: Kind of entries with the result keys of a program, by a hash of the program before lowering.
_PROGRAMS = "folded"
# Maximum size of cached results. Larger results would evict too many other entries.
_MOST_KEPT = 64 << 20


def host_evaluator(options: CodeOptions | None = None) -> Evaluator:
    """Return an evaluator that compiles for this machine. The options' cache stores code and results."""
    return Evaluator(HOST, partial(_run, options or code_options(USUAL_LEVEL, None, None)))


@contextmanager
def passes_at(opt_level: int, options: CodeOptions) -> Iterator[None]:
    """Run passes with these options inside the `with` statement, also for the code that evaluates constants.

    At -O0 constants are not evaluated, as evaluation takes longer than it saves.
    """
    with (
        evaluating_by(host_evaluator(options) if opt_level else None),
        working_with(Means(options.jobs, options.cache)),
    ):
        yield


def _run(options: CodeOptions, module: Module) -> list[ndarray]:
    # A fresh context hides this compilation from observers of the other one (journals, statistics, drivers).
    return Context().run(_compute, replace(options, instruments=()), module)


def _compute(options: CodeOptions, module: Module) -> list[ndarray]:
    cache, target = options.cache, parse_target(HOST)
    rules = None if cache is None else extensions_digest()
    program = None if rules is None else _program(options, module, rules)
    if cache is not None and program is not None and (kept := _read(cache, _keys_of(cache, program))) is not None:
        return kept
    try:
        with evaluating_by(None):
            stages_of(HOST, options.opt_level).run(module, HOST)
            artifact = build(module, target, options, "")
    except RelaxError as error:
        raise NotComputed(error.message) from None
    keys = _keys(artifact)
    kept = None if cache is None else _read(cache, keys)
    results = _called(artifact) if kept is None else kept
    if cache is None or any(each.nbytes > _MOST_KEPT for each in results):
        return results
    for key, result in zip(keys, results, strict=True) if kept is None else ():
        cache.put(_KIND, key, result.tobytes())
    # A rule may have been registered during lowering.
    if program is not None and extensions_digest() == rules:
        cache.put(_PROGRAMS, program, json.dumps(keys).encode())
    return results


def _program(options: CodeOptions, module: Module, rules: str) -> str:
    """Return a hash of everything that the results depend on: compiler, foreign rules, machine, module."""
    machine = cpu_identity(), host_caches(), host_cores()
    text = print_by_content(module.operation, hash_of, places=False)
    parts = json.dumps([loaded_compiler(), rules, machine, options.opt_level, text])
    return hashlib.blake2b(parts.encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()


def _keys_of(cache: DiskCache, program: str) -> list[str]:
    """Return the keys of a program's results, or an empty list for an unknown program."""
    data = cache.get(_PROGRAMS, program)
    return [] if data is None else list(json.loads(data))


def _keys(artifact: Artifact) -> list[str]:
    """Return a key for each result: a hash of the code and the constants."""
    hashed = hashlib.blake2b(digest_size=20)
    for data in (*artifact.objects, *(constant.data for constant in artifact.constants)):
        hashed.update(len(data).to_bytes(8, "little"))
        hashed.update(data)
    count = len(artifact.signatures[0].outputs)
    return [hashlib.blake2b(hashed.digest() + index.to_bytes(4, "little"), digest_size=20).hexdigest()
            for index in range(count)]  # fmt: skip


def _read(cache: DiskCache, keys: Sequence[str]) -> list[ndarray] | None:
    import numpy

    if not keys:
        return None
    found = []
    for key in keys:
        if (data := cache.get(_KIND, key)) is None:
            return None
        found.append(numpy.frombuffer(data, "uint8"))
    return found


def _called(artifact: Artifact) -> list[ndarray]:
    from ...runtime.arrays import storage
    from ...runtime.executable import Executable

    function = Executable(artifact)["main"]
    try:
        given = function()
    except Exception as error:  # of any class: a program's assertions name theirs
        raise NotComputed(f"{type(error).__name__}: {error}") from None
    return [storage(each) for each in (given if isinstance(given, tuple) else (given,))]
