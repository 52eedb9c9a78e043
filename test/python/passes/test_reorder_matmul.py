# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-reorder-matmul: other orders give the same results up to rounding, and never cost more.

Situations of Apache TVM's test_transform_adjust_matmul_order.py.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy
from before_after import changed, keeps_results, op_names
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.symbols import dim_add, equal
from relax_mlir.dialects.relax.infer.sizes import at_least

import relax_mlir as rx
from relax_mlir import relax

PASS = "relax-reorder-matmul"


def built(shapes: Any, body: Any, dtype: str = "float32") -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape, dtype) for shape in shapes]) as f:
        f.returns(body(*f))
    return module


def flops(module: rx.Module) -> Any:
    total: Any = 0
    for op in operations_in(module.operation):
        if op.name == "relax.matmul":
            total = dim_add(total, rx.work_of(op.opview).flops)
    return total


def least(sizes: list[int], start: int, end: int, known: dict[tuple[int, int], int]) -> int:
    """Return the minimal number of multiplications of a chain."""
    if end - start < 2:
        return 0
    if (start, end) not in known:
        known[start, end] = min(
            least(sizes, start, cut, known) + least(sizes, cut, end, known) + sizes[start] * sizes[cut] * sizes[end]
            for cut in range(start + 1, end)
        )
    return known[start, end]


@draws(30)
@given(st.data(), st.lists(st.sampled_from([1, 2, 5, 9]), min_size=4, max_size=6))
def test_chains(data: Any, sizes: list[int]) -> None:
    """Reorder chains in any order of the factors. For three factors the order is optimal."""

    def product(factors: list[Any]) -> Any:
        if len(factors) == 1:
            return factors[0]
        cut = data.draw(st.integers(1, len(factors) - 1))
        return relax.matmul(product(factors[:cut]), product(factors[cut:]))

    shapes = [*itertools.pairwise(sizes)]
    module = built(shapes, lambda *factors: product(list(factors)))
    after = keeps_results(module, PASS, tolerance=1e-3)
    assert flops(after) <= flops(module)
    if len(sizes) == 4:
        assert flops(after) == 2 * least(sizes, 0, 3, {})


@draws(30)
@given(st.data())
def test_batches_vectors_and_symbols(data: Any) -> None:
    size = st.sampled_from([1, 3, 8, "n", "m"])
    inner = [data.draw(size) for _ in range(4)]
    batches = [data.draw(st.sampled_from([(), (2,), (1,), (3, 1)])) for _ in range(3)]
    shapes: list[Any] = [(*batch, *pair) for batch, pair in zip(batches, itertools.pairwise(inner), strict=True)]
    if data.draw(st.booleans()):
        place = data.draw(st.sampled_from([0, 2]))
        shapes[place] = (inner[1],) if place == 0 else (inner[2],)
    is_left = data.draw(st.booleans())

    def body(a: Any, b: Any, c: Any) -> Any:
        return relax.matmul(relax.matmul(a, b), c) if is_left else relax.matmul(a, relax.matmul(b, c))

    known = {"n": 6, "m": 2}
    a, b, c = (numpy.ones([known.get(size, size) for size in shape]) for shape in shapes)
    try:
        (a @ b) @ c if is_left else a @ (b @ c)
    except ValueError:
        return  # a vector in such a place is a matrix's row, or nothing that can be multiplied
    module = built(shapes, body)
    after = keeps_results(module, PASS, sizes=known, tolerance=1e-3)
    before, now = flops(module), flops(after)
    assert equal(before, now) is True or at_least(before, now)


def test_integers_wrap_around_in_any_order() -> None:
    shapes = [("n", 8), (8, 2), (2, 8)]
    module = built(shapes, lambda x, a, b: relax.matmul(x, relax.matmul(a, b)), "int8")
    keeps_results(module, PASS, tolerance=0)
    assert flops(changed(module, PASS)) != flops(module)


def test_what_is_used_elsewhere_is_computed_anyway() -> None:
    """Reorder only if two products cost less than one, since the shared product is computed anyway."""
    module = rx.Module()
    with module.function("main", [rx.tensor((64, 8)), rx.tensor((8, 64)), rx.tensor((64, 1))]) as f:
        a, b, x = f
        w = relax.matmul(a, b)
        f.returns(w, relax.matmul(w, x))
    after = keeps_results(module, PASS, tolerance=1e-3)
    assert op_names(after).count("relax.matmul") == 3
    with module.function("other", [rx.tensor((64, 60)), rx.tensor((60, 64)), rx.tensor((64, 1))]) as f:
        a, b, x = f
        w = relax.matmul(a, b)
        f.returns(w, relax.matmul(w, x))
    assert op_names(changed(module, PASS)).count("relax.matmul") == 5


def test_a_factor_that_is_the_product_itself() -> None:
    """Keep (A @ B) @ (A @ B), which reads its inner product twice, in any order."""
    for rank, products in ((3, ["matmul", "matmul"]), (1, ["matmul", "matmul", "matmul"])):
        module = built([(8, rank * 2), (rank * 2, 8)], lambda a, b: relax.matmul(*[relax.matmul(a, b)] * 2))
        after = keeps_results(module, PASS, tolerance=1e-3)
        assert op_names(after) == [f"relax.{name}" for name in products]
