# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be told of the codegen, read from text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ....dialects.core.symbols import Dim
from ....support.errors import RelaxError

OPTIONS: Mapping[str, str] = {
    "fp16": "1: TensorRT may compute in half precision where that is faster (default: 0)",
    "workspace": "of the GPU's memory, for layers that compute: bytes, or 512M, 2G (default: what TensorRT says)",
    "sizes": "of symbols: the least, the usual one and the most, n:1-8-64, several with a comma between",
}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_BYTES = re.compile(r"(\d{1,18})([KMG]?)")
_SIZE = re.compile(r"\s*([A-Za-z_][\w.]*):(\d{1,9})-(\d{1,9})-(\d{1,9})\s*")


class Range(NamedTuple):
    least: int
    usual: int
    most: int


class Options(NamedTuple):
    fp16: bool = False
    workspace: int | None = None
    sizes: Mapping[str, Range] = {}

    def range_of(self, dims: tuple[Dim, ...], name: str) -> list[tuple[int, ...]]:
        """The shapes of an input, least, usual, most."""
        return [tuple(self._of(dim, which, name) for dim in dims) for which in range(3)]

    def _of(self, dim: Dim, which: int, name: str) -> int:
        if isinstance(dim, int) or dim is None:
            return dim or 0
        missing = [each for each in sorted(dim.variables) if each not in self.sizes]
        if missing:
            told = ",".join(f"{each}:1-8-64" for each in missing)
            raise RelaxError(
                f"the size {dim} of {name} is not known, and TensorRT is to be told what to build for: sizes='{told}'"
            )
        found = dim.substitute({each: self.sizes[each][which] for each in dim.variables})
        if not isinstance(found, int):
            raise RelaxError(f"the size {dim} of {name} is no number for {_shown(self.sizes)}")
        return found


def _shown(sizes: Mapping[str, Range]) -> str:
    return ",".join(f"{name}:{'-'.join(map(str, told))}" for name, told in sizes.items())


def parse_options(given: Mapping[str, str]) -> Options:
    """Raises RelaxError for what means nothing."""
    fp16 = given.get("fp16", "0")
    if fp16 not in ("0", "1", "true", "false"):
        raise RelaxError(f"codegen 'tensorrt': fp16={fp16}: expected 0 or 1")
    return Options(fp16 in ("1", "true"), _bytes(given.get("workspace")), _sizes(given.get("sizes", "")))


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    found = _BYTES.fullmatch(text)
    if found is None or not int(found[1]):
        raise RelaxError(f"codegen 'tensorrt': workspace={text}: expected bytes, such as 1073741824, 512M or 1G")
    return int(found[1]) * _UNITS[found[2]]


def _sizes(text: str) -> dict[str, Range]:
    sizes: dict[str, Range] = {}
    for each in filter(None, text.split(",")):
        found = _SIZE.fullmatch(each)
        told = Range(*map(int, found.groups()[1:])) if found else None
        if found is None or told is None or not 1 <= told.least <= told.usual <= told.most:
            raise RelaxError(f"codegen 'tensorrt': sizes={text}: expected symbol:least-usual-most, such as n:1-8-64")
        if found[1] in sizes:
            raise RelaxError(f"codegen 'tensorrt': sizes={text}: '{found[1]}' is there twice")
        sizes[found[1]] = told
    return sizes
