# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads IR, text or bytecode, into a fresh context; loads the plug-ins whose dialects the IR uses."""

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
#: The seconds at least, and the bytes for each of which there is a second more.
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
    """The MLIR module in a source. Raises RelaxError with every diagnostic.

    An operation that is no module, or several of them, are put into one; without `implicit_module` there must be one
    operation, which is returned. `prepare` gets each new context before anything is parsed in it. `trusted`: this
    project has written it, so MLIR survives it.
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
        raise _explained(error, source, name) from error.__cause__


def checked_source(source: str | bytes, name: str) -> str | bytes:
    """Bytecode, or text that MLIR's parser can be given. Raises RelaxError."""
    if isinstance(source, bytes):
        if source.startswith(BYTECODE_MAGIC):
            return source
        source = decode_source(source, name)
    if not is_encodable(source):
        raise ModelError("the text is not UTF-8", location=name)
    check_nesting(source, name)
    if "\0" in source:
        # MLIR's lexer takes a NUL byte for the end of the text.
        raise ModelError("the text contains a NUL byte", location=_place(source, source.index("\0"), name))
    if (problem := badly_aligned(source)) is not None:
        raise ModelError(problem[0], location=_place(source, problem[1], name))
    return source


def read_on_trial(data: bytes, *, is_text: bool, name: str, dialects: Sequence[str]) -> bytes:
    """What a process does that may crash, for one that knows these dialects."""
    return on_trial(data, is_text, dialects, partial(parse_module, name=name, allow_unregistered=True))


def on_trial(data: bytes, is_text: bool, dialects: Sequence[str], read: Callable[[str | bytes], object]) -> bytes:
    """The error of reading; nothing else comes of it. Of dialects that are unknown here the other process has more to
    say: where one is named, there is no error.
    """
    # Malformed bytecode can have MLIR's reader loop for ever. The processor's time: this process may have to wait.
    has_timer = hasattr(signal, "setitimer")
    if has_timer:
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
        # MLIR has verified the rest while parsing.
        if not check_functions(module.operation) or not _write_sizes_alike(module.operation):
            raise ir.MLIRError("verification failed", [])
        if may_need_checks(source) and not check_attributes(module.operation):
            raise ir.MLIRError("malformed attributes", [])
        return module


def _write_sizes_alike(module: Operation) -> bool:
    if not cache_of(module.context).canonical:
        return True
    from .core.substitute import canonicalize_types  # seldom needed

    return canonicalize_types(module)


def _parse_text(source: str, name: str, found: list[Diagnostic]) -> Holder:
    first = _first_word(source)
    if not first.startswith(("module", '"builtin.module"', "#", "!")):
        return _parse_bare(source, name, found)
    try:
        return _parse_single(source, name)
    except ir.MLIRError:
        if not any("single top-level operation" in diagnostic.message for diagnostic in found):
            raise
        found.clear()
        return ir.Module.parse(source)


def _parse_single(source: str, name: str) -> Holder:
    # Not Module.parse, which does not take the file's name.
    parsed = ir.Operation.parse(source, source_name=name)
    if parsed.operation.name == "builtin.module":
        return parsed
    module = ir.Module.create()
    module.body.append(parsed)
    return module


def _parse_bare(source: str, name: str, found: list[Diagnostic]) -> Holder:
    """Operations without a module around them: one is put around the text, so that locations keep the file's name.
    Where that cannot be, MLIR makes one, and locations name the file "-"."""
    if not _ALIAS.search(source):
        try:
            module = _parse_single(f"{_OPEN}{source}\n}}", name)
        except ir.MLIRError:
            # Not what is wrong with the text and these brackets, but what is wrong with the text.
            found.clear()
        else:
            _move_back(module.operation, name)
            return module
    return ir.Module.parse(source)


_OPEN = "module {"


def _move_back(module: Operation, name: str) -> None:
    """What stands on the first line stands behind the bracket that was put there: its columns are those of the text."""

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
    """Has a context know the dialects that a text in IRDL describes. Raises RelaxError."""
    try:
        _define_dialects(context, source, name)
    except RelaxError as error:
        raise _explained(error, source, name) from error.__cause__


def _define_dialects(context: Context, source: str, name: str) -> None:
    check_nesting(source, name)
    with context, ir.Location.unknown(), errors_as_relax_error(context, f"cannot parse {name}", ModelError):
        described = ir.Module.parse(source)
        # MLIR ends the process over a name that is taken.
        taken = {*registered_dialects(), *UPSTREAM_DIALECTS}
        for operation in described.body.operations:
            if operation.operation.name != "irdl.dialect":
                continue
            dialect = string_value(operation.attributes["sym_name"])
            if dialect in taken:
                raise ModelError(f"dialect '{dialect}' is defined already", location=name)
            taken.add(dialect)
        load_irdl(described)


def _explained(error: RelaxError, source: str | bytes, name: str) -> RelaxError:
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
    """The first use of a Python-defined operator without quotes, of which MLIR says only that it cannot parse it."""
    known = {op.full_name for op in all_ops()}
    return next(((word.group(), word.start()) for word in _WORD.finditer(source) if word.group() in known), None)


def _without_consequences(error: RelaxError) -> RelaxError:
    """The bytecode reader reports each step that failed for the first one's reason; only that has something to say."""
    located = [diagnostic for diagnostic in error.diagnostics[1:] if diagnostic.line]
    error.diagnostics = (*error.diagnostics[:1], *located)
    return error


_UNKNOWN_OP = re.compile(r"unregistered operation '([\w.]+)' found in dialect")


def with_suggestions(error: RelaxError) -> RelaxError:
    """The error with a did-you-mean behind each unknown operator."""
    names = [op.full_name for op in all_ops()]
    suggested = []
    for diagnostic in error.diagnostics:
        match = _UNKNOWN_OP.search(diagnostic.message)
        hint = suggest(match[1], names) if match else ""
        suggested.append(diagnostic._replace(message=diagnostic.message + hint))
    hint = suggested[0].message.removeprefix(error.diagnostics[0].message) if suggested else ""
    return error.altered(error.message + hint, diagnostics=suggested)


# Definitions that may only stand outside of a module: aliases and resources.
_ALIAS = re.compile(r"^\s*([#!][\w.$-]+\s*=|\{-#)", re.MULTILINE)
_COMMENTS = re.compile(r"(?:\s|//[^\n]*(?:\n|$))*")


def _first_word(source: str) -> str:
    match = _COMMENTS.match(source)
    start = match.end() if match else 0
    return source[start : start + 32]


def decode_source(source: bytes, name: str) -> str:
    """The text in a file. Raises RelaxError with the place that is not UTF-8."""
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
    """Imports announced dialects that the source mentions; returns whether there was one."""
    loaded = False
    for kind, name, module in announced_plugins():
        mentioned = f"{name}." in source if isinstance(source, str) else name.encode() in source
        if kind == "dialect" and mentioned:
            loaded |= load_plugin(module, is_announced=True)
    return loaded
