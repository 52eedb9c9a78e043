# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads IR that MLIR may not survive in another process first: the wheel is without assertions, so that malformed
bytecode ends a process.

Most text needs none: of the dialects that this project writes MLIR's parsers refuse what is wrong.
"""

from __future__ import annotations

import contextlib
import re

from ..bindings.context import UPSTREAM_DIALECTS
from ..support.processes.expendable import is_expendable
from ..support.processes.pool import Call, process_pool

#: Upstream's whose text was mutated a hundred thousand times (test/fuzz), and did not end a process.
_KNOWN = frozenset(
    "affine arith bufferization builtin cf complex func index linalg math memref scf tensor ub vector".split()
)
_OTHERS = "|".join(each for each in UPSTREAM_DIALECTS if each not in _KNOWN)
#: An operation, an attribute or a type of another dialect; bytes at the text's end.
_RISKY = re.compile(rf"(?<![\w$.%@^-])(?:{_OTHERS})\.|\{{-#")
#: Reads as `parsing.read_on_trial` does.
_READER = f"{__package__}.parsing:read_on_trial"


def is_risky(source: str | bytes) -> bool:
    """Whether to read it elsewhere first. Where somebody watches this process, nothing is."""
    return not is_expendable() and (isinstance(source, bytes) or _RISKY.search(source) is not None)


def read_elsewhere(source: str | bytes, name: str) -> None:
    """Raises RelaxError where a process that reads it does not survive; other errors are found again here."""
    data = source.encode() if isinstance(source, str) else source
    arguments = {"is_text": isinstance(source, str), "name": name}
    call = Call(_READER, data, arguments, f"cannot parse {name}", name, doing="read it")
    with contextlib.suppress(OSError):  # the system has no processes to give
        process_pool().run([call], 1, lambda *_: None)
