# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of all Python tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

# As many processes run tests as there are CPUs: threads of matrix products would wait for each other, and not idly.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# No test depends on how busy the machine is: what an example may take, on a clock, is nobody's business.
settings.register_profile("relax_mlir", deadline=None)
settings.load_profile("relax_mlir")


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
def interruptions() -> None:
    """What is started in the background ignores SIGINT and hands that on; tests of interruptions need it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
