# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all runs of tests share: those with torch have an environment and a conftest.py of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from typing import Any

import example_counts
import pytest
from relax_mlir.compilation import compiling
from relax_mlir.compilation import options as compilation
from relax_mlir.targets.core.code import USUAL_LEVEL

# Where compilations find what they call.
_code_options = compilation.code_options
_cached_program = compiling.cached_program


def _unoptimized(opt_level: int, *arguments: Any, **options: Any) -> Any:
    """The graph's stages are the level's; LLVM does little."""
    return _code_options(0 if opt_level == USUAL_LEVEL else opt_level, *arguments, **options)


def optimize(is_optimized: bool) -> None:
    """Whether LLVM optimizes what is compiled from now on."""
    vars(compilation)["code_options"] = _code_options if is_optimized else _unoptimized


def leave_out(config: pytest.Config, items: list[pytest.Item], left_out: Collection[str]) -> None:
    """Tests of these names do not run."""
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def say_what_was_drawn(terminalreporter: pytest.TerminalReporter, target: str, whole: str) -> None:
    """Of two make targets, the one that ran and the one that runs all."""
    if example_counts.DRAW:
        again = f"make {target} DRAW={example_counts.DRAW} draws it again, make {whole} runs all"
        terminalreporter.write_line(f"a part of the slow and costly tests was drawn: {again}")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled code is kept in a folder of this run: nothing stale helps, and the user's folder stays as it is."""
    before = os.environ.get("RELAX_MLIR_CACHE")
    os.environ["RELAX_MLIR_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    del os.environ["RELAX_MLIR_CACHE"]
    if before is not None:
        os.environ["RELAX_MLIR_CACHE"] = before


@pytest.fixture(scope="session", autouse=True)
def no_whole_programs() -> None:
    """Each test compiles: a program that an earlier test left in the cache would hide what a change breaks."""
    vars(compiling)["cached_program"] = lambda *_: None


@pytest.fixture
def whole_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole programs are kept and found, as they are for users."""
    monkeypatch.setitem(vars(compiling), "cached_program", _cached_program)


@pytest.fixture(scope="session", autouse=True)
def interruptions() -> None:
    """What is started in the background ignores SIGINT and hands that on; tests of interruptions need it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
