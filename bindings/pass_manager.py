# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream passes in textual form: validation before the pipeline runs, and execution on one operation."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ..support.callbacks import fragile
from ..support.ending import refuse_at_end
from ..support.errors import OptionError, RefusalError, RelaxError
from ..support.temporary import scratch_file
from .diagnostics import error_at, errors_as_relax_error
from .ir import Context, Operation
from .mlir import ir, is_encodable, passmanager
from .navigation import blocks_of, operations_in, operations_of, symbol_name
from .pipeline_text import PipelineElement, parse_pipeline

_RESTRICTED = re.compile(r"restricted to '([\w.]+)' on a PassManager")
_UNKNOWN = "does not refer to a registered pass"
# Format of errors of LLVM's option parser.
_COMPLAINT = re.compile(rb": for the -\S+ option: [^\n]*\n?")


class UnknownPass(OptionError):
    """Name that is not an upstream pass."""


def check_upstream(text: str, anchor: str, context: Context) -> None:
    """Raise OptionError for an unknown upstream pipeline element, or an element that cannot run on this anchor."""
    message, printed = _parse_problem(f"{anchor}({text})", context)
    if not message:
        return
    if _UNKNOWN in message:
        raise UnknownPass(f"unknown pass '{text.partition('{')[0]}'")
    raise OptionError(_explain(text, anchor, [*message.splitlines(), *printed]))


def required_anchor(text: str, context: Context) -> str:
    """Return the operation that an upstream pass requires as its anchor. The default is builtin.module."""
    match = _RESTRICTED.search(_parse_problem(f"builtin.module({text})", context)[0])
    return match.group(1) if match else "builtin.module"


def _parse_problem(text: str, context: Context) -> tuple[str, list[str]]:
    """Return upstream's error about a pipeline (or an empty string), and lines that were printed to stderr."""
    if not is_encodable(text):
        return "not UTF-8", []
    # Only options cause output; capturing it costs a temporary file.
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
    """Run upstream passes on an operation in one pass manager.

    Raises RefusalError with all diagnostics. Its message names the failing pass and function.
    """
    refuse_at_end(f"pass {', '.join(texts)}")
    elements = parse_pipeline(",".join(texts))
    if len(elements) == 1 and elements[0].children is None:
        return _run(operation, texts[0], _failure_of(elements[0], operation), verify)
    # A pass manager does not report the failing pass. The search needs the original operation: the copies take 0.7 % of
    # a compilation's time.
    kept = operation.clone(ip=False).operation
    try:
        _run(operation, ",".join(texts), f"one of the passes {', '.join(texts)} failed", verify)
    except RefusalError:
        _run_one_by_one(kept, elements, verify)
        raise


def _run(operation: Operation, text: str, what: str, verify: bool) -> None:
    context = operation.context
    with context:
        manager = passmanager.PassManager.parse(f"{operation.name}({text})")
        manager.enable_verifier(verify)
        with errors_as_relax_error(context, what, RefusalError) as reasons:
            try:
                manager.run(operation)
            except ir.MLIRError as error:
                if reasons or error.error_diagnostics:
                    raise
                raise _without_reason(what, operation) from None


def _run_one_by_one(operation: Operation, elements: Sequence[PipelineElement], verify: bool) -> None:
    """Run each pass in its own pass manager, in the original order, to find the first failing pass."""
    for element in elements:
        if element.children is None:
            _run(operation, str(element), _failure_of(element, operation), verify)
            continue
        for each in [inner for block in blocks_of(operation) for inner in operations_of(block)]:
            if element.name in (each.name, "any"):
                _run_one_by_one(each, element.children, verify)


def _failure_of(element: PipelineElement, operation: Operation) -> str:
    name = symbol_name(operation)
    return f"pass {element.name} failed" + (f" on {operation.name} @{name}" if name else "")


_SETTLE = "canonicalize{max-iterations=100 region-simplify=aggressive}"


def _without_reason(what: str, operation: Operation) -> RelaxError:
    """Return the error for a pass that failed without a diagnostic.

    Upstream's greedy pattern passes fail this way if patterns still apply after 10 rounds, the default.
    """
    count = max(len(region.blocks) for each in (operation, *operations_in(operation)) for region in each.regions)
    reason = "upstream's pattern driver gives up if it still finds changes after its rounds, 10 by default"
    remedy = f"run {_SETTLE} on the function before this pass"
    if count > 1:
        reason += f"; each round merges identical blocks, and the control flow has {count} blocks"
        remedy += ", or run this pass before convert-scf-to-cf"
    message = f"{what} and reported no reason"
    diagnostic = error_at(operation.location, message, [reason, remedy])
    return RefusalError(message, location=diagnostic.place, notes=[reason, remedy], diagnostics=[diagnostic])


# Two threads that capture at the same time would restore stderr in the wrong order.
_capturing = threading.Lock()


@contextmanager
@fragile
def _captured_stderr() -> Iterator[list[str]]:
    """Collect the errors that LLVM's option parser prints to the process's stderr.

    The exception of the bindings only repeats the pipeline text, and allowed option values are known to C++ only
    (upstream_passes.json has names and defaults). Therefore each text is parsed once per process, see
    passes/core/pipeline.py. Output of other threads is written to stderr afterwards.
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
