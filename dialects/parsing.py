# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parsing of IR, text or bytecode, into a fresh context. Plug-ins with the dialects of the IR are loaded."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..bindings.context import UPSTREAM_DIALECTS
from ..bindings.diagnostics import Diagnostic, errors_as_relax_error, locate, with_file_name
from ..bindings.ir import Context, Location, Operation
from ..bindings.mlir import ir, is_encodable, load_irdl, string_value
from ..bindings.navigation import Holder, operations_in
from ..bindings.nesting import check_nesting
from ..support.callbacks import enters
from ..support.errors import ModelError, RelaxError
from ..support.plugins import announced_plugins, load_plugin
from ..support.suggest import suggest
from .attribute_checks import badly_aligned, check_attributes, may_need_checks
from .context import create_context
from .core.cache import cache_of
from .core.dialect import all_ops, registered_dialects
from .trial import is_risky, known_dialects, read_elsewhere
from .verification import check_functions

BYTECODE_MAGIC = b"ML\xefR"
#: Minimum time limit in seconds, and bytes per additional second.
_PATIENCE_S, _BYTES_A_SECOND = 20, 10_000


@enters
def parse_module(
    source: str | bytes,
    name: str = "<string>",
    *,
    allow_unregistered: bool = False,
    implicit_module: bool = True,
    prepare: Callable[[Context], None] | None = None,
    trusted: bool = False,
) -> Any:
    """Return the MLIR module of a source.

    Raise RelaxError with every diagnostic.

    A single operation that is not a module, or several operations, are wrapped in a module. Without `implicit_module`,
    the source must contain one operation, which is returned. `prepare` receives each new context before any parsing.
    `trusted` marks a source that this project wrote, which cannot crash MLIR.
    """
    source = checked_source(source, name)
    if not trusted and is_risky(source):
        read_elsewhere(source, name)
    parse = partial(_parse, source, name, allow_unregistered, implicit_module, prepare)
    try:
        try:
            return parse()
        except RelaxError:
            if not _load_dialect_plugins(source):
                raise
        return parse()
    except RelaxError as error:
        raise _explain(error, source, name) from error.__cause__


def checked_source(source: str | bytes, name: str) -> str | bytes:
    """Return bytecode, or text that MLIR's parser can process. Raise RelaxError for other sources."""
    if isinstance(source, bytes):
        if source.startswith(BYTECODE_MAGIC):
            return source
        source = decode_source(source, name)
    if not is_encodable(source):
        raise ModelError("the text is not UTF-8", location=name)
    check_nesting(source, name)
    if "\0" in source:
        # MLIR's lexer treats a NUL byte as the end of the text.
        raise ModelError("the text contains a NUL byte", location=_place(source, source.index("\0"), name))
    if (problem := badly_aligned(source)) is not None:
        raise ModelError(problem[0], location=_place(source, problem[1], name))
    return source


def read_on_trial(data: bytes, *, is_text: bool, name: str, dialects: Sequence[str]) -> bytes:
    """Parse a source that may crash the process, in a process that knows these dialects. Return the error."""
    return on_trial(data, is_text, dialects, partial(parse_module, name=name, allow_unregistered=True))


def on_trial(data: bytes, is_text: bool, dialects: Sequence[str], read: Callable[[str | bytes], object]) -> bytes:
    """Return the encoded error of a read, or an empty result.

    The result is also empty if the source mentions a dialect that is unknown here: the other process decides then.
    """
    # Malformed bytecode can put MLIR's reader into an endless loop. The limit is CPU time, because this process may
    # have to wait.
    if has_timer := hasattr(signal, "setitimer"):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, _PATIENCE_S + len(data) / _BYTES_A_SECOND)
    found = None
    try:
        read(data.decode() if is_text else data)
    except RelaxError as error:
        found = error
    if has_timer:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if found is None or any(name.encode() in data for name in set(dialects) - known_dialects()):
        return b""
    return json.dumps([found.message, found.location, found.notes, found.diagnostics]).encode()


def _parse(
    source: str | bytes,
    name: str,
    allow_unregistered: bool,
    implicit_module: bool,
    prepare: Callable[[Context], None] | None,
) -> Any:
    context = create_context()
    if prepare is not None:
        prepare(context)
    context.allow_unregistered_dialects = allow_unregistered
    with context, ir.Location.unknown(), errors_as_relax_error(context, f"cannot parse {name}", ModelError) as found:
        if isinstance(source, bytes):
            module = ir.Module.parse(source)
        elif implicit_module:
            module = _parse_text(source, name, found)
        else:
            module = ir.Operation.parse(source, source_name=name)
        # MLIR has verified the rest during parsing.
        if not check_functions(module.operation) or not _write_sizes_alike(module.operation):
            raise ir.MLIRError("verification failed", [])
        if may_need_checks(source) and not check_attributes(module.operation):
            raise ir.MLIRError("malformed attributes", [])
        return module


def _write_sizes_alike(module: Operation) -> bool:
    if not cache_of(module.context).canonical:
        return True
    from .core.substitute import canonicalize_types  # rarely needed

    return canonicalize_types(module)


def _parse_text(source: str, name: str, diagnostics: list[Diagnostic]) -> Holder:
    match = _COMMENTS.match(source)
    start = match.end() if match else 0
    first = source[start : start + 32]
    if not first.startswith(("module", '"builtin.module"', "#", "!")):
        return _parse_bare(source, name, diagnostics)
    try:
        return _parse_single(source, name)
    except ir.MLIRError:
        if not any("single top-level operation" in diagnostic.message for diagnostic in diagnostics):
            raise
        diagnostics.clear()
        return ir.Module.parse(source)


def _parse_single(source: str, name: str) -> Holder:
    # Module.parse does not accept the file's name.
    parsed = ir.Operation.parse(source, source_name=name)
    if parsed.operation.name == "builtin.module":
        return parsed
    module = ir.Module.create()
    module.body.append(parsed)
    return module


def _parse_bare(source: str, name: str, diagnostics: list[Diagnostic]) -> Holder:
    """Parse operations without a module.

    The text is wrapped in a module, so that locations keep the file's name.

    If that is impossible, MLIR creates the module, and locations name the file "-".
    """
    if not _ALIAS.search(source):
        try:
            module = _parse_single(f"{_OPEN}{source}\n}}", name)
        except ir.MLIRError:
            # These diagnostics are about the text with the added brackets, not about the text itself.
            diagnostics.clear()
        else:
            _move_back(module.operation, name)
            return module
    return ir.Module.parse(source)


_OPEN = "module {"


def _move_back(module: Operation, name: str) -> None:
    """Correct the columns of locations on the first line, which the added module header shifts."""

    def in_text(location: Location) -> Location:
        _, line, column, _ = locate(location)
        is_moved = isinstance(location, ir.FileLineColLoc) and line == 1 and column > len(_OPEN)
        return ir.Location.file(name, line, column - len(_OPEN)) if is_moved else location

    for op in operations_in(module):
        if locate(op.location)[1] > 1:
            return
        op.location = in_text(op.location)
        for argument in (argument for region in op.regions for block in region.blocks for argument in block.arguments):
            ir.BlockArgument(argument).set_location(in_text(argument.location))


def define_dialects(context: Context, source: str, name: str) -> None:
    """Load the dialects that a text in IRDL describes into a context. Raise RelaxError for an invalid text."""
    try:
        _define_dialects(context, source, name)
    except RelaxError as error:
        raise _explain(error, source, name) from error.__cause__


def _define_dialects(context: Context, source: str, name: str) -> None:
    check_nesting(source, name)
    with context, ir.Location.unknown(), errors_as_relax_error(context, f"cannot parse {name}", ModelError):
        described = ir.Module.parse(source)
        # MLIR aborts the process if a dialect name is taken.
        taken = {*registered_dialects(), *UPSTREAM_DIALECTS}
        for operation in described.body.operations:
            if operation.operation.name != "irdl.dialect":
                continue
            if (dialect := string_value(operation.attributes["sym_name"])) in taken:
                raise ModelError(f"dialect '{dialect}' is defined already", location=name)
            taken.add(dialect)
        load_irdl(described)


def _explain(error: RelaxError, source: str | bytes, name: str) -> RelaxError:
    error.diagnostics = tuple(with_file_name(diagnostic, name) for diagnostic in error.diagnostics)
    error.location = error.diagnostics[0].place if error.diagnostics else error.location
    placed = any(diagnostic.line for diagnostic in error.diagnostics)
    custom = None if placed or isinstance(source, bytes) else _custom_form(source)
    if custom is None:
        return with_suggestions(_without_consequences(error))
    problem = f"custom op '{custom[0]}' has only the generic form: \"{custom[0]}\"(...) {{...}} : (...) -> (...)"
    return ModelError(problem, location=_place(source, custom[1], name))  # type: ignore[arg-type]


_WORD = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[#!@%^]?[\w$][\w.$-]*')


def _custom_form(source: str) -> tuple[str, int] | None:
    """Return the first unquoted use of a Python-defined operator, and its position.

    MLIR only reports that it cannot parse it.
    """
    known = {op.full_name for op in all_ops()}
    return next(((word.group(), word.start()) for word in _WORD.finditer(source) if word.group() in known), None)


def _without_consequences(error: RelaxError) -> RelaxError:
    """Drop consequential diagnostics.

    The bytecode reader reports each failed step, but only the first one is informative.
    """
    located = [diagnostic for diagnostic in error.diagnostics[1:] if diagnostic.line]
    error.diagnostics = (*error.diagnostics[:1], *located)
    return error


_UNKNOWN_OP = re.compile(r"unregistered operation '([\w.]+)' found in dialect")


def with_suggestions(error: RelaxError) -> RelaxError:
    """Return the error with a suggestion for each unknown operator."""
    names = [op.full_name for op in all_ops()]
    suggested = []
    for diagnostic in error.diagnostics:
        match = _UNKNOWN_OP.search(diagnostic.message)
        hint = suggest(match[1], names) if match else ""
        suggested.append(diagnostic._replace(message=diagnostic.message + hint))
    hint = suggested[0].message.removeprefix(error.diagnostics[0].message) if suggested else ""
    return error.altered(error.message + hint, diagnostics=suggested)


# Definitions that are only valid outside of a module: aliases and resources.
_ALIAS = re.compile(r"^\s*([#!][\w.$-]+\s*=|\{-#)", re.MULTILINE)
_COMMENTS = re.compile(r"(?:\s|//[^\n]*(?:\n|$))*")


def decode_source(source: bytes, name: str) -> str:
    """Return the text of a file. Raise RelaxError with the position that is not UTF-8."""
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        start = error.start
        line = source.count(b"\n", 0, start) + 1
        column = start - source.rfind(b"\n", 0, start)
        notes = [f"an ONNX model: relax-compile --emit=relax {name} makes text of it"] if name.endswith(".onnx") else ()
        raise ModelError(
            "neither UTF-8 text nor MLIR bytecode", location=f"{name}:{line}:{column}", notes=notes
        ) from None


def _place(text: str, position: int, name: str) -> str:
    return f"{name}:{text.count(chr(10), 0, position) + 1}:{position - text.rfind(chr(10), 0, position)}"


def _load_dialect_plugins(source: str | bytes) -> bool:
    """Import announced dialects that the source mentions. Return True if there was one."""
    loaded = False
    for kind, name, module in announced_plugins():
        mentioned = f"{name}." in source if isinstance(source, str) else name.encode() in source
        if kind == "dialect" and mentioned:
            loaded |= load_plugin(module, is_announced=True)
    return loaded
