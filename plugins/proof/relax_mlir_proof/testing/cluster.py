# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases on this machine, or on the workers of a Dask cluster, with the same outcomes.

Each case runs in a forked process of its own (isolated.py), on a worker below a process that has loaded the compiler.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir_cluster.cluster import Cluster, RemoteCall

from . import isolated
from .isolated import Died

#: Seconds beyond the limit of a case: a worker loads the compiler before its first case.
_LOADING = 120.0


class Script(NamedTuple):
    """Function in a script of the project's repository, which each worker has a checkout of."""

    #: Path in the repository.
    path: str
    name: str

    def function(self) -> Callable[..., Any]:
        """Return the function. Raise OptionError if this machine has no such script."""
        found: Callable[..., Any] = getattr(_module_of(self.path), self.name)
        return found


#: Function of a case: of an importable module, or of a script.
Function = Callable[..., Any] | Script


class _Ended(NamedTuple):
    """Death of the process of a case: its cause, and the phase of the case."""

    cause: str
    phase: int


def run(
    function: Function,
    queue: Iterator[tuple[Any, ...]],
    jobs: int,
    end: float | None,
    patience_s: float,
    died: Died,
    *,
    scheduler: str | None = None,
    prepare: Function | None = None,
    told: Callable[[str], object] | None = None,
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield arguments and results as they arrive, as `isolated.run` does.

    With the address of a Dask scheduler its workers run the cases, as many at once as they have threads. `prepare` is
    called with the first argument before a worker's first case. `told` gets sentences on workers without cases. A case
    without a result raises RelaxError.
    """
    if scheduler is None:
        call = function.function() if isinstance(function, Script) else function
        yield from isolated.run(call, queue, jobs, end, patience_s, died)
        return
    cluster = Cluster(scheduler, told=told)
    limited = _take_until(queue, end)
    calls = (
        RemoteCall(answer, (function, prepare, patience_s, arguments), limit=patience_s + _LOADING)
        for arguments in limited
    )
    try:
        for call_, found in cluster.outcomes(calls):
            arguments = call_.arguments[-1]
            if found.error is not None:
                raise RelaxError(f"the case runner failed on a worker: {found.error}") from found.error
            ended = _Ended(found.ended, 0) if found.ended else found.value
            yield arguments, died(*ended) if isinstance(ended, _Ended) else ended
    finally:
        cluster.close()


def answer(function: Function, prepare: Function | None, patience_s: float, arguments: tuple[Any, ...]) -> Any:
    """Run a case in a forked process of this worker's process. Return the result, or the cause of its death."""
    if prepare is not None:
        _prepare(prepare, arguments[0])
    call = function.function() if isinstance(function, Script) else function
    return isolated.alone(partial(call, *arguments), patience_s, _Ended)


@cache
def _prepare(prepare: Function, argument: Any) -> None:
    """Load what cases need, once for each argument."""
    call = prepare.function() if isinstance(prepare, Script) else prepare
    call(argument)


def _take_until(queue: Iterator[tuple[Any, ...]], end: float | None) -> Iterator[tuple[Any, ...]]:
    for each in queue:
        if end is not None and time.monotonic() >= end:
            return
        yield each


def repository() -> Path:
    """Return the checkout that this package comes from. Raise OptionError for an installed package."""
    root = Path(__file__).resolve().parents[4]
    if not (root / "pyproject.toml").is_file():
        raise OptionError(f"scripts of the repository need a checkout, and '{root}' is an installed package")
    return root


@cache
def _module_of(path: str) -> ModuleType:
    """Import a script and make its folder importable, under the name of its file."""
    file = repository() / path
    if not file.is_file():
        raise OptionError(f"this checkout has no '{path}': {file.parent}")
    running = sys.modules["__main__"]
    if os.path.realpath(getattr(running, "__file__", None) or "") == os.path.realpath(file):
        return running
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    if (name := file.stem) in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
