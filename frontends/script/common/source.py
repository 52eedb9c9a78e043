# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of a script: its syntax tree, and errors that show the line with a caret below the wrong part."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ....bindings.diagnostics import warn_at
from ....bindings.ir import Location
from ....bindings.mlir import ir
from ....dialects.core.codec import TypeProblem
from ....dialects.core.symbols_expr import SymbolError
from ....dialects.script.syntax import parsed
from ....support.errors import ModelError, RelaxError
from ....support.suggest import suggest

#: A longer script is not handwritten.
MOST_TEXT = 64 << 20
_MOST_SHOWN = 120

Result = TypeVar("Result")


class ScriptError(ModelError):
    """Error in a script. `location` is file:line:column; `str()` shows that line with a caret."""

    def __init__(self, message: str, *, location: str, shown: str = ""):
        super().__init__(message, location=location)
        self._shown = shown

    def __str__(self) -> str:
        return f"{super().__str__()}{self._shown}"


@dataclass(frozen=True)
class Source:
    """Text of a script and its position in a file."""

    text: str
    file: str
    #: Line number of the text's first line in the file.
    first_line: int = 1
    #: Number of columns that were removed from the front of each line.
    indent: int = 0
    lines: list[str] = field(init=False, repr=False)
    #: True if Python counts lines and columns as `lines` does.
    _is_plain: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", self.text.split("\n"))
        object.__setattr__(self, "_is_plain", self.text.isascii() and "\r" not in self.text)

    # ---- origin ----

    @staticmethod
    def of_object(item: type | Callable[..., object]) -> Source:
        """Return the source of a class or function. Raises RelaxError if Python cannot find it."""
        try:
            lines, first = inspect.getsourcelines(item)
            file = inspect.getsourcefile(item) or "<unknown>"
        except (OSError, TypeError, IndentationError) as error:
            name = getattr(item, "__qualname__", item)
            hint = "give rx.Module.from_script its text"
            raise ModelError(f"the source of {name!r} cannot be found: {error}; {hint}") from None
        dedented = textwrap.dedent("".join(lines))
        indent = len(lines[0]) - len(dedented.split("\n", 1)[0]) - 1 if lines else 0
        return Source(dedented, file, max(first, 1), max(indent, 0))

    @staticmethod
    def of_file(path: str | Path) -> Source:
        try:
            text = Path(path).read_bytes().decode()
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not a text file: byte {error.start} is not UTF-8") from None
        return Source(text, str(path))

    # ---- the syntax tree ----

    def parse(self, text: str = "") -> ast.Module:
        """Parse the script, or a shorter `text` with the same tokens at the same positions. Raises ScriptError."""
        text = text or self.text
        if len(text) > MOST_TEXT:
            raise ScriptError(f"the script has {len(text) >> 20} MiB of text", location=self.file)
        if (null := text.find("\0")) >= 0:  # Python versions differ in how they treat a null byte
            start = text.rfind("\n", 0, null) + 1
            place = ast.Pass(lineno=text.count("\n", 0, null) + 1, col_offset=len(text[start:null].encode()))
            raise self.problem(place, "this is not Python: a null byte")
        try:
            return parsed(text, self.file)
        except SyntaxError as error:
            if error.lineno is None:
                raise ScriptError(error.msg, location=self.file) from None
            place = ast.Pass(lineno=error.lineno or 1, col_offset=max((error.offset or 1) - 1, 0))
            raise self.problem(place, f"this is not Python: {error.msg}") from None

    # ---- places ----

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Return the line and column in the file, counted from 1."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        if not self.text.isascii():  # Python counts bytes
            column = len(self._line(line).encode()[:column].decode(errors="replace"))
        return line + self.first_line - 1, column + 1 + self.indent

    def location(self, node: ast.AST, name: str = "") -> Location:
        """Return the location of a node in the current context, with the name of a variable that the node defines."""
        line, column = self.place(node)
        place = ir.Location.file(self.file, line, column)
        return ir.Location.name(name, place) if name else place

    def place_text(self, node: ast.AST) -> str:
        line, column = self.place(node)
        return f"{self.file}:{line}:{column}"

    def warn(self, node: ast.AST, message: str) -> None:
        warn_at(self.place_text(node), message)

    def literals(self, nodes: Iterable[ast.expr]) -> dict[str, object]:
        """Return the annotations of a loop or block. Warn about values that are no literals."""
        literals: dict[str, object] = {}
        for node in nodes:
            try:
                literals |= ast.literal_eval(node)
            except (ValueError, TypeError):
                text = ast.unparse(node)
                self.warn(node, f"annotations {text} are dropped: expected a dictionary of literals")
        return literals

    def written(self, node: ast.expr) -> str:
        """Return the text of a node on one line, or "" if it spans several lines."""
        if not self._is_plain or node.end_lineno != node.lineno:
            return ""
        return self.lines[node.lineno - 1][node.col_offset : node.end_col_offset]

    def problem(self, node: ast.AST, message: str, known: Iterable[str] | None = None, word: str = "") -> ScriptError:
        """Return an error at a node. The message suggests the name among `known` that is nearest to `word`."""
        hint = "" if known is None else suggest(word, known)
        return ScriptError(f"{message}{hint}", location=self.place_text(node), shown=self._shown(node))

    def _line(self, number: int) -> str:
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def _shown(self, node: ast.AST) -> str:
        """Return the line of a node, and below it a caret and tildes under the node."""
        number = getattr(node, "lineno", 0)
        line = self._line(number).rstrip()
        if not line or not line.isprintable() and "\t" not in line:
            return ""
        start = self.place(node)[1] - 1 - self.indent
        end = start + 1
        if getattr(node, "end_lineno", None) == number:
            last = getattr(node, "end_col_offset", None) or 0
            end = max(end, len(line.encode()[:last].decode(errors="replace")))
        elif getattr(node, "end_lineno", None) is not None:
            end = max(end, len(line))
        cut = max(start - _MOST_SHOWN // 2, 0) if len(line) > _MOST_SHOWN else 0
        shown = line[cut : cut + _MOST_SHOWN].replace("\t", " ")
        marks = "^" + "~" * (min(end - cut, len(shown)) - (start - cut) - 1)
        return f"\n    {shown}\n    {' ' * (start - cut)}{marks}"

    def guarded(self, node: ast.AST, make: Callable[[], Result]) -> Result:
        """Call `make` and report its errors at the node."""
        try:
            return make()
        except ScriptError:
            raise
        except RelaxError as error:
            raise self.problem(node, error.message) from None
        except (TypeProblem, SymbolError) as error:
            raise self.problem(node, str(error)) from None
