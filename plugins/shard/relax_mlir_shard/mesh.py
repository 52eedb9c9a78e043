# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes of ranks, and the division of a tensor's dimensions among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from relax_mlir.dialects.core.symbols import Dim, ceildiv
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

#: Axes of the mesh that divide each dimension of a tensor, the outermost first.
Sharding: TypeAlias = tuple[tuple[str, ...], ...]
#: Ranks of each group.
Groups: TypeAlias = tuple[tuple[int, ...], ...]

_NAME = re.compile(r"[A-Za-z]\w*")
#: Dimension that no axis divides, as text.
_WHOLE = "_"
_MOST_RANKS = 1 << 16


class Mesh(NamedTuple):
    """Ranks in a grid. Ranks along the last axis are adjacent."""

    axes: tuple[tuple[str, int], ...]

    @staticmethod
    def from_sizes(sizes: Mapping[str, int]) -> Mesh:
        """Return the mesh with these sizes by axis. Raise OptionError for names and sizes that are none."""
        if not isinstance(sizes, Mapping):
            raise OptionError(f"mesh: expected a number of ranks by axis, such as {{'dp': 2}}, got {sizes!r}")
        for name, size in sizes.items():
            if not (isinstance(name, str) and _NAME.fullmatch(name)):
                raise OptionError(f"mesh: an axis has a name such as 'dp', got {name!r}")
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise OptionError(f"mesh: axis '{name}' needs a number of ranks, 1 or more, got {size!r}")
        if prod(sizes.values()) > _MOST_RANKS:
            raise OptionError(f"mesh: it has {prod(sizes.values())} ranks, and {_MOST_RANKS} are possible")
        return Mesh(tuple(sizes.items()))

    @staticmethod
    def parse(text: str) -> Mesh:
        """Return the mesh of a text like `dp=2,tp=4`."""
        sizes: dict[str, int] = {}
        for part in filter(None, text.split(",")):
            name, _, size = part.strip().partition("=")
            if not size.isdecimal():
                raise OptionError(f"mesh '{text}': write axes and sizes as dp=2,tp=4")
            if name in sizes:
                raise OptionError(f"mesh '{text}': axis '{name}' occurs twice")
            sizes[name] = int(size)
        if not sizes:
            raise OptionError(f"mesh '{text}': write axes and sizes as dp=2,tp=4")
        return Mesh.from_sizes(sizes)

    def __str__(self) -> str:
        return ",".join(f"{name}={size}" for name, size in self.axes)

    @property
    def size(self) -> int:
        return prod(size for _, size in self.axes)

    def count(self, axes: Iterable[str]) -> int:
        """Return the number of parts into which these axes divide a dimension."""
        sizes = dict(self.axes)
        return prod(sizes[axis] for axis in axes)

    def groups(self, axes: Sequence[str]) -> Groups:
        """Return the groups of ranks that differ only along these axes, each in the order of its parts."""
        groups: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
        for rank in range(self.size):
            place = self.place(rank)
            rest = tuple(place[name] for name, _ in self.axes if name not in axes)
            groups.setdefault(rest, []).append((tuple(place[name] for name in axes), rank))
        return tuple(tuple(rank for _, rank in sorted(members)) for members in groups.values())

    def place(self, rank: int) -> dict[str, int]:
        """Return a rank's index along each axis."""
        place: dict[str, int] = {}
        for name, size in reversed(self.axes):
            rank, place[name] = divmod(rank, size)
        return place

    def part(self, rank: int, axes: Sequence[str]) -> int:
        """Return the part of a dimension, divided by these axes, that a rank has."""
        place, sizes, index = self.place(rank), dict(self.axes), 0
        for axis in axes:
            index = index * sizes[axis] + place[axis]
        return index

    def local_shape(self, shape: Sequence[Dim], sharding: Sharding) -> tuple[Dim, ...]:
        """Return the shape of a part."""
        sizes = []
        for size, axes in zip(shape, sharding, strict=True):
            for axis in axes:
                size = ceildiv(size, self.count([axis]))
            sizes.append(size)
        return tuple(sizes)

    def check(self, sharding: Sharding, what: str) -> None:
        """Raise OptionError for axes that the mesh does not have, and for an axis that is used twice."""
        seen: set[str] = set()
        known = [name for name, _ in self.axes]
        for axis in (axis for axes in sharding for axis in axes):
            if axis not in known:
                raise OptionError(f"{what}: the mesh {self} has no axis '{axis}'{suggest(axis, known)}")
            if axis in seen:
                raise OptionError(f"{what}: axis '{axis}' divides a tensor once, and it is used twice")
            seen.add(axis)


def whole(rank: int) -> Sharding:
    """Return the sharding of a tensor with `rank` dimensions that each rank has as a whole."""
    return ((),) * rank


def show(sharding: Sharding) -> str:
    """Return the text of a sharding: `(dp, _, tp+ep)`."""
    return f"({', '.join('+'.join(axes) or _WHOLE for axes in sharding)})"


def parse(text: str) -> Sharding:
    """Return the sharding of a text, the inverse of `show`."""
    inside = text.strip().removeprefix("(").removesuffix(")")
    if not inside.strip():
        return ()
    parts = [part.strip() for part in inside.split(",")]
    return tuple(() if part == _WHOLE else tuple(part.split("+")) for part in parts)


def sharding_of_spec(spec: object, what: str) -> Sharding:
    """Return the sharding of a user's spec: a name, a list of names or None for each dimension."""
    if not isinstance(spec, (tuple, list)):
        raise OptionError(f"{what}: a spec has an axis, a list of axes or None for each dimension, got {spec!r}")
    sharding = []
    for entry in spec:
        axes = () if entry is None else (entry,) if isinstance(entry, str) else entry
        if not isinstance(axes, (tuple, list)) or not all(isinstance(axis, str) for axis in axes):
            raise OptionError(f"{what}: a dimension has an axis, a list of axes or None, got {entry!r}")
        sharding.append(tuple(axes))
    return tuple(sharding)
