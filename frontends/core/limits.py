# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of a model's size while it is imported: a few hundred bytes can stand for 2^39 nodes, or for terabytes."""

from __future__ import annotations

from dataclasses import dataclass

from ...support.errors import ModelError

_MEBIBYTE = 1 << 20


class TooLarge(ModelError):
    """The import ends at once: what follows would be too large as well."""


@dataclass(frozen=True)
class Limits:
    """`most_nodes` after functions are expanded and loops unrolled, `most_growth` is of constants, in mebibytes."""

    most_nodes: int = 100_000
    most_growth: int = 1024

    def __post_init__(self) -> None:
        for option, value in (("most_nodes", self.most_nodes), ("most_growth", self.most_growth)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ModelError(f"{option} must be a whole number, 1 or more, got {value!r}")


class Room:
    """What is left of the limits in one import."""

    def __init__(self, limits: Limits, function: str):
        """`function` is what imports, and takes limits."""
        self._limits, self._function = limits, function
        self._nodes, self._bytes = limits.most_nodes, limits.most_growth * _MEBIBYTE

    def check_expanded(self, count: int) -> None:
        """Raises TooLarge for functions whose nested calls expand to too many nodes."""
        if count > self._limits.most_nodes:
            raise self._too_many(f"{count} nodes when its functions are expanded")

    def take_node(self) -> None:
        self._nodes -= 1
        if self._nodes < 0:
            raise self._too_many("ever more nodes as its functions are expanded and its loops unrolled")

    def take_bytes(self, what: str, count: int) -> None:
        """Of a constant that the model's own bytes do not have."""
        self._bytes -= count
        if self._bytes < 0:
            raise TooLarge(
                f"{what} takes {count} bytes that the model's file does not have: constants may grow by "
                f"{self._limits.most_growth} MiB in all while a model is imported",
                notes=[self._raises("most_growth")],
            )

    def _too_many(self, found: str) -> TooLarge:
        return TooLarge(
            f"the model becomes {found}: there may be {self._limits.most_nodes}", notes=[self._raises("most_nodes")]
        )

    def _raises(self, option: str) -> str:
        return f"{self._function}(..., {option}=...) and --{option.replace('_', '-')} raise the limit"
