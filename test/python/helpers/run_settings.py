# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of all test runs. Tests with torch have an environment and a conftest.py of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterator
from typing import Any

import example_counts
import numpy
import pytest
from hypothesis import settings
from relax_mlir.compilation import compiling
from relax_mlir.compilation import options as compilation
from relax_mlir.targets.core.code_options import USUAL_LEVEL

# The functions that compilations call.
_code_options = compilation.code_options
_cached_program = compiling.cached_program


def _unoptimized(opt_level: int, *arguments: Any, **options: Any) -> Any:
    """Return code options with the graph's stages of the level, but little optimization by LLVM."""
    return _code_options(0 if opt_level == USUAL_LEVEL else opt_level, *arguments, **options)


def optimize(is_optimized: bool) -> None:
    """Turn LLVM's optimization of later compilations on or off."""
    vars(compilation)["code_options"] = _code_options if is_optimized else _unoptimized


#: Initial states of the modules' random generators, by module and name.
_states: dict[tuple[str, str], Any] = {}


def reset_generators(item: pytest.Item) -> None:
    """Reset the random generators of a test's module, so that no test depends on the tests before it."""
    module = getattr(item, "module", None)
    for name, value in vars(module).items() if module else ():
        if isinstance(value, numpy.random.Generator):
            bits = value.bit_generator
            bits.state = _states.setdefault((item.module.__name__, name), bits.state)


def configure_hypothesis(config: pytest.Config) -> None:
    """Set the number of hypothesis' examples, and let the draw select them.

    Call from `pytest_configure`, before hypothesis reads its option. No test may depend on the load of the machine, so
    examples have no deadline. Hypothesis would ignore a seed where it recognizes continuous integration.
    """
    is_fixed = settings().derandomize and not example_counts.DRAW
    settings.register_profile("relax_mlir", max_examples=example_counts.some(100), deadline=None, derandomize=is_fixed)
    settings.load_profile("relax_mlir")
    if example_counts.DRAW and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = example_counts.DRAW


def draw(config: pytest.Config, items: list[pytest.Item], share_of: Callable[[pytest.Item], float | None]) -> None:
    """Deselect the tests that are not drawn: slow tests, and all but a share of costly ones."""
    slow = {item.nodeid for item in items if item.get_closest_marker("slow")}
    shares = {item.nodeid: share for item in items if (share := share_of(item)) is not None}
    left_out = {*shares, *slow} - example_counts.drawn({test: shares[test] for test in shares if test not in slow})
    left_out -= {test for test in slow if example_counts.is_drawn(test)}
    leave_out(config, items, left_out)


def leave_out(config: pytest.Config, items: list[pytest.Item], left_out: Collection[str]) -> None:
    """Deselect tests with these names."""
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def say_what_was_drawn(terminalreporter: pytest.TerminalReporter, suite: str) -> None:
    """Print the commands that repeat this draw and that run all tests."""
    if example_counts.DRAW:
        suite = f"tools/dev/suite.py {suite} --draw"
        again = f"`{suite} {example_counts.DRAW}` draws it again, `{suite} ''` runs all"
        terminalreporter.write_line(f"a part of the slow and costly tests was drawn: {again}")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled code in a folder of this run: no stale code is used, and the user's folder stays unchanged."""
    before = os.environ.get("RELAX_MLIR_CACHE")
    os.environ["RELAX_MLIR_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    del os.environ["RELAX_MLIR_CACHE"]
    if before is not None:
        os.environ["RELAX_MLIR_CACHE"] = before


@pytest.fixture(scope="session", autouse=True)
def no_whole_programs() -> None:
    """Compile in each test: a program that an earlier test left in the cache would hide a defect."""
    vars(compiling)["cached_program"] = lambda *_: None


@pytest.fixture
def whole_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache whole programs and use them, as for users."""
    monkeypatch.setitem(vars(compiling), "cached_program", _cached_program)


@pytest.fixture(scope="session", autouse=True)
def interruptions() -> None:
    """Restore the handling of SIGINT.

    Background processes ignore it and pass this on, but tests of interruptions need it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
