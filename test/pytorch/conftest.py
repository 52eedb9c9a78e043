# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of the tests with torch."""

from __future__ import annotations

import os

import example_counts
import pytest
import run_settings
from run_settings import interruptions, no_whole_programs, own_cache, whole_programs  # noqa: F401  # fixtures of all tests

# As many processes run tests as there are CPUs.
os.environ.setdefault("OMP_NUM_THREADS", "1")


#: Of an operator's tests, each of which compiles several programs, the share that runs.
_OPERATORS = 1 / 4


def pytest_configure(config: pytest.Config) -> None:
    """Make a node that torch.compile runs in eager mode an error, unless a test asks for it."""
    config.addinivalue_line("filterwarnings", r"error:torch\.compile\(backend='relax_mlir'\):UserWarning")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect slow tests and tests of operators that are not drawn."""
    slow = {item.nodeid for item in items if item.get_closest_marker("slow")}
    costly = {
        item.nodeid: _OPERATORS for item in items if item.path.parent.name == "operators" and item.nodeid not in slow
    }
    left_out = {*costly, *slow} - example_counts.drawn(costly)
    left_out -= {name for name in slow if example_counts.is_drawn(name)}
    run_settings.leave_out(config, items, left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    run_settings.say_what_was_drawn(terminalreporter, "torch")
