# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Limits of a model's size during import: a few hundred bytes can expand to 2^39 nodes, or to terabytes."""

from __future__ import annotations

from dataclasses import dataclass

from ...support.errors import ModelError

_MEBIBYTE = 1 << 20


class TooLarge(ModelError):
    """Error that ends the import at once, because the rest would be too large as well."""


@dataclass(frozen=True)
class Limits:
    """Limits of an import.

    `most_nodes` counts nodes after functions are expanded and loops unrolled. `most_growth` limits the size of new
    constants, in mebibytes.
    """

    most_nodes: int = 100_000
    most_growth: int = 1024

    def __post_init__(self) -> None:
        for option, value in (("most_nodes", self.most_nodes), ("most_growth", self.most_growth)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ModelError(f"{option} must be an integer of at least 1, got {value!r}")


class Room:
    """Remaining room below the limits in one import."""

    def __init__(self, limits: Limits, function: str):
        """Start with the full limits.

        `function` is the name of the importing function, which takes the limits as options.
        """
        self._limits, self._function = limits, function
        self._nodes, self._bytes = limits.most_nodes, limits.most_growth * _MEBIBYTE

    def check_expanded(self, count: int) -> None:
        """Raise TooLarge if the nested calls of functions expand to too many nodes."""
        if count > self._limits.most_nodes:
            raise self._too_many(f"{count} nodes when its functions are expanded")

    def take_node(self) -> None:
        self._nodes -= 1
        if self._nodes < 0:
            raise self._too_many("too many nodes when its functions are expanded and its loops unrolled")

    def take_bytes(self, what: str, count: int) -> None:
        """Count the bytes of a constant that the model's file does not contain. Raise TooLarge above the limit."""
        self._bytes -= count
        if self._bytes < 0:
            raise TooLarge(
                f"{what} takes {count} bytes that the model's file does not have: constants may grow by at most "
                f"{self._limits.most_growth} MiB during an import",
                notes=[self._raises("most_growth")],
            )

    def _too_many(self, found: str) -> TooLarge:
        return TooLarge(
            f"the model has {found}: at most {self._limits.most_nodes} are allowed", notes=[self._raises("most_nodes")]
        )

    def _raises(self, option: str) -> str:
        return f"{self._function}(..., {option}=...) and --{option.replace('_', '-')} raise the limit"
