# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipe files of other quantizers: JSON with the lines of names for messages, and patterns of the layers they name."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from relax_mlir.passes.patterns.operator_patterns import is_op
from relax_mlir.passes.patterns.tree import GraphPattern, is_const, wildcard
from relax_mlir.support.errors import RelaxError

#: Frames between a warning and the caller of the function that reads a file.
_CALLER = 3
#: Operators of layers with weights.
_WEIGHTED = {
    "conv": ("relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"),
    "conv_transpose": ("relax.nn.conv1d_transpose", "relax.nn.conv2d_transpose", "relax.nn.conv3d_transpose"),
    "linear": ("relax.matmul",),
}
_NORMS = ("relax.nn.layer_norm", "relax.nn.rms_norm")
_BINARY = tuple(f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"))


class ForeignFile:
    """JSON file of another quantizer."""

    def __init__(self, path: str | Path):
        self.path = path
        self._notes: dict[str, None] = {}
        try:
            self._text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise RelaxError(f"cannot read {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise RelaxError(f"cannot read {path}: it is no text") from None
        try:
            self.content: object = json.loads(self._text)
        except json.JSONDecodeError as error:
            raise RelaxError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
        except RecursionError:
            raise RelaxError(f"{path}: not a recipe: values are nested too deeply") from None

    def fail(self, names: Sequence[object], problem: str) -> RelaxError:
        """Return an error about the value at these names, from the outermost to the innermost."""
        return RelaxError(self._locate(names, problem))

    def warn(self, names: Sequence[object], problem: str) -> None:
        """Note a value that a recipe cannot express, for `tell`."""
        self._notes.setdefault(self._locate(names, problem))

    def tell(self) -> None:
        """Warn about all values that were noted."""
        for note in self._notes:
            warnings.warn(note, UserWarning, stacklevel=_CALLER)

    def _locate(self, names: Sequence[object], problem: str) -> str:
        at = 0
        for name in names:
            at = (
                self._start_of_item(at, name)
                if isinstance(name, int)
                else max(at, self._text.find(json.dumps(name), at))
            )
        shown = ".".join(map(str, names))
        return f"{self.path}:{self._text.count(chr(10), 0, at) + 1}: {f'{shown}: ' if shown else ''}{problem}"

    def _start_of_item(self, at: int, place: int) -> int:
        """Return the offset of an item of the next list behind an offset."""
        at = self._text.find("[", at)
        for number in range(place + 1):
            at = next(index for index in range(at + 1, len(self._text)) if self._text[index] not in " \t\r\n,")
            if number < place:
                at = json.JSONDecoder().raw_decode(self._text, at)[1] - 1
        return at

    def check_names(self, given: object, known: Collection[str], names: Sequence[object]) -> dict[str, object]:
        """Return an object of the file. Raises RelaxError for other values and for unknown names in it."""
        if not isinstance(given, dict):
            raise self.fail(names, f"expected an object, got {given!r:.40}")
        for name in given:
            if name not in known:
                raise self.fail([*names, name], f"unknown name; expected {', '.join(known)}")
        return given


def layer_pattern(kind: str, chains: Iterable[Sequence[str]] = ()) -> GraphPattern:
    """Return the pattern of a layer: of weights (`conv`), of two computed matrices (`product`), or of an operator.

    Operands are named x, w and bias, or x and other. chains: operators that may follow inside of the layer.
    """
    x = wildcard().named("x")
    if kind in _WEIGHTED:
        weights = is_const().has_rank(2) if kind == "linear" else is_const()
        pattern: GraphPattern = is_op(*_WEIGHTED[kind])(x, weights.named("w"))
        pattern = pattern.optional(lambda y: is_op("relax.add")(y.used_once(), is_const().named("bias")))
    elif kind == "product":
        pattern = is_op("relax.matmul")(x, wildcard().named("other"))
    elif kind in _BINARY:
        pattern = is_op(kind)(x, wildcard().named("other"))
    elif kind in _NORMS:
        pattern = is_op(kind)(x, is_const().named("w"), ...)
    else:
        pattern = is_op(kind)(x, ...)
    for chain in sorted(set(map(tuple, chains)), key=lambda each: (-len(each), each)):
        pattern = _add_followers(pattern, chain)
    return pattern


def _add_followers(layer: GraphPattern, chain: Sequence[str]) -> GraphPattern:
    longer = layer
    for name in chain:
        longer = is_op(name)(longer.used_once(), ...)
    return longer | layer


def operands_of(kind: str) -> tuple[str, ...]:
    """Return the names of operands beside x in the pattern of a layer."""
    if kind in _WEIGHTED:
        return ("w", "bias")
    if kind == "product" or kind in _BINARY:
        return ("other",)
    return ("w",) if kind in _NORMS else ()
