# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Large constants of several functions: equal ones are in the program once."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax


@pytest.mark.parametrize("difference", [0, 1], ids=["equal", "different"])
@pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
def test_functions_share_equal_constants(difference: int, place: int, tmp_path: Path) -> None:
    """Add arrays that differ in no element, or in one element far behind the first bytes or among them."""
    first = numpy.arange(300_000, dtype="float32")
    second = first.copy()
    second[place] += difference
    module = rx.Module()
    for name, weights in (("one", first), ("two", second)):
        with module.function(name, [rx.tensor((300_000,))]) as f:
            (x,) = f
            f.returns(relax.add(x, relax.const(weights)))
    compiled = rx.compile(module)
    compiled.save(tmp_path / "out.rxa")
    copies = (tmp_path / "out.rxa").stat().st_size / first.nbytes
    assert (copies > 2) if difference else (copies < 1.2)
    x = numpy.ones(300_000, "float32")
    for name, weights in (("one", first), ("two", second)):
        numpy.testing.assert_array_equal(to_numpy(compiled[name](x)), x + weights)
