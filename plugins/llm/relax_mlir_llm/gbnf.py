# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GBNF, the grammars of llama.cpp, as grammars in llguidance's dialect of Lark.

Each character is a token of its own in the result: longer ones would take as many characters as they can, which GBNF
does not. Syntax: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from relax_mlir import RelaxError

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_REPEATED = re.compile(r"\{\s*(\d+)\s*(?:(,)\s*(\d*)\s*)?\}")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([nrt\\\"\[\]]))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_ANY = "/[\\x{0}-\\x{10FFFF}]/"
_MOST_CODE = 0x10FFFF
#: llama.cpp's limits of the repetitions and of the brackets around a symbol.
_MOST_REPEATED, _MOST_DEPTH = 2000, 100


class _RuleUse(NamedTuple):
    """Rule that another one names, and the place of the name."""

    name: str
    place: int


def lark_of(text: str) -> str:
    """Return the grammar in Lark. Raise RelaxError with the line and column of a mistake."""
    return _GrammarReader(text).grammar()


class _GrammarReader:
    """Reader of a grammar from its begin to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = self._depth = 0
        #: Rule -> its alternatives in Lark. The first part of Lark's name is a number: Lark has reserved names.
        self._rules: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._uses: list[_RuleUse] = []

    def grammar(self) -> str:
        self._skip(_SPACE_AND_LINES)
        while self._place < len(self._text):
            self._rule()
            self._skip(_SPACE_AND_LINES)
        if "root" not in self._rules:
            raise RelaxError("the rule root, which is the whole answer, is missing")
        if (unknown := next((use for use in self._uses if use.name not in self._rules), None)) is not None:
            self._refuse(f"there is no rule {unknown.name}", unknown.place)
        rules = (f"{self._number(name)}: {alternatives}" for name, alternatives in self._rules.items())
        return "\n".join((f"start: {self._number('root')}", *rules, ""))

    def _number(self, name: str) -> str:
        return f"r{self._numbers.setdefault(name, len(self._numbers))}"

    def _rule(self) -> None:
        name = self._name()
        self._skip(_SPACE)
        if not self._take("::="):
            self._expect("::=")
        self._skip(_SPACE_AND_LINES)
        # Like llama.cpp, the last one of several rules with one name counts.
        self._rules[name] = self._alternatives(_SPACE)
        if self._place < len(self._text) and self._next not in "\r\n":
            self._expect("a symbol or the end of the line")

    def _alternatives(self, space: re.Pattern[str]) -> str:
        found = [self._sequence(space)]
        while self._take("|"):
            self._skip(_SPACE_AND_LINES)
            found.append(self._sequence(space))
        return " | ".join(found)

    def _sequence(self, space: re.Pattern[str]) -> str:
        found = []
        while (symbol := self._symbol()) is not None:
            self._skip(space)
            while (times := self._repetition()) is not None:
                symbol = f"({symbol}){times}"
                self._skip(space)
            found.append(symbol)
        return " ".join(found) or '""'

    def _symbol(self) -> str | None:
        if (begin := self._next) == '"':
            return self._literal()
        if begin == "[":
            return self._characters()
        if self._take("."):
            return _ANY
        if begin == "(":
            return self._group()
        if begin and begin in "<!":
            self._refuse("tokens such as <think> are not supported, expected their text")
        if not _NAME.match(begin):
            return None
        place = self._place
        self._uses.append(_RuleUse(self._name(), place))
        return self._number(self._uses[-1].name)

    def _group(self) -> str:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            self._refuse(f"brackets are nested more than {_MOST_DEPTH} times")
        self._place += 1
        self._skip(_SPACE_AND_LINES)
        alternatives = self._alternatives(_SPACE_AND_LINES)
        if not self._take(")"):
            self._expect("a symbol or )")
        self._depth -= 1
        return f"({alternatives})"

    def _repetition(self) -> str | None:
        if self._next and self._next in "*+?":
            self._place += 1
            return self._text[self._place - 1]
        if self._next != "{":
            return None
        if (match := _REPEATED.match(self._text, self._place)) is None:
            self._expect("a repetition such as {2}, {2,} or {2,4}")
        least, comma, most = match.groups()
        most = most if comma else least
        if max(map(_parse_bounded, (least, most or "0"))) > _MOST_REPEATED:
            self._refuse(f"{match[0]} repeats more than {_MOST_REPEATED} times")
        if most and int(least) > int(most):
            self._refuse(f"{match[0]} has a smaller number behind the comma")
        self._place = match.end()
        return f"{{{least},{most}}}"

    # Characters

    def _literal(self) -> str:
        self._place += 1
        found = []
        while not self._take('"'):
            found.append(f"/[{_code(self._character())}]/")
        return f"({' '.join(found)})" if found else '""'

    def _characters(self) -> str:
        begin = self._place
        self._place += 1
        sign = "^" if self._take("^") else ""
        found = ""
        while not self._take("]"):
            first = last = self._character()
            if self._next == "-" and self._text[self._place + 1 : self._place + 2] != "]":
                self._place += 1
                last = self._character()
            if last < first:
                self._refuse("the range ends before its begin", begin)
            found += _code(first) if first == last else f"{_code(first)}-{_code(last)}"
        if not found:
            self._refuse("the brackets have no characters", begin)
        return f"/[{sign}{found}]/"

    def _character(self) -> int:
        """Return the code of the next character, which may be an escape sequence."""
        if not self._next:
            self._expect('a character or the closing " or ]')
        if self._next != "\\":
            return self._check(self._next, ord(self._next))
        if (match := _ESCAPE.match(self._text, self._place)) is None:
            self._expect(r"one of \n \r \t \\ " + r"\" \[ \] \x41 \u0041 \U00000041")
        digits = match[1] or match[2] or match[3]
        return self._check(match[0], int(digits, 16) if digits else ord(_ESCAPED.get(match[4], match[4])))

    def _check(self, source: str, code: int) -> int:
        if code > _MOST_CODE or 0xD800 <= code < 0xE000:  # half of a surrogate pair
            self._refuse(f"{source!a} is no character")
        self._place += len(source)
        return code

    # Places

    @property
    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _skip(self, space: re.Pattern[str]) -> None:
        match = space.match(self._text, self._place)
        assert match is not None
        self._place = match.end()

    def _take(self, text: str) -> bool:
        is_next = self._text.startswith(text, self._place)
        self._place += len(text) if is_next else 0
        return is_next

    def _name(self) -> str:
        if (match := _NAME.match(self._text, self._place)) is None:
            self._expect("the name of a rule, of letters, digits, - and _")
        self._place = match.end()
        return match[0]

    def _expect(self, expected: str) -> NoReturn:
        shown = repr(self._text[self._place : self._place + 20]) if self._next else "the end"
        self._refuse(f"expected {expected}, got {shown}")

    def _refuse(self, reason: str, place: int | None = None) -> NoReturn:
        before = self._text[: self._place if place is None else place]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise RelaxError(f"line {line}, column {column}: {reason}")


def _code(code: int) -> str:
    return f"\\x{{{code:X}}}"


def _parse_bounded(digits: str) -> int:
    """Return the number of some digits. All that are above the limit are the same: Python refuses 5,000 digits."""
    return int(digits) if len(digits) < 10 else _MOST_REPEATED + 1
