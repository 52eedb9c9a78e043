# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of the tests with jax."""

from __future__ import annotations

import os

import example_counts
import pytest
import run_settings
from run_settings import interruptions, no_whole_programs, own_cache, whole_programs  # noqa: F401  # fixtures of all tests

# Tests use other platforms in processes of their own. The number of test processes is the number of CPUs.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

#: Of a test that trains or runs whole models, each compiled several times, how many models run.
_MODELS = {"test_jax_models.py": 3, "test_platform.py": 1}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    models = {
        item.nodeid: _MODELS[item.path.name] for item in items if "::test_a_model_agrees_with_jax[" in item.nodeid
    }
    run_settings.leave_out(config, items, set(models) - example_counts.drawn(models))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    run_settings.say_what_was_drawn(terminalreporter, "jax")
