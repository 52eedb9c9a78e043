# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums under a condition on remainders of loop indices, one for each residue class of the loops.

The sum of a transposed convolution has `x[(h + rh) // 2] if (h + rh) % 2 == 0 else 0`. With h = 2 * h' + s and rh = 2 *
rh' + t the condition is s == t. The index is then h' + rh' + s. For each s there is a convolution with the taps of the
same residue. The other classes add zeros.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from ....bindings.navigation import operations_in
from ....bindings.rewriting import Decline
from ....dialects.core.symbols_expr import Size, SymbolError, terms_of
from ....dialects.core.symbols_terms import Atom
from ....emit.combiner import Combiner, combiners
from ....emit.generic import GenericOp
from ....emit.groups import fill_of
from .affine_sizes import linear_factors, loop_index, loop_indices, size_of
from .body_values import BodyValues
from .class_body import ClassBody, ClassLoops
from .class_sums import ClassPart, ClassSums
from .maps import has_remainders, is_candidate

#: Most classes that are analysed, and most of them that become operations: strides of 3 in three dimensions.
_MOST_CLASSES, _MOST_SUMS = 1 << 10, 27
_INDICES = frozenset({"arith.cmpi", "tensor.extract"})


def residues_of(op: GenericOp) -> ClassSums | None:
    """Return an operation as sums by residue classes, or None if conditions or divisions would remain."""
    if not op.reductions or len(op.outputs) != 1 or not is_candidate(op):
        return None
    fill = fill_of(op.outputs[0])
    try:
        (combiner,) = combiners(op)
        if fill is None or not combiner.is_sum or not op.writes_once(op.input_count):
            return None
        moduli = _moduli(op)
        return _sums(op, combiner, moduli) if moduli or has_remainders(op) else None
    except (Decline, SymbolError):
        return None


def _moduli(op: GenericOp) -> dict[int, int]:
    """Return the loops in dividends, with the number of their residue classes."""
    moduli: dict[int, int] = {}
    for atom in _divisions(_indices(op)):
        factors, by = linear_factors(atom.args[0]), atom.args[1]
        if factors is None or not isinstance(by, int):
            raise Decline("a divided index is no sum of loops")
        for dim, factor in factors.items():
            if (classes := by // math.gcd(by, factor)) > 1:
                moduli[dim] = math.lcm(moduli.get(dim, 1), classes)
    if math.prod(moduli.values()) > _MOST_CLASSES or any(op.known_size(dim) is None for dim in moduli):
        raise Decline("there are too many residue classes, or sizes are dynamic")
    return moduli


def _indices(op: GenericOp) -> list[Size]:
    """Return the indices of operands and of element reads, and both sides of comparisons."""
    indices = loop_indices(op.known_sizes)
    values = BodyValues(indices)
    sizes = [size_of(result, indices) for map_ in op.maps for result in map_.results]
    for inner in operations_in(op.operation):
        if inner.name in _INDICES:
            sizes += [values.size(value) for value in inner.operands]
    return [index for index in sizes if index is not None]


def _divisions(indices: Iterable[Size]) -> list[Atom]:
    atoms = {atom for index in indices for monomial in terms_of(index) for atom in monomial}
    return [atom for atom in atoms if atom.kind in ("//", "%")]


def _classes(op: GenericOp, moduli: Mapping[int, int], dims: Sequence[int]) -> list[dict[int, int]]:
    found = itertools.product(*(range(min(moduli[dim], op.known_size(dim) or 0)) for dim in dims))
    return [dict(zip(dims, residues, strict=True)) for residues in found]


def _sums(op: GenericOp, combiner: Combiner, moduli: Mapping[int, int]) -> ClassSums:
    parallel = _classes(op, moduli, [dim for dim in op.parallels if dim in moduli])
    reduced = _classes(op, moduli, [dim for dim in op.reductions if dim in moduli])
    sums, kept = ClassSums(op, moduli, []), 0
    for own in parallel:
        bodies = [ClassBody.create(op, combiner, _loops(op, moduli, own | taps)) for taps in reduced]
        sums.parts.append(ClassPart(own, bodies))
        kept += sum(body.is_kept for body in bodies)
        if kept > _MOST_SUMS:
            raise Decline(f"{kept} sums or more remain")
    return sums


def _loops(op: GenericOp, moduli: Mapping[int, int], residues: Mapping[int, int]) -> ClassLoops:
    sizes = list(op.known_sizes)
    for dim, modulus in moduli.items():
        sizes[dim] = len(range(residues[dim], sizes[dim] or 0, modulus))
    steps = enumerate(sizes)
    indices = [moduli.get(dim, 1) * loop_index(dim, size) + residues.get(dim, 0) for dim, size in steps]
    return ClassLoops(tuple(sizes), tuple(indices))
