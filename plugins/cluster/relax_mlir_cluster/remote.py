# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on other machines: the workers of a Dask scheduler, by name or tag."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.runtime.connections import CONNECTIONS
from relax_mlir.runtime.errors import ArtifactError, UnknownFunction
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from . import remote_calls
from .cluster import Cluster, RemoteCall

if TYPE_CHECKING:
    from relax_mlir.runtime.profile import Profile

#: Seconds of a remote call.
_LIMIT = 600.0


class Boards:
    """Workers of a Dask scheduler by name and tag: `boards["a53"]`. `with` or `close` disconnects."""

    def __init__(self, scheduler: str) -> None:
        self._cluster = Cluster(scheduler)

    def __getitem__(self, name: str) -> Board:
        """Return the workers with a name or tag. Raise OptionError with the existing names for an unknown one."""
        self._cluster.check_board(name)
        return Board(self._cluster, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cluster.board_names())

    def __contains__(self, name: object) -> bool:
        return name in self._cluster.board_names()

    def __len__(self) -> int:
        return len(self._cluster.board_names())

    def __repr__(self) -> str:
        return f"<boards of {self._cluster.scheduler}: {', '.join(self) or 'none'}>"

    def __enter__(self) -> Boards:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect. Programs of these boards cannot be called any more."""
        self._cluster.close()


class Board:
    """Workers with a name or tag. A worker is chosen for each call, and calls of a lost one go to another one."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster = cluster
        self.name = name

    def __repr__(self) -> str:
        return f"<board '{self.name}' of {self._cluster.scheduler}>"

    def load(self, path: str | os.PathLike[str]) -> RemoteProgram:
        """Send the file of a program, and load the program there. Raise ArtifactError if the board cannot run it."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise ArtifactError(f"cannot read '{os.fspath(path)}': {error.strerror}") from None
        return RemoteProgram(self._cluster, self.name, data)


class RemoteProgram:
    """Program on a board: `program["main"](x)`, `program.time("main", x)`, `program.profile("main", x)`."""

    def __init__(self, cluster: Cluster, board: str, data: bytes) -> None:
        self._cluster, self.board = cluster, board
        self._program = remote_calls.ProgramBytes.of(data)
        self._signatures: dict[str, dict[str, Any]] = self._call_on_board(remote_calls.signatures)

    def __repr__(self) -> str:
        return f"<program on board '{self.board}': {', '.join(self)}>"

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function. It takes NumPy arrays, or arrays of any framework, and returns NumPy arrays."""
        self._check(name)
        return lambda *arguments: self._call_on_board(remote_calls.call, name, _convert_arrays(arguments))

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __contains__(self, name: object) -> bool:
        return name in self._signatures

    def signature(self, name: str) -> dict[str, Any]:
        """Return the manifest's description of a function's arguments and results."""
        self._check(name)
        return self._signatures[name]

    def time(self, name: str, *arguments: object, turns: int = 11) -> float:
        """Return the seconds of a call on the board, without the transfer: the median of turns of several calls."""
        self._check(name)
        if turns < 1:
            raise OptionError(f"turns={turns}: expected at least 1")
        seconds: float = self._call_on_board(remote_calls.seconds, name, _convert_arrays(arguments), turns)
        return seconds

    def profile(self, name: str, *arguments: object, repeat: int = 20, warmup: int = 3) -> Profile:
        """Return the time of each kernel on the board, as `Executable.profile` does."""
        self._check(name)
        profile: Profile = self._call_on_board(remote_calls.profile, name, _convert_arrays(arguments), repeat, warmup)
        return profile

    def _check(self, name: str) -> None:
        if name not in self._signatures:
            listed = ", ".join(self._signatures) or "none"
            raise UnknownFunction(f"no function {name!r} in this program; there are {listed}{suggest(name, self)}")

    def _call_on_board(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Call a function for the program. Workers that lack the program get its bytes."""
        try:
            return self._call(function, self._program.without_data(), *arguments)
        except remote_calls.ProgramMissing:
            return self._call(function, self._program, *arguments)

    def _call(self, function: Callable[..., Any], *arguments: object) -> Any:
        call = RemoteCall(function, arguments, _LIMIT, board=self.board, needs_compiler=False, is_timed=True)
        return self._cluster.call(call)


def _convert_arrays(arguments: tuple[object, ...]) -> list[object]:
    """Return arrays of any framework as NumPy arrays."""
    return [to_numpy(argument) if hasattr(argument, "__dlpack__") else argument for argument in arguments]


CONNECTIONS.register("dask", Boards)
