# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fingerprint of a program's dependencies besides model and options, from file sizes and times, without imports."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator

from ..bindings.package_files import PACKAGE, described, files_in, other_packages, own_files, top_spec
from ..bindings.wheel import bindings_identity
from ..frontends.front_end import find_front_end
from ..runtime.cpu import cpu_identity, host_caches
from ..support.importing import is_own_module
from ..support.plugins import announced_plugins, plugin_module

# A plug-in with more files cannot be told from unrelated files in its folder.
_MOST_FILES = 2000


def compiler_fingerprint() -> str:
    """Return a hash of the compiler, the packages that it uses, the CPU and its caches."""
    hashed = hashlib.blake2b(digest_size=20)
    machine = (bindings_identity(), cpu_identity(), host_caches())
    for line in (sys.version, *machine, *own_files(), *other_packages()):
        hashed.update(f"{line}\n".encode("utf-8", "surrogateescape"))
    return hashed.hexdigest()


def plugin_fingerprint(name: str) -> str | None:
    """Return a hash of a plug-in's files: its package, or all modules in its folder. Return None if unknown."""
    if (spec := top_spec(plugin_module(name))) is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    if not folders and not (spec.has_location and spec.origin):
        return None
    lines: list[str] = []
    for line in files_in(folders) if folders else _modules_next_to(str(spec.origin)):
        lines.append(line)
        if len(lines) > _MOST_FILES:
            return None
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogateescape"), digest_size=20).hexdigest()


def module_fingerprint(name: str) -> str | None:
    """Return a hash of a plug-in's files, or "" for a module of the compiler: compiler_fingerprint covers its files."""
    return "" if name.partition(".")[0] == PACKAGE else plugin_fingerprint(name)


def target_fingerprint(name: str) -> str | None:
    """Return "" for a target of the compiler, or a hash of the project's plug-in that announces the target.

    Return None for other packages: their targets may depend on further packages.
    """
    spec = importlib.util.find_spec(f"{PACKAGE}.targets")
    folders = (spec and spec.submodule_search_locations) or ()
    if name.isidentifier() and any(os.path.isfile(os.path.join(folder, name, "target.py")) for folder in folders):
        return ""
    modules = [module for *point, module in announced_plugins() if point == ["target", name]]
    return plugin_fingerprint(modules[0]) if len(modules) == 1 and is_own_module(modules[0]) else None


def front_end_fingerprint(path: str) -> str | None:
    """Return "" for a model that the compiler reads, or a hash of the project's plug-in that reads it.

    The hash covers the packages that announce converters for this front end. Return None without a front end, and for
    front ends of other packages, which may depend on further packages.
    """
    if (front_end := find_front_end(path)) is None:
        return None
    module = front_end.load.__module__
    if module.partition(".")[0] == PACKAGE:
        return ""
    modules = [module, *(name for kind, _, name in announced_plugins() if kind == front_end.name)]
    found = [plugin_fingerprint(each) for each in modules] if is_own_module(module) else [None]
    return None if None in found else " ".join(map(str, found))


def _modules_next_to(path: str) -> Iterator[str]:
    """Yield a line for each module in a module's folder, which the module may import."""
    folder = os.path.dirname(path)
    for name in sorted(os.listdir(folder)):
        if name.endswith((".py", ".so", ".json")):
            yield described(os.path.join(folder, name))
