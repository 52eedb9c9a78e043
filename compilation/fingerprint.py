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
from ..runtime.cpu import cpu_identity, host_caches
from ..support.plugins import plugin_module

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
    spec = top_spec(plugin_module(name))
    if spec is None:
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


def is_own_target(name: str) -> bool:
    """Check whether a target belongs to this project. Other packages may change their targets."""
    spec = importlib.util.find_spec(f"{PACKAGE}.targets")
    folders = (spec and spec.submodule_search_locations) or ()
    return name.isidentifier() and any(os.path.isfile(os.path.join(each, name, "target.py")) for each in folders)


def _modules_next_to(path: str) -> Iterator[str]:
    """Yield a line for each module in a module's folder, which the module may import."""
    folder = os.path.dirname(path)
    for name in sorted(os.listdir(folder)):
        if name.endswith((".py", ".so", ".json")):
            yield described(os.path.join(folder, name))
