# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parser for the text of pass pipelines: `builtin.module(relax-inline{opt=1},func.func(cse))`."""

from __future__ import annotations

import functools
from typing import NamedTuple

from ..support.errors import OptionError, RelaxError

# Limit beyond any real pipeline, so that hostile text cannot exhaust the stack.
_MOST_NESTING = 64


class PipelineElement(NamedTuple):
    """Pass, or group of passes in an anchor (`children` is not None).

    On an anchor, options select operations: `builtin.module{relax.codegen=dnnl}(...)` runs on the modules whose
    attribute relax.codegen is "dnnl".
    """

    name: str
    options: str
    children: tuple[PipelineElement, ...] | None
    column: int

    def __str__(self) -> str:
        text = self.name + ("{" + self.options + "}" if self.options else "")
        return text if self.children is None else f"{text}({','.join(map(str, self.children))})"


@functools.lru_cache(maxsize=256)  # the same texts lower each program
def parse_pipeline(text: str) -> tuple[PipelineElement, ...]:
    """Parse a pipeline. Raise RelaxError with the column and a caret for malformed text."""
    if not text.isprintable() and any(not (char.isprintable() or char.isspace()) for char in text):
        raise OptionError(f"the pass pipeline {text!a} holds characters that cannot be printed")
    parser = _Parser(text)
    elements = parser.elements(0)
    if parser.position < len(text):
        raise parser.problem("unbalanced ')'" if text[parser.position] == ")" else "expected ','")
    return elements


def outermost_anchor(text: str) -> str | None:
    """Return the anchor of a pipeline, such as `func.func` in `func.func(a,b)`, or None if there is none."""
    elements = parse_pipeline(text)
    return elements[0].name if len(elements) == 1 and elements[0].children is not None else None


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def problem(self, message: str, position: int | None = None) -> RelaxError:
        at = self.position if position is None else position
        return OptionError(f"{message} in pass pipeline at column {at + 1}", notes=[self.text, " " * at + "^"])

    def elements(self, depth: int) -> tuple[PipelineElement, ...]:
        if depth > _MOST_NESTING:
            raise self.problem(f"more than {_MOST_NESTING} nested groups")
        pipeline_elements: list[PipelineElement] = []
        self._skip_space()
        while self.position < len(self.text) and self.text[self.position] != ")":
            pipeline_elements.append(self._element(depth))
            self._skip_space()
            if not self._take(","):
                break
            self._skip_space()
            if self.position >= len(self.text) or self.text[self.position] == ")":
                raise self.problem("expected a pass after ','")
        return tuple(pipeline_elements)

    def _element(self, depth: int) -> PipelineElement:
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in "{}(),":
            self.position += 1
        name = self.text[start : self.position].strip()
        if not name or any(char.isspace() for char in name):
            raise self.problem("expected a pass name", start)
        return PipelineElement(name, self._options(), self._children(depth), start)

    def _options(self) -> str:
        if not self._take("{"):
            return ""
        start, depth, quote = self.position, 1, ""
        while self.position < len(self.text):
            char = self.text[self.position]
            self.position += 1
            if quote:
                quote = "" if char == quote else quote
            elif char in "\"'":
                quote = char
            elif char in "{}":
                depth += 1 if char == "{" else -1
                if depth == 0:
                    self._skip_space()
                    return self.text[start : self.position].rstrip().removesuffix("}").strip()
        raise self.problem("unbalanced '{'", start - 1)

    def _children(self, depth: int) -> tuple[PipelineElement, ...] | None:
        opening = self.position
        if not self._take("("):
            return None
        children = self.elements(depth + 1)
        if not self._take(")"):
            if self.position < len(self.text):
                raise self.problem("expected ',' or ')'")
            raise self.problem("unbalanced '('", opening)
        return children

    def _take(self, char: str) -> bool:
        if self.text[self.position : self.position + 1] != char:
            return False
        self.position += 1
        return True

    def _skip_space(self) -> None:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
