# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads IR that MLIR may not survive in another process first: the wheel is without assertions, so that malformed
bytecode ends a process.

Most text needs none: of the dialects that this project writes MLIR's parsers refuse what is wrong.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from typing import Any

from ..bindings.context import UPSTREAM_DIALECTS
from ..bindings.diagnostics import Diagnostic
from ..support.errors import ModelError, RelaxError
from ..support.processes.expendable import is_expendable
from ..support.processes.pool import PoolCall, process_pool
from .core.dialect import registered_dialects

#: Upstream's whose text was mutated a hundred thousand times (test/fuzz), and did not end a process.
_KNOWN = frozenset(
    "affine arith bufferization builtin cf complex func index linalg math memref scf tensor ub vector".split()
)
_OTHERS = [each for each in UPSTREAM_DIALECTS if each not in _KNOWN]
#: An operation, an attribute or a type of another dialect; bytes at the text's end.
_RISKY = re.compile(rf"(?<![\w$.%@^-])(?:{'|'.join(_OTHERS)})\.|\{{-#")
#: One of these is in what is risky: to look for them takes a third of the time.
_HINTS = ("{-#", *[f"{each}." for each in _OTHERS])
#: Reads as `parsing.read_on_trial` does.
_READER = f"{__package__}.parsing:read_on_trial"


def is_risky(source: str | bytes) -> bool:
    """Whether to read it elsewhere first. Where a guard watches this process, nothing is."""
    if is_expendable():
        return False
    return isinstance(source, bytes) or (any(map(source.__contains__, _HINTS)) and _RISKY.search(source) is not None)


def read_elsewhere(source: str | bytes, name: str, reader: str = "") -> None:
    """By `parsing.read_on_trial`, or another function like that. Raises RelaxError where a process that reads it does
    not survive, or finds an error: what MLIR refuses may have written where it should not, and what is read again here
    would crash this process later.
    """
    data = source.encode() if isinstance(source, str) else source
    arguments = {"is_text": isinstance(source, str), "name": name, "dialects": sorted(known_dialects())}
    call = PoolCall(reader or _READER, data, arguments, f"cannot parse {name}", name, doing="read it")
    found = b""

    def done(_: int, answer: bytes, __: float) -> None:
        nonlocal found
        found = answer

    with contextlib.suppress(OSError):  # the system has no processes to give
        try:
            process_pool().run([call], 1, done)
        except RelaxError:
            # What that process had read before may have been the reason: a new one finds out.
            process_pool().run([call], 1, done)
    if found:
        message, location, notes, diagnostics = json.loads(found)
        described = [_diagnostic(each) for each in diagnostics]
        raise ModelError(message, location=location, notes=notes, diagnostics=described)


def known_dialects() -> set[str]:
    """Those that contexts know in this process, without upstream's."""
    return set(registered_dialects())


def _diagnostic(fields: Sequence[Any]) -> Diagnostic:
    found = Diagnostic(*fields)
    return found._replace(notes=tuple(map(_diagnostic, found.notes)))
