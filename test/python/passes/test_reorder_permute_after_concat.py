# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-reorder-permute-after-concat: elements keep their places.

Situations of Apache TVM's test_transform_reorder_permute_dims_after_concat.py.
"""

from __future__ import annotations

from typing import Any

from before_after import changed, keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st

import relax_mlir as rx
from relax_mlir import relax

PASS = "relax-reorder-permute-after-concat"


@draws(30)
@given(st.data(), st.integers(1, 4), st.integers(2, 4), st.sampled_from(["float32", "int8", "bool"]))
def test_any_permutation(data: Any, rank: int, count: int, dtype: str) -> None:
    order, axis = data.draw(st.permutations(range(rank))), data.draw(st.integers(-rank, rank - 1))
    common = [data.draw(st.sampled_from([1, 2, "m"])) for _ in range(rank)]
    joined = order[axis]
    shapes = []
    for _ in range(count):
        own = data.draw(st.sampled_from([0, 1, 3, "n"]))
        shapes.append([own if place == joined else size for place, size in enumerate(common)])
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(relax.concat([relax.permute_dims(x, axes=order) for x in f], axis=axis))
    after = keeps_results(module, PASS, sizes={"n": 2, "m": 3}, tolerance=0)
    assert op_names(after) == ["relax.concat", "relax.permute_dims"]


def test_one_tensor_twice_and_unknown_ranks() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((2, 3))]) as f:
        turned = relax.permute_dims(*f)
        f.returns(relax.concat([turned, turned]))
    assert op_names(keeps_results(module, PASS, tolerance=0)) == ["relax.concat", "relax.permute_dims"]
    unknown = rx.Module()
    with unknown.function("main", [rx.tensor(None), rx.tensor(None)]) as f:
        f.returns(relax.concat([relax.permute_dims(x) for x in f]))
    assert op_names(changed(unknown, PASS)) == op_names(unknown)
