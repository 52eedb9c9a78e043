# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes: groups, parts, and texts."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir as rx
from relax_mlir_shard.launch import join_parts, part_of_rank
from relax_mlir_shard.mesh import Mesh, parse, sharding_of_spec, show

MESH = Mesh.from_sizes({"dp": 2, "ep": 3, "tp": 2})


def test_groups_differ_along_their_axes_only() -> None:
    assert Mesh.from_sizes({"dp": 2, "tp": 3}).groups(["tp"]) == ((0, 1, 2), (3, 4, 5))
    assert Mesh.from_sizes({"dp": 2, "tp": 3}).groups(["dp"]) == ((0, 3), (1, 4), (2, 5))
    assert Mesh.from_sizes({"dp": 2, "tp": 2}).groups(["tp", "dp"]) == ((0, 2, 1, 3),)


@pytest.mark.parametrize("axes", [["dp"], ["ep"], ["tp", "dp"], ["ep", "dp", "tp"]])
def test_members_of_a_group_are_in_the_order_of_their_parts(axes: list[str]) -> None:
    for group in MESH.groups(axes):
        assert [MESH.part(rank, axes) for rank in group] == list(range(MESH.count(axes)))


@pytest.mark.parametrize("text", ["()", "(dp, _, tp+ep)", "(_)"])
def test_texts_are_read_back(text: str) -> None:
    assert show(parse(text)) == text
    assert str(Mesh.parse("dp=2,tp=4")) == "dp=2,tp=4"


@pytest.mark.parametrize("size", range(1, 18))
@pytest.mark.parametrize("axes", [("ep",), ("tp", "dp"), ("dp", "ep", "tp")])
def test_parts_are_joined_to_the_whole(size: int, axes: tuple[str, ...]) -> None:
    """Divide sizes that have no equal parts, and sizes below the number of ranks."""
    x = numpy.arange(2 * size).reshape(2, size)
    sharding = ((), axes)
    parts = [part_of_rank(x, sharding, MESH, rank) for rank in range(MESH.size)]
    assert len({part.shape for part in parts}) == 1
    numpy.testing.assert_array_equal(join_parts(parts, sharding, MESH, (2, size)), x)


@pytest.mark.parametrize(
    ("sizes", "problem"),
    [({"2x": 2}, "an axis has a name such as 'dp', got '2x'"), ({"dp": 0}, "axis 'dp' needs a number of ranks")],
)
def test_a_mesh_has_names_and_numbers(sizes: dict[str, int], problem: str) -> None:
    with pytest.raises(rx.OptionError, match=problem):
        Mesh.from_sizes(sizes)


@pytest.mark.parametrize(
    ("text", "problem"), [("dp", "write axes and sizes as dp=2,tp=4"), ("dp=2,dp=4", "axis 'dp' occurs twice")]
)
def test_texts_of_meshes_are_checked(text: str, problem: str) -> None:
    with pytest.raises(rx.OptionError, match=problem):
        Mesh.parse(text)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (("dp", "dp"), "axis 'dp' divides a tensor once, and it is used twice"),
        (("dpp",), r"has no axis 'dpp'; did you mean 'dp'\?"),
        ("dp", "a spec has an axis, a list of axes or None for each dimension, got 'dp'"),
        ((3,), "a dimension has an axis, a list of axes or None, got 3"),
    ],
)
def test_specs_are_checked(spec: object, problem: str) -> None:
    with pytest.raises(rx.OptionError, match=problem):
        MESH.check(sharding_of_spec(spec, "specs['x']"), "specs['x']")
