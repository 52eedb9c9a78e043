# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for a smaller module: many changes at once first, then fewer; the same input takes the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial

from ... import Module
from ...bindings.diagnostics import silenced
from ...bindings.mlir import ir, print_asm
from ...bindings.navigation import operations_in
from ...support.errors import RelaxError
from ..common.guard import announce
from .edits import EDITS, Edit
from .failure import Failure

# Sizes in a module's text.
_SHAPED = re.compile(r"\b(?:tensor|memref|vector)<(?:[^<>\"]|\"[^\"]*\"|<(?:[^<>\"]|\"[^\"]*\")*>)*>")
_SIZE = re.compile(r"(?<![\w.])([0-9]+)(?=x)|(?<=x)([0-9]+)(?=x)")
_NUMBER = re.compile(r"(?<![\w.%#@!\"-])[0-9]+(?![\w.\"])")
_FOREIGN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^][\w.$-]+')


class OutOfTime(Exception):
    """The time limit has come."""


class Search:
    """Knows the smallest module so far, as text."""

    def __init__(
        self, failure: Failure, *, allow_unregistered: bool, deadline: float | None, found: Callable[[str, str], None]
    ) -> None:
        """`found` gets the name of an edit and each smaller text that still fails."""
        self._failure, self._found = failure, found
        self._allow_unregistered, self._deadline = allow_unregistered, deadline
        self._tried: set[str] = set()
        self.best = ""

    def run(self, text: str) -> None:
        """Makes `best` smaller until nothing helps. Raises OutOfTime; RelaxError where the command cannot be run."""
        self.best = text
        self._tried.add(text)
        before = ""
        while before != self.best:
            before = self.best
            for edit in EDITS:
                self._shrink(edit)
            self._shrink_sizes()

    def _shrink(self, edit: Edit) -> None:
        count = len(edit.targets(self._parsed(self.best).operation))
        chunk = count
        while chunk > 0:
            start = 0
            while start < count:
                is_smaller = self._try(edit, start, start + chunk)
                left = len(edit.targets(self._parsed(self.best).operation)) if is_smaller else count
                # Where targets are gone, others have taken their places.
                start += chunk - min(count - left, chunk) if is_smaller else chunk
                count = left
            chunk //= 2

    def _try(self, edit: Edit, begin: int, end: int) -> bool:
        module = self._parsed(self.best)
        with module.context, ir.Location.unknown():
            changed = [_applied(edit, target) for target in edit.targets(module.operation)[begin:end]]
        return any(changed) and self._accept(edit.name, self._valid_text(module))

    def _shrink_sizes(self) -> None:
        accepted = True
        while accepted:
            accepted = any(self._accept("sizes", self._reread(text)) for text in smaller_texts(self.best))

    def _accept(self, name: str, text: str | None) -> bool:
        """Whether a module is new, valid and fails; then it is the best one."""
        if text is None or text in self._tried:
            return False
        self._tried.add(text)
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime
        if not self._failure.is_in(text):
            return False
        self.best = text
        self._found(name, text)
        return True

    def _parsed(self, text: str) -> Module:
        return Module.parse(text, allow_unregistered=self._allow_unregistered)

    def _reread(self, text: str) -> str | None:
        """A text as the parser verifies it and this tool prints it."""
        try:
            printed = module_text(self._parsed(text))
            self._parsed(printed)
        except RelaxError:
            return None
        return printed

    def _valid_text(self, module: Module) -> str | None:
        """The module's text if it is valid."""
        announce("looking at a smaller module")
        # In generic form until it has been verified: an operation's own form may rely on what an edit has taken.
        text = print_asm(module.operation, print_generic_op_form=True, assume_verified=True)
        return self._reread(text)


def _applied(edit: Edit, target: object) -> bool:
    announce(f"trying {edit.name}")
    try:
        return edit.apply(target)
    except (ValueError, KeyError, IndexError, ir.MLIRError):
        return False  # not of this operation, type or attribute


def module_text(module: Module) -> str:
    return str(module).rstrip("\n") + "\n"


def operation_count(text: str, allow_unregistered: bool) -> int:
    module = Module.parse(text, allow_unregistered=allow_unregistered)
    with silenced(module.context):
        return len(operations_in(module.operation))


def smaller_texts(text: str) -> Iterator[str]:
    """The text with one size smaller: 1, or half of it, in types alone, or wherever the number stands.

    Everywhere at once: the types of values that belong together change alike.
    """
    sizes = sorted({int(each[0]) for shaped in _SHAPED.findall(text) for each in _SIZE.finditer(shaped)}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, size // 2)):
            if 0 < smaller < size:
                in_types = _replaced(text, size, smaller)
                yield in_types
                everywhere = _outside_of_names(in_types, partial(_numbers, size=size, smaller=smaller))
                if everywhere != in_types:
                    yield everywhere


def _replaced(text: str, size: int, smaller: int) -> str:
    def in_type(match: re.Match[str]) -> str:
        return _SIZE.sub(lambda found: str(smaller) if int(found[0]) == size else found[0], match[0])

    return _SHAPED.sub(in_type, text)


def _numbers(part: str, size: int, smaller: int) -> str:
    return _NUMBER.sub(lambda found: str(smaller) if int(found[0]) == size else found[0], part)


def _outside_of_names(text: str, change: Callable[[str], str]) -> str:
    """Changes what is neither a string nor the name of a value, a symbol or an alias."""
    parts, position = [], 0
    for match in _FOREIGN.finditer(text):
        parts += [change(text[position : match.start()]), match[0]]
        position = match.end()
    return "".join([*parts, change(text[position:])])
