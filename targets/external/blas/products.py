# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The products that a BLAS can compute, and what may follow them, as structures of PrimFuncs.

A product is written as einsum has it, "bmk,nk->bmn": m and n are rows and columns of the result, k is summed, b and c
are batches. "1" is an axis of size 1, which is read for all of a batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ....passes.structures.structure import Later, Structure, structures

ELEMENTS = ("f32", "f64")
_LETTERS = "bcmnk"
_RANKS = (1, 2, 3, 4)
# Of the other operand, where one has all axes of the batches.
_BATCHES = {"": [""], "b": ["b", "1", ""], "bc": ["bc", "b1", "1c", "11", "c", "1", ""]}
#: As attention has them whose heads are between rows and columns.
_WITH_HEADS_INSIDE = ("bmck,bnck->bcmn", "bcmk,bkcn->bmcn", "bmck,bkcn->bmcn", "bmck,bnck->bmcn", "bcmk,bcnk->bmcn")


class _Stated(NamedTuple):
    """A structure before it is read: the labels of its operands' axes and of the result's, and what it does."""

    name: str
    element: str
    labels: tuple[str, ...]
    body: str

    @property
    def types(self) -> list[str]:
        """As signatures have them."""
        return [f"{self.element}x{len(labels)}" for labels in self.labels]

    @property
    def text(self) -> str:
        *inputs, result = (_type(labels, self.element) for labels in self.labels)
        parameters = "".join(f"%{letter}: {type_}, " for letter, type_ in zip("ab", inputs, strict=False))
        return f"""func.func @{self.name}({parameters}%out: {result}) -> {result} attributes {{tir.prim_func}} {{
      {self.body}
      return %1 : {result}
    }}"""


def specs() -> list[str]:
    """Every product."""
    found = ["k,k->", "k,kn->n", "k,nk->n", *_WITH_HEADS_INSIDE]
    for batch, others in _BATCHES.items():
        for one, other in [*((batch, each) for each in others), *((each, batch) for each in others[1:])]:
            found += [f"{one}{a},{other}{b}->{batch}mn" for a in ("mk", "km") for b in ("kn", "nk")]
    return found


def products() -> list[Structure]:
    """A structure for each product and element type; its name is the product's."""
    return _structures(_product(spec, number, element) for element in ELEMENTS for number, spec in enumerate(specs()))


def spec_of(product: Structure) -> tuple[str, str]:
    """What a structure of `products` stands for, and its elements."""
    _, element, number = product.name.split("_")
    return specs()[int(number)], element


def biases() -> list[Structure]:
    """A vector added to the rows of a tensor."""
    return _structures(_added(rank, element) for element in ELEMENTS for rank in _RANKS[1:])


def relus() -> list[Structure]:
    return _structures(_relu(rank, element) for element in ELEMENTS for rank in _RANKS)


def _structures(stated: Iterator[_Stated]) -> list[Structure]:
    """To be read together with those of the same types."""
    alike: dict[str, list[_Stated]] = defaultdict(list)

    @cache
    def read(types: str) -> Mapping[str, Structure]:
        return structures("\n".join(each.text for each in alike[types]))

    def later(each: _Stated) -> Structure:
        *inputs, result = each.types
        types = " ".join(each.types)
        alike[types].append(each)
        return Later(each.name, inputs, result, lambda: read(types)[each.name])

    return [later(each) for each in stated]


def _product(spec: str, number: int, element: str) -> _Stated:
    operands, result = spec.split("->")
    one, other = operands.split(",")
    types = [_type(labels, element) for labels in (one, other, result)]
    loops = [letter for letter in _LETTERS if letter in operands]
    maps = ", ".join(_map(loops, labels) for labels in (one, other, result))
    kinds = ", ".join('"parallel"' if letter in result else '"reduction"' for letter in loops)
    body = f"""%zero = arith.constant 0.0 : {element}
      %0 = linalg.fill ins(%zero : {element}) outs(%out : {types[2]}) -> {types[2]}
      %1 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins(%a, %b : {types[0]}, {types[1]}) outs(%0 : {types[2]}) {{
      ^bb0(%x: {element}, %y: {element}, %sum: {element}):
        %xy = arith.mulf %x, %y : {element}
        %more = arith.addf %sum, %xy : {element}
        linalg.yield %more : {element}
      }} -> {types[2]}"""
    return _Stated(f"product_{element}_{number}", element, (one, other, result), body)


def _added(rank: int, element: str) -> _Stated:
    loops = _LETTERS[:rank]
    type_, vector = _type(loops, element), _type(loops[-1:], element)
    step = _pointwise(loops, [loops, loops[-1:]], [type_, vector], element, "arith.addf %x0, %x1")
    return _Stated(f"bias_{element}_{rank}", element, (loops, loops[-1:], loops), step)


def _relu(rank: int, element: str) -> _Stated:
    loops = _LETTERS[:rank]
    type_ = _type(loops, element)
    step = _pointwise(loops, [loops], [type_], element, "arith.maximumf %x0, %zero")
    return _Stated(f"relu_{element}_{rank}", element, (loops, loops), f"%zero = arith.constant 0.0 : {element}\n{step}")


def _pointwise(loops: str, labels: Sequence[str], types: Sequence[str], element: str, op: str) -> str:
    maps = ", ".join(_map(loops, each) for each in (*labels, loops))
    kinds = ", ".join(['"parallel"'] * len(loops))
    scalars = ", ".join(f"%x{place}: {element}" for place in range(len(labels)))
    values = ", ".join("%a %b".split()[: len(labels)])
    return f"""%1 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
          ins({values} : {", ".join(types)}) outs(%out : {types[0]}) {{
      ^bb0({scalars}, %old: {element}):
        %new = {op} : {element}
        linalg.yield %new : {element}
      }} -> {types[0]}"""


def _type(labels: str, element: str) -> str:
    return f"tensor<{'?x' * len(labels)}{element}>"


def _map(loops: Sequence[str], labels: str) -> str:
    return f"affine_map<({', '.join(loops)}) -> ({', '.join('0' if each == '1' else each for each in labels)})>"
