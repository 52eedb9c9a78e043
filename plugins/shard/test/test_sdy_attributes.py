# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of Shardy's attributes."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir_shard.mesh import Mesh
from relax_mlir_shard.sdy_attributes import parse_axes, parse_mesh, parse_sharding, parse_shardings

MESHES = {"mesh": Mesh.from_sizes({"x": 2, "y": 4}), "a-b": Mesh.from_sizes({"x": 8})}


def test_meshes() -> None:
    assert parse_mesh('#sdy.mesh<["x"=2, "y"=4]>') == MESHES["mesh"]
    assert parse_mesh('<["x"=2], device_ids=[0, 1]>') == Mesh.from_sizes({"x": 2})
    with pytest.raises(rx.OptionError, match="ranks are in the order of the mesh, and its devices are not"):
        parse_mesh('<["x"=2], device_ids=[1, 0]>')


@pytest.mark.parametrize(
    ("text", "sharding"),
    [
        ("#sdy.sharding<@mesh, []>", ()),
        ('#sdy.sharding<@mesh, [{"x"}, {}]>', (("x",), ())),
        ('<@mesh, [{"y", "x", ?}p1, {?}], replicated={}>', (("y", "x"), ())),
        ('<@"a-b", [{"x"}p0], replicated={"x"}>', (("x",),)),
        ('#sdy.sharding<mesh<["x"=3]>, [{}, {"x"}]>', ((), ("x",))),
    ],
)
def test_shardings(text: str, sharding: Any) -> None:
    assert parse_sharding(text, MESHES).sharding == sharding


def test_lists_of_shardings() -> None:
    text = '#sdy.sharding_per_value<[<@mesh, [{"x", "y"}, {}]>, <@mesh, []>]>'
    assert [one.sharding for one in parse_shardings(text, MESHES)] == [(("x", "y"), ()), ()]
    assert parse_shardings(text, MESHES)[0].restrict(parse_axes('#sdy<manual_axes{"y"}>')) == (("y",), ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<@other, [{}]>", "the module has no sdy.mesh @other"),
        ('<@mesh, [{"z"}]>', "has no axis 'z'"),
        ('<@mesh, [{"x"}, {"x"}]>', "axis 'x' divides a tensor once, and it is used twice"),
        ('<@mesh, [{"y":(1)2}]>', "a part of axis 'y' divides it, expected a whole axis"),
        ('<@mesh, [{}], unreduced={"x"}>', "partial sums"),
        ("[]", "expected one sharding"),
    ],
)
def test_other_shardings_are_refused(text: str, problem: str) -> None:
    with pytest.raises(rx.OptionError, match=problem):
        parse_sharding(text, MESHES)
