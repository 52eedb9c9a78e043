# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts of fusion about a PrimFunc: one that fusion may split, and variants with a single reason against it."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.facts import OpPattern
from relax_mlir.passes.graph.fuse.prim_info import prim_info

T, ROW = "tensor<4x?xf32>", "tensor<4xf32>"
SAME, TURNED = "affine_map<(d0, d1) -> (d0, d1)>", "affine_map<(d0, d1) -> (d1, d0)>"
ADD = "%s = arith.addf %a, %b : f32\n linalg.yield %s : f32"


class Body(NamedTuple):
    """PrimFunc of two inputs and an output, with one operation as its body."""

    scalar: str = ADD
    maps: tuple[str, str, str] = (SAME, SAME, SAME)
    iterators: str = '"parallel", "parallel"'
    before: str = ""
    attributes: str = 'tir.prim_func, tir.op_pattern = "elemwise"'
    returned: str = "%r"
    inputs: str = "%x, %y"
    #: Of the operation itself.
    attribute: str = ""

    def text(self) -> str:
        return f"""
func.func @k(%x: {T}, %y: {T}, %out: {T}) -> {T} attributes {{{self.attributes}}} {{
  {self.before}
  %r = linalg.generic {{indexing_maps = [{", ".join(self.maps)}], iterator_types = [{self.iterators}]}}
    ins({self.inputs} : {T}, {T}) outs(%out : {T}) {self.attribute} {{
  ^bb0(%a: f32, %b: f32, %c: f32):
    {self.scalar}
  }} -> {T}
  return {self.returned} : {T}
}}"""


class Known(NamedTuple):
    """Facts about a PrimFunc: pointwise outputs, positions of reads, required sizes, cost."""

    pointwise: int | None = 0
    reads: tuple[int, ...] = (0, 1)
    asked: tuple[tuple[int, int], ...] = ()
    is_cheap: bool = True
    is_heavy: bool = False


def known(text: str) -> Known | None:
    with create_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        info = prim_info(module.body.operations[0].operation)
        if info is None:
            return None
        assert info.name == "k" and info.input_count == len(info.parameters) - len(info.outputs)
        assert (info.out_map is None) == (info.pointwise is None)
        return Known(info.pointwise, tuple(sorted(info.reads)), info.asked, info.is_cheap, info.is_heavy)


CLOSED = Known(None, is_cheap=False)
HALF = "%h = arith.constant 5.0e-01 : f32\n "


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (Body(), Known()),
        (Body(maps=(TURNED, SAME, SAME)), Known()),
        (Body(maps=(SAME, SAME, TURNED)), Known()),
        # The output is read, or not written by this operation at each of its points once.
        (Body(scalar=ADD.replace("%b", "%c")), CLOSED),
        (Body(iterators='"parallel", "reduction"', scalar=ADD.replace("%b", "%c")), CLOSED),
        (Body(returned="%x"), CLOSED._replace(reads=(1,))),
        (Body(returned="%out"), CLOSED),
        (Body(before=f"{HALF} %z = linalg.fill ins(%h : f32) outs(%out : {T}) -> {T}"), CLOSED),
        # Sizes may be asked for, by a constant axis.
        (Body(before=f"%i = arith.constant 1 : index\n %n = tensor.dim %x, %i : {T}"), Known(2, asked=((0, 1),))),
        (Body(before=f"%i = arith.constant 1 : index\n %n = tensor.dim %out, %i : {T}"), Known(2, asked=((2, 1),))),
        (Body(before="%i = arith.constant 1 : index\n %j = arith.addi %i, %i : index\n"
                     f"%n = tensor.dim %y, %j : {T}"), Known(3, reads=(0,))),
        # A single element is read besides.
        (Body(before=f"%i = arith.constant 1 : index\n %n = tensor.extract %x[%i, %i] : {T}"), Known(2, reads=(1,))),
        # Cost of the body.
        (Body(scalar=f"%t = arith.mulf %a, %b : f32\n {ADD.replace('%a', '%t')}"), Known()),
        (Body(scalar=f"%t = arith.mulf %a, %b : f32\n %u = arith.mulf %t, %b : f32\n {ADD.replace('%a', '%u')}"),
         Known(is_cheap=False)),
        (Body(scalar=f"{HALF} %t = arith.mulf %a, %h : f32\n {ADD.replace('%a', '%t')}"), Known()),
        (Body(scalar="%s = arith.divf %a, %b : f32\n linalg.yield %s : f32"), Known(is_cheap=False)),
        (Body(scalar='%s = "tir.exp"(%a) : (f32) -> f32\n linalg.yield %s : f32'),
         Known(is_cheap=False, is_heavy=True)),
        (Body(scalar='%s = "tir.sqrt"(%a) : (f32) -> f32\n linalg.yield %s : f32'), Known(is_cheap=False)),
        # Nothing that it could look into.
        (Body(attributes='tir.prim_func, tir.op_pattern = "opaque"'), None),
        (Body(attributes="tir.prim_func"), None),
        (Body(attributes='tir.op_pattern = "elemwise"'), None),
        (Body(attributes='tir.prim_func, tir.op_pattern = "elemwise", mine.wish'), None),
        (Body(attributes='tir.prim_func, tir.op_pattern = "injective"'), Known()),
        (Body(attributes='tir.prim_func, tir.op_pattern = "comm_reduce"'), CLOSED),
        (Body(before='%ok = arith.constant true\n "tir.assert"(%ok) {kind = "E", message = "no"} : (i1) -> ()'),
         None),
        (Body(attribute="attrs = {mine.wish}"), Known(None, reads=(), is_cheap=False)),
    ],
)  # fmt: skip
def test_the_summary_of_a_body_is_exact(body: Body, expected: Known | None) -> None:
    assert known(body.text()) == expected


def test_the_summary_has_access_maps_and_loop_sizes() -> None:
    with create_context(), ir.Location.unknown():
        module = ir.Module.parse(Body(maps=(TURNED, SAME, SAME)).text().replace("4x?", "4x4"))
        info = prim_info(module.body.operations[0].operation)
        assert info is not None and info.pattern == OpPattern.ELEMWISE and info.target == ""
        assert [str(info.reads[place].maps[0]) for place in (0, 1)] == ["(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0, d1)"]
        assert info.sizes == {0: (4, 4)} and info.reads[0].generic == 0
        module = ir.Module.parse(Body(inputs="%x, %x").text())
        info = prim_info(module.body.operations[0].operation)
        assert info is not None and len(info.reads[0].maps) == 2 and info.sizes == {0: (4, None)}


def test_two_operations_that_read_one_parameter() -> None:
    """Refuse to inline a producer into a parameter that is read at two places."""
    twice = f"""
    %e = tensor.empty(%n) : {T}
    %m = linalg.generic {{indexing_maps = [{SAME}, {SAME}], iterator_types = ["parallel", "parallel"]}}
      ins(%x : {T}) outs(%e : {T}) {{
    ^bb0(%a: f32, %c: f32):
      linalg.yield %a : f32
    }} -> {T}"""
    before = f"%i = arith.constant 1 : index\n %n = tensor.dim %x, %i : {T}\n {twice}"
    assert known(Body(before=before, inputs="%x, %m").text()) == Known(None, (), ((0, 1),), is_cheap=False)
    assert known(Body(before=before, inputs="%y, %m").text()) == Known(None, (0, 1), ((0, 1),), is_cheap=False)
