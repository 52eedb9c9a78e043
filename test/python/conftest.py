# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Settings of all Python tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled code is kept in a folder of this run: nothing stale helps, and the user's folder stays as it is."""
    before = os.environ.get("RELAX_MLIR_CACHE")
    os.environ["RELAX_MLIR_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    del os.environ["RELAX_MLIR_CACHE"]
    if before is not None:
        os.environ["RELAX_MLIR_CACHE"] = before
