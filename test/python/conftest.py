# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of all Python tests."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Generator
from pathlib import Path

import example_counts
import pytest
import run_settings
from run_settings import interruptions, no_whole_programs, own_cache, whole_programs  # noqa: F401  # fixtures of all tests

# As many processes run tests as there are CPUs: threads of matrix products would wait for each other, and not idly.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Folders in which nearly every test compiles a program or starts a process, and the share of their tests that runs.
_COSTLY = {"targets": 1 / 8, "frontends": 1 / 8, "passes": 1 / 12, "runtime": 1 / 3, "tools": 1 / 5, "": 1 / 5}
# Folders with tests that compile programs and do not depend on LLVM's optimization.
_UNOPTIMIZED = frozenset({"targets", "frontends", "passes", "runtime"})


@functools.cache
def _room(path: Path) -> str:
    """Return a file's folder in this one, or "" for a file directly in it."""
    return "/".join(path.relative_to(Path(__file__).parent).parts[:-1][:1])


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    run_settings.configure_hypothesis(config)


def pytest_runtest_setup(item: pytest.Item) -> None:
    run_settings.reset_generators(item)
    run_settings.optimize(_room(item.path) not in _UNOPTIMIZED or example_counts.is_optimized(item.nodeid))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    run_settings.say_what_was_drawn(terminalreporter, "test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that are not drawn."""
    run_settings.draw(config, items, lambda item: _COSTLY.get(_room(item.path)))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from traversing the 700,000 objects of collection, which takes 0.5 s each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Skip a test where its onnxruntime is too old to know the operator: an oracle without an answer is no oracle."""
    try:
        return (yield)
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime."):
            raise
        from onnx_oracle import is_old_refusal, onnxruntime

        if not is_old_refusal(error):
            raise
        pytest.skip(f"onnxruntime {onnxruntime.__version__}, the newest that this Python has, refuses it: {error}")
