# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-fuse-ops: groups of calls, and changes that passes may make before tir-fuse builds the kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import blocks
import numpy
import pytest
from before_after import functions_by_name, keeps_results, random_arrays
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.dialects.core.ir_attributes import GROUP, OP_PATTERN
from relax_mlir.passes.graph.fuse.fusion_group import Member
from relax_mlir.runtime import to_numpy

import relax_mlir as rx
from relax_mlir import relax

FUSE = "relax-fuse-ops{epilogues=true},tir-fuse"


def calls(module: rx.Module) -> list[Any]:
    return [op for op in operations_in(module.operation) if op.name == "relax.call_tir"]


def group_of(call: Any) -> int | None:
    return call.attributes[GROUP].value if GROUP in call.attributes else None


def built(inputs: Any, body: Any) -> rx.Module:
    module = rx.Module()
    with module.function("main", inputs) as f:
        f.returns(body(*f))
    return module


def kernels(inputs: Any, body: Any) -> list[str]:
    """Return the kernels of a function after comparing its results with those without fusion."""
    module = built(inputs, body)
    without = rx.stages().drop("fuse")
    arrays = random_arrays(module)
    fused, plain = (to_numpy(rx.compile(module, pipeline=each)["main"](*arrays)) for each in (None, without))
    numpy.testing.assert_allclose(fused, plain, rtol=1e-5, atol=1e-5)
    rx.Pipeline(f"relax-legalize-ops,{FUSE}").run(module)
    return [call.opview.func for call in calls(module)]


# ---- operands of products ----


def head(x: Any, index: int, count: int = 4) -> Any:
    return relax.strided_slice(x, axes=[2], begin=[index * count], end=[index * count + count])


def test_products_read_slices_and_permuted_tensors_where_they_lie() -> None:
    def body(x: Any) -> Any:
        query, value = (relax.permute_dims(head(x, index), axes=(0, 2, 1, 3)) for index in (0, 2))
        key = relax.permute_dims(head(x, 1), axes=(0, 2, 3, 1))
        return relax.matmul(relax.matmul(query, key), value)

    # The key is turned: its elements lie in another order, which vectors want.
    assert kernels([rx.tensor((1, 6, 12, 8))], body) == [
        "fused_strided_slice_permute_dims",
        "fused_strided_slice_permute_dims_matmul",
        "fused_strided_slice_permute_dims_matmul_1",
    ]


def test_a_turned_operand_is_made_before_the_product() -> None:
    square = [rx.tensor((6, 6)), rx.tensor((6, 6))]
    assert kernels(square, lambda x, y: relax.matmul(x, relax.permute_dims(y))) == ["permute_dims", "matmul"]


def test_every_other_element_is_no_row() -> None:
    def body(x: Any, y: Any) -> Any:
        return relax.matmul(relax.strided_slice(x, axes=[1], begin=[0], end=[12], strides=[2]), y)

    assert kernels([rx.tensor((6, 12)), rx.tensor((6, 6))], body) == ["strided_slice", "matmul"]


def test_producers_are_not_fused_into_products() -> None:
    square = [rx.tensor((6, 6)), rx.tensor((6, 6))]
    assert kernels(square, lambda x, y: relax.matmul(relax.exp(x), y)) == ["exp", "matmul"]


def test_a_tensor_of_one_number_is_nothing_that_moves() -> None:
    def body(x: Any) -> Any:
        return relax.matmul(relax.add(x, x), relax.ones((6, 6), dtype="float32"))

    assert kernels([rx.tensor((6, 6))], body) == ["add", "ones", "matmul"]


@pytest.mark.parametrize(("rows", "expected"), [(64, 1), (256, 2), ("n", 2)])
def test_much_is_laid_together_for_a_product(rows: Any, expected: int) -> None:
    def body(x: Any, y: Any) -> Any:
        return relax.matmul(relax.strided_slice(x, axes=[1], begin=[0], end=[1024]), y)

    assert len(kernels([rx.tensor((rows, 2048)), rx.tensor((1024, 4))], body)) == expected


@pytest.mark.parametrize(("batch", "axis", "expected"), [("n", 1, 1), (64, 1, 1), ("n", 2, 2), (64, 2, 2)])
def test_whole_rows_are_read_where_they_lie(batch: Any, axis: int, expected: int) -> None:
    """Read whole rows in place: a split along the last axis would increase their distance."""
    shape = [batch, 128, 128]
    shape[axis] = 256

    def body(x: Any, y: Any) -> Any:
        rows = relax.strided_slice(x, axes=[axis], begin=[0], end=[128])
        return relax.einsum([y, rows], subscripts="bik,bjk->bij")

    assert len(kernels([rx.tensor(shape), rx.tensor((batch, 2, 128))], body)) == expected


@draws(20, deadline=None)
@given(st.one_of(blocks.images(), blocks.sequences()))
def test_random_graphs(module: rx.Module) -> None:
    without = rx.stages().drop("fuse")
    arrays = random_arrays(module)
    fused, plain = (rx.compile(module, pipeline=each, opt_level=0)["main"](*arrays) for each in (None, without))
    is_one = len(functions_by_name(module)["main"].attributes["function_type"].value.results) == 1
    for one, other in zip([fused] if is_one else fused, [plain] if is_one else plain, strict=True):
        numpy.testing.assert_allclose(to_numpy(one), to_numpy(other), rtol=1e-4, atol=1e-4)


@draws(15, deadline=None)
@given(st.one_of(blocks.images(), blocks.sequences()), st.sampled_from(["{}", "func.func({})"]))
def test_random_graphs_without_stated_fusion(module: rx.Module, anchor: str) -> None:
    def change(module: rx.Module) -> None:
        rx.Pipeline("relax-legalize-ops").run(module)
        for function in functions_by_name(module).values():
            if OP_PATTERN in function.attributes:
                del function.attributes[OP_PATTERN]
        passes = [anchor.format(each) for each in ("relax-annotate-op-pattern", "relax-fuse-ops{epilogues=true}")]
        rx.Pipeline([*passes, "tir-fuse"]).run(module)

    keeps_results(module, change)


# ---- passes between relax-fuse-ops and tir-fuse ----


def chain(x: Any) -> Any:
    for _ in range(4):
        x = relax.abs(x)
    return x


def test_groups_can_be_cut() -> None:
    def cut(module: Any) -> None:
        """Make a separate group of the last two calls."""
        for call in calls(module)[2:]:
            assert group_of(call) == 0
            call.attributes[GROUP] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)

    module = built([rx.tensor((4,))], chain)
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    with module.context:
        cut(module)
    fused = keeps_results(module, "tir-fuse")
    assert [call.opview.func for call in calls(fused)] == ["fused_abs_abs", "fused_abs_abs"]


def test_groups_can_be_taken_back() -> None:
    module = built([rx.tensor((4,))], chain)
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    for call in calls(module)[:2]:
        del call.attributes[GROUP]
    fused = keeps_results(module, "tir-fuse")
    assert [call.opview.func for call in calls(fused)] == ["abs", "abs", "fused_abs_abs"]


def test_groups_of_ones_own() -> None:
    """Fuse groups that a user requests, even if fusion costs more than it saves."""
    module = built([rx.tensor((4, 4))], lambda x: relax.exp(relax.exp(x)))
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    assert [group_of(call) for call in calls(module)] == [None, None]
    with module.context:
        for call in calls(module):
            call.attributes[GROUP] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 7)
    fused = keeps_results(module, "tir-fuse")
    assert [call.opview.func for call in calls(fused)] == ["fused_exp_exp"]


def test_a_constant_precedes_all_groups_with_its_users() -> None:
    """Move the constant that both groups read before the first calls of the groups."""

    module = rx.Module()
    with module.function("main", [rx.tensor((4,)), rx.tensor((4,))]) as f:
        first, second = map(relax.abs, f)
        read_early = relax.exp(first), relax.exp(second)
        numbers = relax.const(numpy.array([1.5, -2.0, 0.5, 3.0], "float32"))
        f.returns(*read_early, relax.multiply(first, numbers), relax.multiply(second, numbers))
    rx.Pipeline("relax-legalize-ops").run(module)
    with module.context:
        for place, group in ((0, 0), (4, 0), (1, 1), (5, 1)):
            calls(module)[place].attributes[GROUP] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), group)
    fused = keeps_results(module, "tir-fuse")
    assert [call.opview.func for call in calls(fused)] == ["fused_abs_multiply", "fused_abs_multiply", "exp", "exp"]


def test_a_refused_group_leaves_the_module() -> None:
    module = built([rx.tensor((4, 4))], lambda x: relax.abs(relax.abs(relax.nn.softmax(relax.abs(x)))))
    rx.Pipeline("relax-legalize-ops,relax-fuse-ops").run(module)
    with module.context:
        for call in calls(module)[:2]:
            call.attributes[GROUP] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 7)
    before = str(module)
    with pytest.raises(rx.RelaxError, match="group 7 cannot become one kernel: @nn_softmax cannot be analysed"):
        rx.Pipeline("tir-fuse").run(module)
    assert str(module) == before


def test_one_number_that_a_product_reads_has_no_rows() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(()), rx.tensor((3, 4))]) as f:
        x, w = f
        f.returns(relax.matmul(relax.tile(x, [2, 3]), w))
    given = numpy.full((), 2, "float32"), numpy.ones((3, 4), "float32")
    numpy.testing.assert_array_equal(rx.compile(module)["main"](*given), numpy.full((2, 4), 6))


def test_a_result_is_placed_by_the_members_own_loops() -> None:
    """From the group's loops to the member's, and from these to its result: permutations that do not commute."""
    with ir.Context():
        turned = ir.AffineMap.get_permutation([1, 2, 0])
        swapped = ir.AffineMap.get_permutation([1, 0, 2])
        info: Any = SimpleNamespace(out_map=turned, pointwise=True, reads=[SimpleNamespace(maps=[turned])])
        member = Member(None, info, 0, swapped, None)
        assert member.result_map == ir.AffineMap.get_permutation([0, 2, 1])
        assert member.read_maps(0) == [member.result_map]
