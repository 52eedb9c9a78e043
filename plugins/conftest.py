# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of the plug-ins' tests, by the same helpers as the core's tests."""

from __future__ import annotations

import os

import example_counts
import pytest
import run_settings
from run_settings import interruptions, no_whole_programs, own_cache, whole_programs  # noqa: F401  # fixtures of all tests

# Each CPU runs one test process: threads of matrix products would compete with them.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

#: Share of the tests that `make test` runs. Most tests compile a program, which takes long.
_SHARE = 1 / 8


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    run_settings.configure_hypothesis(config)


def pytest_runtest_setup(item: pytest.Item) -> None:
    run_settings.reset_generators(item)
    run_settings.optimize(example_counts.is_optimized(item.nodeid))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a random sample of the tests, and deselect the others."""
    run_settings.draw(config, items, lambda item: _SHARE)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    run_settings.say_what_was_drawn(terminalreporter, "test")
