# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that a BLAS can compute, and their epilogues, as structures of PrimFuncs.

A product has the notation of einsum, such as "bmk,nk->bmn". The labels m and n are the rows and columns of the result,
k is the summed axis, and b and c are batch axes. "1" is an axis of size 1, which is broadcast along a batch axis.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from relax_mlir.patterns import Later, Structure, structures

ELEMENTS = ("f32", "f64")
_LETTERS = "bcmnk"
_RANKS = (1, 2, 3, 4)
# Batch axes of one operand with all of them -> possible batch axes of the other operand.
_BATCHES = {"": [""], "b": ["b", "1", ""], "bc": ["bc", "b1", "1c", "11", "c", "1", ""]}
#: Products of attention with the heads between rows and columns.
_WITH_HEADS_INSIDE = ("bmck,bnck->bcmn", "bcmk,bkcn->bmcn", "bmck,bkcn->bmcn", "bmck,bnck->bmcn", "bcmk,bcnk->bmcn")


class _StructureText(NamedTuple):
    """Unparsed structure: axis labels of the operands and the result, and the body's text."""

    name: str
    element: str
    labels: tuple[str, ...]
    body: str

    @property
    def types(self) -> list[str]:
        """Return the tensor types in the notation of signatures, such as "f32x2"."""
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
    """Return all products in einsum notation."""
    found = ["k,k->", "k,kn->n", "k,nk->n", *_WITH_HEADS_INSIDE]
    for batch, others in _BATCHES.items():
        for one, other in [*((batch, each) for each in others), *((each, batch) for each in others[1:])]:
            found += [f"{one}{a},{other}{b}->{batch}mn" for a in ("mk", "km") for b in ("kn", "nk")]
    return found


def products() -> list[Structure]:
    """Return a structure for each product and element type. The structure's name holds the product's number."""
    return _structures(_product(spec, number, element) for element in ELEMENTS for number, spec in enumerate(specs()))


def spec_of(product: Structure) -> tuple[str, str]:
    """Return the einsum notation and the element type of a structure from `products`."""
    _, element, number = product.name.split("_")
    return specs()[int(number)], element


def biases() -> list[Structure]:
    """Return the structures that add a vector to the rows of a tensor."""
    return _structures(_bias(rank, element) for element in ELEMENTS for rank in _RANKS[1:])


def relus() -> list[Structure]:
    return _structures(_relu(rank, element) for element in ELEMENTS for rank in _RANKS)


def _structures(texts: Iterator[_StructureText]) -> list[Structure]:
    """Return structures that are parsed on demand, all structures of the same types together."""
    alike: dict[str, list[_StructureText]] = defaultdict(list)

    @cache
    def read(types: str) -> Mapping[str, Structure]:
        return structures("\n".join(each.text for each in alike[types]))

    def later(structure_text: _StructureText) -> Structure:
        *inputs, result = structure_text.types
        types = " ".join(structure_text.types)
        alike[types].append(structure_text)
        return Later(structure_text.name, inputs, result, lambda: read(types)[structure_text.name])

    return [later(structure_text) for structure_text in texts]


def _product(spec: str, number: int, element: str) -> _StructureText:
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
    return _StructureText(f"product_{element}_{number}", element, (one, other, result), body)


def _bias(rank: int, element: str) -> _StructureText:
    loops = _LETTERS[:rank]
    type_, vector = _type(loops, element), _type(loops[-1:], element)
    step = _pointwise(loops, [loops, loops[-1:]], [type_, vector], element, "arith.addf %x0, %x1")
    return _StructureText(f"bias_{element}_{rank}", element, (loops, loops[-1:], loops), step)


def _relu(rank: int, element: str) -> _StructureText:
    loops = _LETTERS[:rank]
    step = _pointwise(loops, [loops], [_type(loops, element)], element, "arith.maximumf %x0, %zero")
    return _StructureText(
        f"relu_{element}_{rank}", element, (loops, loops), f"%zero = arith.constant 0.0 : {element}\n{step}"
    )


def _pointwise(loops: str, labels: Sequence[str], types: Sequence[str], element: str, op: str) -> str:
    maps = ", ".join(_map(loops, label) for label in (*labels, loops))
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
    return f"affine_map<({', '.join(loops)}) -> ({', '.join('0' if label == '1' else label for label in labels)})>"
