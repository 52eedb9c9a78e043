# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search for a smaller module: many changes at once first, then fewer. The search is deterministic."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial

from relax_mlir import Module
from relax_mlir.bindings.diagnostics import silenced
from relax_mlir.bindings.mlir import ir, print_asm
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.support.errors import RelaxError
from relax_mlir.tools.common.guard import announce

from .edits import EDITS, Edit
from .failure import Failure

# Sizes in a module's text.
_SHAPED = re.compile(r"\b(?:tensor|memref|vector)<(?:[^<>\"]|\"[^\"]*\"|<(?:[^<>\"]|\"[^\"]*\")*>)*>")
_SIZE = re.compile(r"(?<![\w.])([0-9]+)(?=x)|(?<=x)([0-9]+)(?=x)")
_NUMBER = re.compile(r"(?<![\w.%#@!\"-])[0-9]+(?![\w.\"])")
_FOREIGN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^][\w.$-]+')


class OutOfTime(Exception):
    """Raised when the time limit is reached."""


class Search:
    """Search that keeps the smallest failing module so far, as text."""

    def __init__(
        self, failure: Failure, *, allow_unregistered: bool, deadline: float | None, found: Callable[[str, str], None]
    ) -> None:
        """`found` receives the name of an edit and each smaller text that still fails."""
        self._failure, self._found = failure, found
        self._allow_unregistered, self._deadline = allow_unregistered, deadline
        self._tried: set[str] = set()
        self.best = ""

    def run(self, text: str) -> None:
        """Reduce `best` until nothing helps. Raise OutOfTime, or RelaxError if the command cannot be run."""
        self.best = text
        self._tried.add(text)
        before = ""
        while before != self.best:
            before = self.best
            for edit in EDITS:
                self._shrink(edit)
            self._shrink_sizes()

    def _shrink(self, edit: Edit) -> None:
        count = len(edit.targets(self._parse(self.best).operation))
        chunk = count
        while chunk > 0:
            start = 0
            while start < count:
                is_smaller = self._try(edit, start, start + chunk)
                left = len(edit.targets(self._parse(self.best).operation)) if is_smaller else count
                # The next targets move up to the places of erased ones.
                start += chunk - min(count - left, chunk) if is_smaller else chunk
                count = left
            chunk //= 2

    def _try(self, edit: Edit, begin: int, end: int) -> bool:
        module = self._parse(self.best)
        with module.context, ir.Location.unknown():
            changed = [_apply(edit, target) for target in edit.targets(module.operation)[begin:end]]
        return any(changed) and self._accept(edit.name, self._valid_text(module))

    def _shrink_sizes(self) -> None:
        accepted = True
        while accepted:
            accepted = any(self._accept("sizes", self._reread(text)) for text in smaller_texts(self.best))

    def _accept(self, name: str, text: str | None) -> bool:
        """Accept a module that is new, valid and still fails as the best one. Return True if it is accepted."""
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

    def _parse(self, text: str) -> Module:
        return Module.parse(text, allow_unregistered=self._allow_unregistered)

    def _reread(self, text: str) -> str | None:
        """Return a text as this tool prints it, or None if it does not verify."""
        try:
            printed = module_text(self._parse(text))
            self._parse(printed)
        except RelaxError:
            return None
        return printed

    def _valid_text(self, module: Module) -> str | None:
        """Return the module's text if it is valid, else None."""
        announce("looking at a smaller module")
        # An operation's custom form may rely on parts that an edit removed, so unverified IR is printed in generic
        # form.
        text = print_asm(module.operation, print_generic_op_form=True, assume_verified=True)
        return self._reread(text)


def _apply(edit: Edit, target: object) -> bool:
    announce(f"trying {edit.name}")
    try:
        return edit.apply(target)
    except (ValueError, KeyError, IndexError, ir.MLIRError):
        return False  # the edit does not fit the operation, type or attribute


def module_text(module: Module) -> str:
    return str(module).rstrip("\n") + "\n"


def operation_count(text: str, allow_unregistered: bool) -> int:
    module = Module.parse(text, allow_unregistered=allow_unregistered)
    with silenced(module.context):
        return len(operations_in(module.operation))


def smaller_texts(text: str) -> Iterator[str]:
    """Yield texts with one size smaller: 1, or half of it, first in types only, then everywhere.

    All occurrences change together, so that related types stay consistent.
    """
    sizes = sorted(
        {int(match[0]) for shaped in _SHAPED.findall(text) for match in _SIZE.finditer(shaped)}, reverse=True
    )
    for size in sizes:
        for smaller in dict.fromkeys((1, size // 2)):
            if 0 < smaller < size:
                in_types = _replace_size(text, size, smaller)
                yield in_types
                everywhere = _apply_outside_names(in_types, partial(_numbers, size=size, smaller=smaller))
                if everywhere != in_types:
                    yield everywhere


def _replace_size(text: str, size: int, smaller: int) -> str:
    def in_type(match: re.Match[str]) -> str:
        return _SIZE.sub(lambda found: str(smaller) if int(found[0]) == size else found[0], match[0])

    return _SHAPED.sub(in_type, text)


def _numbers(part: str, size: int, smaller: int) -> str:
    return _NUMBER.sub(lambda found: str(smaller) if int(found[0]) == size else found[0], part)


def _apply_outside_names(text: str, change: Callable[[str], str]) -> str:
    """Apply a change outside of strings and names of values, symbols and aliases."""
    parts, position = [], 0
    for match in _FOREIGN.finditer(text):
        parts += [change(text[position : match.start()]), match[0]]
        position = match.end()
    return "".join([*parts, change(text[position:])])
