# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of the codegen, parsed from text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from relax_mlir import OptionError
from relax_mlir.codegens import CodegenOption
from relax_mlir.dialects.core.symbols import Dim

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_BYTES = re.compile(r"(\d{1,18})([KMG]?)")
_SIZE = re.compile(r"\s*([A-Za-z_][\w.]*):(\d{1,9})-(\d{1,9})-(\d{1,9})\s*")


class ProfileRange(NamedTuple):
    least: int
    usual: int
    most: int


class Options(NamedTuple):
    fp16: bool = False
    workspace: int | None = None
    sizes: Mapping[str, ProfileRange] = {}

    def range_of(self, dims: tuple[Dim, ...], name: str) -> list[tuple[int, ...]]:
        """Return the minimum, usual and maximum shape of an input."""
        return [tuple(self._evaluate(dim, which, name) for dim in dims) for which in range(3)]

    def _evaluate(self, dim: Dim, which: int, name: str) -> int:
        if isinstance(dim, int) or dim is None:
            return dim or 0
        if missing := [variable for variable in sorted(dim.variables) if variable not in self.sizes]:
            example = ",".join(f"{each}:1-8-64" for each in missing)
            raise OptionError(f"the size {dim} of {name} is dynamic, and TensorRT needs its range: sizes='{example}'")
        found = dim.substitute({variable: self.sizes[variable][which] for variable in dim.variables})
        if not isinstance(found, int):
            raise OptionError(f"the size {dim} of {name} is not a number for {_show(self.sizes)}")
        return found


def _show(sizes: Mapping[str, ProfileRange]) -> str:
    return ",".join(f"{name}:{'-'.join(map(str, range_))}" for name, range_ in sizes.items())


def _bytes(text: str) -> int:
    if (match := _BYTES.fullmatch(text)) is None or not int(match[1]):
        raise ValueError(f"expects bytes, such as 1073741824, 512M or 1G, got '{text}'")
    return int(match[1]) * _UNITS[match[2]]


def _sizes(text: str) -> dict[str, ProfileRange]:
    sizes: dict[str, ProfileRange] = {}
    for word in filter(None, text.split(",")):
        match = _SIZE.fullmatch(word)
        range_ = ProfileRange(*map(int, match.groups()[1:])) if match else None
        if match is None or range_ is None or not 1 <= range_.least <= range_.usual <= range_.most:
            raise ValueError(f"expects symbol:least-usual-most, such as n:1-8-64, got '{text}'")
        if match[1] in sizes:
            raise ValueError(f"names '{match[1]}' twice")
        sizes[match[1]] = range_
    return sizes


OPTIONS: Mapping[str, CodegenOption] = {
    "fp16": CodegenOption("permit half precision where it is faster", bool, False),
    "workspace": CodegenOption("bytes of GPU memory for layers; TensorRT's default if absent", _bytes),
    "sizes": CodegenOption("minimum, usual and maximum size of each symbol, such as n:1-8-64,m:1-2-3", _sizes, {}),
}
