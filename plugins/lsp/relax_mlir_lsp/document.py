# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Analysis of IR as text, without MLIR: definitions, uses and scopes of names, also in broken text.

Positions are offsets in the text.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from typing import NamedTuple

from relax_mlir.tools.opt.split_input import split_input

_TOKEN = re.compile(r'@"(?:[^"\\\n]|\\.)*"|"(?:[^"\\\n]|\\.)*"?|//[^\n]*|(?:[%@!#]|\^)[\w.$-]+|[{}]')
_NAMES = r"%[\w.$-]+(?::\d+)?"
#: Results of an operation, and its beginning behind the `=`.
_RESULTS = re.compile(rf"^[ \t]*({_NAMES}(?:[ \t]*,[ \t]*{_NAMES})*)[ \t]*=(?!=)\s*", re.MULTILINE)
#: Scope outside of all braces.
_OUTSIDE: tuple[int, ...] = (-1,)
_ONE_RESULT = re.compile(r"(%[\w.$-]+)(?::(\d+))?")
_SYMBOL = re.compile(r'([\w.]+)"?[ \t]+(?:private[ \t]+|public[ \t]+|nested[ \t]+)?(@(?:"[^"\n]*"|[\w.$-]+))')
_EQUALS = re.compile(r"\s*=")
_DEFINING_WORDS = (".func", "func", "module", "global", ".dialect", ".operation", ".type", ".attribute")


class Definition(NamedTuple):
    """Definition of a name.

    `scope` are the enclosing braces, `made_at` is MLIR's location of the defining operation.
    """

    name: str
    begin: int
    end: int
    scope: tuple[int, ...]
    made_at: int
    #: Slice of the location's types that belongs to the name.
    types: slice = slice(None)


class Token(NamedTuple):
    """Use of a name."""

    name: str
    begin: int
    end: int
    scope: tuple[int, ...]


class Document:
    """The names in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        #: Enclosing braces from each position on at which they change.
        self._scopes: list[tuple[int, tuple[int, ...]]] = [(-1, _OUTSIDE)]
        self._read()
        self._begins = {token.begin: token for token in self.tokens}
        self.definitions = sorted([*self._values(), *self._symbols(), *self._others()], key=lambda value: value.begin)
        self._by_name: dict[str, list[Definition]] = {}
        for definition in self.definitions:
            self._by_name.setdefault(definition.name, []).append(definition)

    def _read(self) -> None:
        """Find the names with their enclosing braces. A part between split markers is a scope, too."""
        starts = [match.end() for match in re.finditer(r"// -----[ \t\r]*(?:\n|\Z)", self.text)]
        if len(starts) != len(split_input(self.text)) - 1:
            starts = []
        around = _OUTSIDE
        for match in _TOKEN.finditer(self.text):
            token, begin = match[0], match.start()
            while starts and begin >= starts[0]:
                around = self._change(starts.pop(0), _OUTSIDE[:-1])
            if token == "{":
                around = self._change(begin, around)
            elif token == "}":
                around = around[:-1] if len(around) > 1 else around
                self._scopes.append((match.end(), around))
            elif token[0] not in '"/':
                self.tokens.append(Token(token, *match.span(), around))

    def _change(self, begin: int, around: tuple[int, ...]) -> tuple[int, ...]:
        self._scopes.append((begin, (*around, begin)))
        return self._scopes[-1][1]

    def _values(self) -> Iterator[Definition]:
        known: set[int] = set()
        for match in _RESULTS.finditer(self.text):
            first = 0
            for name in _ONE_RESULT.finditer(match[1]):
                if (token := self._begins.get(match.start(1) + name.start())) is None:
                    break  # in a comment
                count = int(name[2] or 1)
                known.add(token.begin)
                yield Definition(*token, match.end(), slice(first, first + count))
                first += count
        for token in self.tokens:
            behind = self.text[token.end : token.end + 40]
            # Definitions are `%x: type` and `for %i = ...`. Uses have a blank before the colon.
            if token.name[0] == "%" and token.begin not in known and re.match(r":(?!\d+\s*=)|\s*=(?!=)", behind):
                yield Definition(*token, token.begin)

    def _symbols(self) -> Iterator[Definition]:
        for match in _SYMBOL.finditer(self.text):
            token = self._begins.get(match.start(2))
            if token is not None and match[1].endswith(_DEFINING_WORDS):
                yield Definition(*token, match.start(1))
        for match in re.finditer(r'sym_name = "([^"\n]*)"', self.text):
            # The attributes' own braces are no scope of the symbol.
            scope = self._scope_at(match.start())[:-1]
            yield Definition(f"@{match[1]}", match.start(1), match.end(1), scope, match.start())

    def _others(self) -> Iterator[Definition]:
        """Yield definitions of blocks and aliases."""
        for token in self.tokens:
            line = self.text[self.text.rfind("\n", 0, token.begin) + 1 : token.begin]
            behind = self.text[token.end : token.end + 1]
            is_block = token.name[0] == "^" and not line.strip() and behind in ("(", ":")
            is_alias = token.name[0] in "#!" and not line.strip() and _EQUALS.match(self.text, token.end)
            if is_block or is_alias:
                yield Definition(*token, token.begin)

    def token_at(self, offset: int) -> Token | None:
        return next((token for token in self.tokens if token.begin <= offset <= token.end), None)

    def definition(self, token: Token) -> Definition | None:
        """Return the definition of a name: the last visible one before it, or else the first one after it."""
        seen = [each for each in self._by_name.get(token.name, ()) if _can_see(token, each)]
        before = [each for each in seen if each.begin <= token.begin]
        if token.name[0] in "@^":
            # Symbols and blocks may be defined after their uses. The innermost definition counts.
            return max(seen, key=lambda each: len(each.scope), default=None)
        return before[-1] if before else (seen[0] if seen else None)

    def uses(self, definition: Definition) -> list[Token]:
        """Return all uses of a definition, including itself."""
        alike = [token for token in self.tokens if token.name == definition.name]
        return [token for token in alike if self.definition(token) == definition]

    def visible(self, offset: int) -> list[str]:
        """Return the names visible at a position."""
        here = Token("", offset, offset, self._scope_at(offset))
        seen = [each for each in self.definitions if _can_see(here, each)]
        return sorted({each.name for each in seen if each.end < offset or each.name[0] == "@"})

    def _scope_at(self, offset: int) -> tuple[int, ...]:
        return self._scopes[bisect.bisect_left(self._scopes, (offset,)) - 1][1]


def _can_see(token: Token, definition: Definition) -> bool:
    return token.scope[: len(definition.scope)] == definition.scope
