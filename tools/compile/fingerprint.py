# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program depends on beside its model and the options, told by files' sizes and times: nothing is imported."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator

from ...bindings.wheel import bindings_identity
from ...runtime.cpu import cpu_identity, host_caches
from ...support.plugins import plugin_module

_PACKAGE = __name__.partition(".")[0]
#: The package's folders, which need not lie in one.
PARTS = ("", ".bindings", ".dialects", ".emit", ".frontends", ".passes", ".runtime", ".support", ".targets", ".tools")
#: Other packages that compiling may import: what changes with them may change programs.
_OTHERS = ("onnx", "numpy", "ml_dtypes", "llvmlite")
_SKIPPED = frozenset({"__pycache__", "dev"})
# A plug-in with more files is one that nobody can tell apart from its surroundings.
_MOST_FILES = 2000


def compiler_fingerprint() -> str:
    """A hash that changes with the compiler, the packages that it uses, the CPU and its caches."""
    hashed = hashlib.blake2b(digest_size=20)
    machine = (bindings_identity(), cpu_identity(), host_caches())
    for line in (sys.version, *machine, *_own_files(), *_other_packages()):
        hashed.update(f"{line}\n".encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def plugin_fingerprint(name: str) -> str | None:
    """A hash that changes with a plug-in's files: those of its package, or beside its module. None: nobody can tell."""
    spec = _top_spec(plugin_module(name))
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    if not folders and not (spec.has_location and spec.origin):
        return None
    lines: list[str] = []
    for line in _files(folders) if folders else _beside(str(spec.origin)):
        lines.append(line)
        if len(lines) > _MOST_FILES:
            return None
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()


def is_own_target(name: str) -> bool:
    """Whether a target is one of this project's; those of other packages are theirs to change."""
    spec = importlib.util.find_spec(f"{_PACKAGE}.targets")
    folders = (spec and spec.submodule_search_locations) or ()
    return name.isidentifier() and any(os.path.isfile(os.path.join(each, name, "target.py")) for each in folders)


def _own_files() -> Iterator[str]:
    for part in PARTS:
        spec = importlib.util.find_spec(_PACKAGE + part)
        # Not where it looks for its parts: in a checkout that is the whole repository, where files come and go.
        yield from _files([os.path.dirname(spec.origin)] if spec and spec.origin else ())


def _other_packages() -> Iterator[str]:
    for name in _OTHERS:
        spec = _top_spec(name)
        yield name if spec is None or not spec.origin else _described(spec.origin)


def _top_spec(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where the package that holds a module is; not imported, as `find_spec` imports parents."""
    try:
        return importlib.util.find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        return None


def _files(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        for place, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if name not in _SKIPPED)
            for name in sorted(names):
                yield _described(os.path.join(place, name))


def _beside(path: str) -> Iterator[str]:
    """The modules in a module's folder: it may import them."""
    folder = os.path.dirname(path)
    for name in sorted(os.listdir(folder)):
        if name.endswith((".py", ".so", ".json")):
            yield _described(os.path.join(folder, name))


def _described(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{path} {status.st_size} {status.st_mtime_ns}"
