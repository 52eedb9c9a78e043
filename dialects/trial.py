# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trial parsing, in another process, of IR that may crash MLIR.

The wheel has no assertions, so that malformed bytecode ends a process. Most text needs no trial: the MLIR parsers of
the dialects that this project writes reject invalid text.
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

#: Upstream dialects with texts that were mutated a hundred thousand times (test/fuzz) without a crash.
_KNOWN = frozenset(
    "affine arith bufferization builtin cf complex func index linalg math memref scf tensor ub vector".split()
)
_OTHERS = [dialect for dialect in UPSTREAM_DIALECTS if dialect not in _KNOWN]
#: An operation, an attribute or a type of another dialect, or bytes at the end of the text.
_RISKY = re.compile(rf"(?<![\w$.%@^-])(?:{'|'.join(_OTHERS)})\.|\{{-#")
#: Risky text contains one of these. Searching for them takes a third of the time.
_HINTS = ("{-#", *[f"{each}." for each in _OTHERS])
#: Reader with the signature of `parsing.read_on_trial`.
_READER = f"{__package__}.parsing:read_on_trial"


def is_risky(source: str | bytes) -> bool:
    """Check whether to parse a source elsewhere first. A process with a guard parses directly."""
    if is_expendable():
        return False
    return isinstance(source, bytes) or (any(map(source.__contains__, _HINTS)) and _RISKY.search(source) is not None)


def read_elsewhere(source: str | bytes, name: str, reader: str = "") -> None:
    """Parse a source in another process, by `parsing.read_on_trial` or a similar function.

    Raise RelaxError if the process crashes or reports an error. Invalid IR may have corrupted memory in that process,
    and parsing it here would crash this process later.
    """
    data = source.encode() if isinstance(source, str) else source
    arguments = {"is_text": isinstance(source, str), "name": name, "dialects": sorted(known_dialects())}
    call = PoolCall(reader or _READER, data, arguments, f"cannot parse {name}", name, doing="read it")
    found = b""

    def done(_: int, answer: bytes, __: float) -> None:
        nonlocal found
        found = answer

    with contextlib.suppress(OSError):  # the system may be unable to start processes
        try:
            process_pool().run([call], 1, done)
        except RelaxError:
            # Earlier input of that process may have caused the crash: a new process decides.
            process_pool().run([call], 1, done)
    if found:
        message, location, notes, diagnostics = json.loads(found)
        described = [_diagnostic(diagnostic) for diagnostic in diagnostics]
        raise ModelError(message, location=location, notes=notes, diagnostics=described)


def known_dialects() -> set[str]:
    """Return the dialects of this process's contexts, without upstream's."""
    return set(registered_dialects())


def _diagnostic(fields: Sequence[Any]) -> Diagnostic:
    diagnostic = Diagnostic(*fields)
    return diagnostic._replace(notes=tuple(map(_diagnostic, diagnostic.notes)))
