# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers: alternative ways to compute a program's results, for comparing results and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ...runtime import Executable
from ...support.registry import NamedRegistry

#: Ways to run a program that plug-ins announce: `reference` returns a peer, `each` compares every value of a program,
#: and `ranks` returns a program of several ranks in a form for the driver.
COMPARISONS: NamedRegistry[Callable[..., Any]] = NamedRegistry("a comparison", plugins="comparison")


class Compared(NamedTuple):
    """Program under comparison: its file, and the called function."""

    path: str
    executable: Executable
    function: str


class Peer(Protocol):
    """Alternative way to compute a program's results."""

    @property
    def name(self) -> str:
        """Return the name for messages and times."""

    @property
    def threads(self) -> int:
        """Return the number of threads of a call."""

    @property
    def run(self) -> Callable[[], object]:
        """Return a function that calls the model with the inputs."""

    @property
    def outputs(self) -> Mapping[str, object]:
        """Return the results by name."""


class CalledPeer(NamedTuple):
    """Peer with the results of a single call of `run`."""

    name: str
    threads: int
    run: Callable[[], object]
    outputs: Mapping[str, object]


def numbered(arrays: Sequence[object]) -> dict[str, object]:
    """Return arrays by position, for arrays without names."""
    return {str(place): array for place, array in enumerate(arrays)}
