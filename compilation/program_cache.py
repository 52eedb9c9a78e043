# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cache of whole programs for all entry points: rx.compile, rx.jit, torch.compile, the PJRT platform, relax-compile.

The key is a hash of the module's text with hashes of its weights, the options, the machine, and the compiler's files.
A hit maps the program's file into memory, and repeats the warnings of the compilation.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from mmap import mmap
from typing import TYPE_CHECKING, Any

from ..bindings.diagnostics import Diagnostic, noting_warnings, warn_again
from ..bindings.ir import Attribute, Module
from ..bindings.package_files import described, files_in, loaded_compiler
from ..dialects.context import registered_dialects
from ..dialects.core.elements import hash_of, held_array, print_by_content
from ..passes.core.journal import Journal
from ..runtime.artifact import Artifact, artifact_pieces, parse_artifact
from ..runtime.cpu import cpu_identity, host_caches, host_cores
from ..runtime.errors import ArtifactError
from ..support.blaming import is_ours
from ..support.disk_cache import DiskCache
from ..support.errors import RelaxError
from ..support.registry import extensions_digest
from ..targets.core.code_options import CodeOptions
from .fingerprint import module_fingerprint, target_fingerprint
from .options import CompileOptions

if TYPE_CHECKING:
    from ..passes.graph.relax_partition import Partition

#: Kinds of entries: program files, and the warnings of their compilations.
PROGRAMS, _WARNINGS = "programs", "warnings"
_FORMAT = "2"
_OWN_DIALECTS = ("relax", "tir")


class CachedProgram:
    """Cache location of one program, with the warnings of its compilation."""

    def __init__(self, cache: DiskCache, rules: str, key: str, mapped: Sequence[tuple[Attribute, str]]) -> None:
        """Create a location.

        `rules` is the hash of foreign extensions; `mapped` lists memory-mapped weights with hashes.
        """
        self._cache, self._rules = cache, rules
        self.key = key
        self._mapped = mapped

    def fetch(self) -> Artifact | None:
        """Return the cached program and repeat its warnings, or return None if the program is not cached."""
        listed = self._cache.get(_WARNINGS, self.key)
        data = None if listed is None else self._cache.mapped(PROGRAMS, self.key)
        if listed is None or data is None:
            return None
        try:
            artifact = parse_artifact(data, verify_constants=False)  # the cache has verified all bytes
            warnings = [_diagnostic(warning) for warning in json.loads(listed)]
        except (ArtifactError, TypeError, ValueError):
            return None
        for warning in warnings:
            warn_again(warning)
        return artifact

    def found_or(self, compiled: Callable[[], Artifact], is_unchanged: Callable[[], bool] | None = None) -> Artifact:
        """Return the cached program, or compile the program and cache it.

        `is_unchanged` checks afterwards that memory-mapped weights still match the key. Without the function, the
        weights are hashed again.
        """
        if (found := self.fetch()) is not None:
            return found
        warnings: list[Diagnostic] = []
        with noting_warnings(warnings):
            artifact = compiled()
        if (is_unchanged or self._is_unchanged)():
            self._keep(artifact, warnings)
        return artifact

    def _is_unchanged(self) -> bool:
        return all(hash_of(weights) == digest for weights, digest in self._mapped)

    def _keep(self, artifact: Artifact, warnings: Sequence[Diagnostic]) -> None:
        # A rule may have been registered during the compilation, and files cannot store a program's own functions.
        if artifact.functions or extensions_digest() != self._rules:
            return
        # Warnings about parts depend on the installation of this machine.
        if artifact.externals and warnings:
            return
        self._cache.put_pieces(PROGRAMS, self.key, artifact_pieces(artifact))
        self._cache.put(_WARNINGS, self.key, json.dumps(warnings).encode("utf-8", "surrogateescape"))


def _diagnostic(fields: Sequence[object]) -> Diagnostic:
    diagnostic = Diagnostic(*fields)  # type: ignore[arg-type]  # as JSON has them
    return diagnostic._replace(notes=tuple(map(_diagnostic, diagnostic.notes)))


def cached_program(module: Module, options: CompileOptions, code: CodeOptions) -> CachedProgram | None:
    """Return the cache location of a module's program, or None if the key cannot cover all its dependencies."""
    if code.cache is None or not _is_usual(options):
        return None
    target, rules = target_fingerprint(options.chosen.name), extensions_digest()
    if target is None or rules is None:
        return None
    try:
        codegens = _codegens(options)
    except RelaxError:
        return None  # the compilation reports the error
    mapped: list[tuple[Attribute, str]] = []

    def name(weights: Attribute) -> str:
        digest = hash_of(weights)
        if _is_mapped(held_array(weights)):
            mapped.append((weights, digest))
        return digest

    text = print_by_content(module.operation, name)
    if codegens is None or _has_foreign_operations(text):
        return None
    machine = cpu_identity(), host_caches(), host_cores()
    extensions = target, codegens, rules
    parts = json.dumps([_FORMAT, loaded_compiler(), machine, _deciding(options), code.opt_level, extensions, text])
    key = hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()
    return CachedProgram(code.cache, rules, key, mapped)


def _is_mapped(owner: Any) -> bool:
    """Check whether an array's memory is a mapped file."""
    while owner is not None and not isinstance(owner, mmap):
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    return owner is not None


def _deciding(options: CompileOptions) -> str:
    """Return the options that affect the program as text, in a normal form."""
    bind = {name: str(size) for name, size in sorted((options.bind or {}).items())}
    tuned: object = options.tuned
    if isinstance(tuned, (str, os.PathLike)):
        # Files of kernels, without the trials that a search adds. loaded_compiler covers the target's own files.
        tuned = [file for file in files_in([os.fspath(tuned)]) if ".json " in file]
    donate = (options.donate,) if isinstance(options.donate, str) else tuple(options.donate)
    compile_options = replace(options, bind=bind, donate=donate, partition=_partition(options), tuned=str(tuned))
    return repr(replace(compile_options, cache=None, functions=None, jobs=None, device=None, graphs=None))


def _partition(options: CompileOptions) -> Partition | tuple[()]:
    if not options.partition:
        return ()
    from ..passes.graph.partition_stages import partition_of  # most programs have no parts

    return partition_of(options.partition)


def _is_usual(options: CompileOptions) -> bool:
    """Check that all options are plain values, and the compilation is not observed."""
    followed = options.journal, options.observation, options.pipeline, Journal.active(), options.schedules
    return (
        all(journal is None for journal in followed)
        and not options.instruments
        and isinstance(options.donate, (str, tuple, list))
        and isinstance(options.bind, (dict, type(None)))
        # The compilation reports a folder that is missing.
        and (options.tuned is None or os.path.isdir(options.tuned))
    )


def _codegens(options: CompileOptions) -> list[str] | None:
    """Return the fingerprints of the chosen codegens, or None if a codegen has no known fingerprint.

    Raises RelaxError for an unknown codegen.
    """
    if not (partition := _partition(options)):
        return []
    from ..passes.graph.partition.codegen import parse_codegen
    from ..passes.graph.partition.planning import find_planner

    chosen = [parse_codegen(codegen) for codegen in partition.codegens]
    if not all(
        is_ours(codegen)
        for codegen in (*(chosen_codegen.codegen for chosen_codegen in chosen), find_planner(partition.plan))
    ):
        return None
    stated = [chosen_codegen.codegen().fingerprint(chosen_codegen.values) for chosen_codegen in chosen]
    files = [module_fingerprint(codegen.codegen.__module__) for codegen in chosen]
    # The plan may be the file of a measured placement.
    return [*stated, *map(str, files), described(partition.plan)] if all(stated) and None not in files else None


def _has_foreign_operations(text: str) -> bool:
    """Check whether a module's text has operations of a dialect of another package."""
    return any(f"{name}." in text for name in registered_dialects() if name not in _OWN_DIALECTS)
