# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of all Python tests."""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import example_counts
import numpy
import pytest
import run_settings
from hypothesis import settings
from run_settings import interruptions, no_whole_programs, own_cache, whole_programs  # noqa: F401  # fixtures of all tests

# As many processes run tests as there are CPUs: threads of matrix products would wait for each other, and not idly.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# No test depends on how busy the machine is: what an example may take, on a clock, is not its concern.
settings.register_profile("relax_mlir", max_examples=example_counts.some(100), deadline=None)
settings.load_profile("relax_mlir")

# Folders in which nearly every test compiles a program or starts a process, and the share of their tests that runs.
_COSTLY = {
    "targets": 1 / 8,
    "frontends": 1 / 8,
    "passes": 1 / 12,
    "runtime": 1 / 3,
    "testing": 1 / 3,
    "tools": 1 / 5,
    "": 1 / 5,
}
# Folders whose tests compile programs and do not depend on LLVM's optimization.
_UNOPTIMIZED = frozenset({"targets", "frontends", "passes", "runtime", "testing"})


@functools.cache
def _room(path: Path) -> str:
    """The folder of this one in which a file is; "" for the file of this one."""
    return "/".join(path.relative_to(Path(__file__).parent).parts[:-1][:1])


#: Modules' generators of random numbers as they were when the module was imported, by module and name.
_states: dict[tuple[str, str], Any] = {}


def _draw_again(item: pytest.Item) -> None:
    """What a module's generator gives to a test does not depend on the tests that ran before."""
    module = getattr(item, "module", None)
    for name, value in vars(module).items() if module else ():
        if isinstance(value, numpy.random.Generator):
            bits = value.bit_generator
            bits.state = _states.setdefault((item.module.__name__, name), bits.state)


def pytest_runtest_setup(item: pytest.Item) -> None:
    _draw_again(item)
    run_settings.optimize(_room(item.path) not in _UNOPTIMIZED or example_counts.is_optimized(item.nodeid))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    run_settings.say_what_was_drawn(terminalreporter, "test", "test-all")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not drawn."""
    slow = {item.nodeid for item in items if item.get_closest_marker("slow")}
    costly = {item.nodeid: _COSTLY[_room(item.path)] for item in items if _room(item.path) in _COSTLY}
    left_out = {*costly, *slow} - example_counts.drawn({test: costly[test] for test in costly if test not in slow})
    left_out -= {test for test in slow if example_counts.is_drawn(test)}
    run_settings.leave_out(config, items, left_out)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking what collection made: 700,000 objects, half a second each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """An oracle that does not know what it is asked for is none."""
    try:
        return (yield)
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime."):
            raise
        from onnx_oracle import is_old_refusal, onnxruntime

        if not is_old_refusal(error):
            raise
        pytest.skip(f"onnxruntime {onnxruntime.__version__}, the newest that this Python has, refuses it: {error}")
