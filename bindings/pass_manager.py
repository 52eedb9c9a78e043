# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream passes by their textual form: checked before anything runs, then run on one operation."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ..support.callbacks import fragile
from ..support.ending import refuse_at_end
from ..support.errors import OptionError, RefusalError
from ..support.temporary import scratch_file
from .diagnostics import errors_as_relax_error
from .ir import Context, Operation
from .mlir import is_encodable, passmanager

_RESTRICTED = re.compile(r"restricted to '([\w.]+)' on a PassManager")
_UNKNOWN = "does not refer to a registered pass"
# What LLVM's option parser writes.
_COMPLAINT = re.compile(rb": for the -\S+ option: [^\n]*\n?")


class UnknownPass(OptionError):
    """The name is no upstream pass."""


def check_upstream(text: str, anchor: str, context: Context) -> None:
    """Refuses an element of a pipeline that upstream does not know, or that cannot run on this anchor."""
    message, printed = _parse_problem(f"{anchor}({text})", context)
    if not message:
        return
    if _UNKNOWN in message:
        raise UnknownPass(f"unknown pass '{text.partition('{')[0]}'")
    raise OptionError(_explain(text, anchor, [*message.splitlines(), *printed]))


def required_anchor(text: str, context: Context) -> str:
    """The operation that an upstream pass insists on; builtin.module where it does not."""
    match = _RESTRICTED.search(_parse_problem(f"builtin.module({text})", context)[0])
    return match.group(1) if match else "builtin.module"


def _parse_problem(text: str, context: Context) -> tuple[str, list[str]]:
    """Upstream's complaint about a pipeline, empty when there is none, and what else it printed."""
    if not is_encodable(text):
        return "not UTF-8", []
    # Only options make it print; capturing costs a temporary file.
    capture: AbstractContextManager[list[str]] = _captured_stderr() if "{" in text else nullcontext([])
    try:
        with context, capture as printed:
            passmanager.PassManager.parse(text)
    except ValueError as error:
        return str(error), printed
    return "", []


def _explain(text: str, anchor: str, lines: list[str]) -> str:
    restricted = _RESTRICTED.search("\n".join(lines))
    name = text.partition("{")[0]
    if restricted:
        wanted = restricted.group(1)
        return f"pass '{name}' runs on {wanted}, not on {anchor}: write {wanted}({text})"
    reported = [line for line in lines if line.strip() and "failed to add" not in line]
    detail = reported[0].replace("<Pass-Options-Parser>: ", "").removeprefix(": ") if reported else "malformed options"
    return f"pass '{name}': {detail} (in '{text}')"


def run_upstream(operation: Operation, texts: list[str], *, verify: bool = True) -> None:
    """Runs upstream passes on an operation, in one pass manager. Raises RelaxError with every diagnostic."""
    refuse_at_end(f"pass {', '.join(texts)}")
    context = operation.context
    what = f"pass {texts[0]} failed" if len(texts) == 1 else f"one of the passes {', '.join(texts)} failed"
    with context:
        manager = passmanager.PassManager.parse(f"{operation.name}({','.join(texts)})")
        manager.enable_verifier(verify)
        with errors_as_relax_error(context, what, RefusalError):
            manager.run(operation)


# Two threads that capture at once would give stderr back in the wrong order.
_capturing = threading.Lock()


@contextmanager
@fragile
def _captured_stderr() -> Iterator[list[str]]:
    """Collects what LLVM's option parser writes to the process's stderr before it fails: it holds the reason.

    Nothing else has it: the error of the bindings only repeats the text, and what values an option takes is known
    to C++ alone (upstream_passes.json has names and defaults). So each text is parsed once a process, see
    passes/core/pipeline.py. Whatever else came is another thread's, and goes where that wanted it.
    """
    lines: list[str] = []
    sys.stderr.flush()
    with _capturing, scratch_file() as sink:
        saved = os.dup(2)
        os.dup2(sink.fileno(), 2)
        try:
            yield lines
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            sink.seek(0)
            printed = sink.read()
            lines += [complaint.decode("utf-8", "replace").rstrip() for complaint in _COMPLAINT.findall(printed)]
            if others := _COMPLAINT.sub(b"", printed):
                os.write(2, others)
