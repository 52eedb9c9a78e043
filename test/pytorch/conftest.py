# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of the tests with torch."""

from __future__ import annotations

import os

import example_counts
import pytest
import run_settings
from run_settings import interruptions, own_cache  # noqa: F401  # fixtures of all tests

# As many processes run tests as there are CPUs.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of slow tests those run that are drawn."""
    slow = {item.nodeid for item in items if item.get_closest_marker("slow")}
    run_settings.leave_out(config, items, {name for name in slow if not example_counts.is_drawn(name)})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    run_settings.say_what_was_drawn(terminalreporter, "test-torch", "test-torch DRAW=")
