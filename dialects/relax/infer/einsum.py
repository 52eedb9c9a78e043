# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for einsum: NumPy's subscripts, `ij,jk->ik` or `...ij,...jk`."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...core.equalities import contradict
from ...core.infos import TensorInfo
from ...core.opdef import Call, OpProblem
from ...core.symbols import Dim, dim_add, product
from .broadcast import broadcast_batch, broadcast_dim
from .dtypes import ANY, ELEMENT_CLASSES
from .sizes import Shape, most_precise

_ELLIPSIS = "..."


class SubscriptsProblem(ValueError):
    """Invalid subscripts. The message gives the reason."""


class Subscripts(NamedTuple):
    """Labels of the dimensions of each operand and of the result; "..." represents any number of dimensions."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


@lru_cache(maxsize=256)
def parse_subscripts(text: str) -> Subscripts:
    """Parse subscripts. Without `->`, the result has the labels that occur once, in alphabetical order."""
    inputs, arrow, output = text.partition("->")
    operands = tuple(_labels(term) for term in inputs.split(","))
    used = [label for term in operands for label in term]
    if not arrow:
        once = sorted(label for label in set(used) if label != _ELLIPSIS and used.count(label) == 1)
        return Subscripts(operands, (*([_ELLIPSIS] if _ELLIPSIS in used else []), *once))
    result = _labels(output)
    for label in result:
        if label != _ELLIPSIS and label not in used:
            raise SubscriptsProblem(f"result has label '{label}', which no operand has")
        if result.count(label) > 1:
            raise SubscriptsProblem(f"result has label '{label}' twice")
    return Subscripts(operands, result)


def _labels(term: str) -> tuple[str, ...]:
    labels: list[str] = []
    rest = term
    while rest:
        label = _ELLIPSIS if rest.startswith(_ELLIPSIS) else rest[0]
        rest = rest[len(label) :]
        if label == " ":
            continue
        if label != _ELLIPSIS and not (label.isascii() and label.isalpha()):
            raise SubscriptsProblem(f"'{term.strip()}' has {label!r}: labels are letters and '{_ELLIPSIS}'")
        if label == _ELLIPSIS and label in labels:
            raise SubscriptsProblem(f"'{term.strip()}' has more than one '{_ELLIPSIS}'")
        labels.append(label)
    return tuple(labels)


def einsum(call: Call) -> TensorInfo:
    dtype = _common_dtype(call, call.operands["operands"])
    sizes = _sizes_of(call)
    return TensorInfo(sizes.of(parse_subscripts(call.subscripts).result), dtype)


def _sizes_of(call: Call) -> _LabelSizes:
    infos = call.operands["operands"]  # `call.operands` are the operands of any operator
    sizes = _LabelSizes(call)
    try:
        subscripts = parse_subscripts(call.subscripts)
    except SubscriptsProblem as problem:
        raise sizes.fail(f": {problem}") from None
    if len(subscripts.operands) != len(infos):
        raise sizes.fail(f" has labels for {len(subscripts.operands)} operands, got {len(infos)}")
    for index, (labels, info) in enumerate(zip(subscripts.operands, infos, strict=True)):
        sizes.add(index, labels, info.shape)
    return sizes


def einsum_work(call: Call, count: Dim) -> Dim:
    """for two operands at a time, from the left: one for each point of their labels, two where some labels go"""
    sizes, (terms, result) = _sizes_of(call), parse_subscripts(call.subscripts)
    labels = {**sizes.labels, _ELLIPSIS: None if sizes.ellipsis is None else product(sizes.ellipsis)}
    held, *others = map(set, terms)
    total: Dim = 0
    for position, own in enumerate(others or [set()]):
        met, held = held | own, (held | own) & set(result).union(*others[position + 1 :])
        operations = bool(others) + (held != met)
        total = dim_add(total, product((operations, *(labels[label] for label in sorted(met)))))
    return total


def _common_dtype(call: Call, infos: tuple[TensorInfo, ...]) -> str:
    call.require(infos, "needs at least one tensor in operand 'operands'")
    dtype, shown = infos[0].dtype, call.describe("operands")
    call.require(all(info.dtype == dtype for info in infos), f"{shown} must have the same element type")
    allowed = any(ELEMENT_CLASSES[cls](dtype) for cls in ANY)
    call.require(allowed, f"{shown} must have {' or '.join(ANY)} elements")
    return dtype


class _LabelSizes:
    """Size of each label, and of the dimensions under the ellipsis, collected from operands."""

    def __init__(self, call: Call):
        self.call = call
        self.labels: dict[str, Dim] = {}
        self.ellipsis: Shape | None = ()

    def fail(self, problem: str) -> OpProblem:
        return self.call.fail(f"{self.call.describe('subscripts')}{problem}")

    def add(self, index: int, labels: tuple[str, ...], shape: Shape | None) -> None:
        """Add an operand's sizes. An operand of unknown rank contributes none."""
        named = [label for label in labels if label != _ELLIPSIS]
        if shape is None:
            self.ellipsis = None if _ELLIPSIS in labels else self.ellipsis
            shape = (None,) * len(named)
        extra = len(shape) - len(named)
        if extra < 0 or (extra and _ELLIPSIS not in labels):
            raise self.fail(f" does not fit operand #{index}: it names {len(named)} dimensions of {len(shape)}")
        start = labels.index(_ELLIPSIS) if _ELLIPSIS in labels else len(labels)
        if self.ellipsis is not None:
            what = f"dimensions under '{_ELLIPSIS}' of operand #{index} and those before"
            self.ellipsis = broadcast_batch(self.call, what, self.ellipsis, shape[start : start + extra])
        for label, size in self._diagonals(index, named, shape[:start] + shape[start + extra :]).items():
            self._add_label(index, label, size)

    def _diagonals(self, index: int, labels: list[str], shape: Shape) -> dict[str, Dim]:
        """Return the sizes by label.

        A repeated label in an operand is a diagonal, whose sizes are equal and do not broadcast.
        """
        sizes: dict[str, Dim] = {}
        for label, size in zip(labels, shape, strict=True):
            before = sizes.get(label)
            if contradict(before, size):
                raise self.fail(f": label '{label}' is {size} in operand #{index}, but {before} before")
            sizes[label] = most_precise((size, before))
        return sizes

    def _add_label(self, index: int, label: str, size: Dim) -> None:
        before = self.labels.get(label, 1)
        try:
            self.labels[label] = broadcast_dim(before, size)
        except ValueError:
            raise self.fail(f": label '{label}' is {size} in operand #{index}, but {before} before") from None

    def of(self, labels: tuple[str, ...]) -> Shape | None:
        """Return the shape of the result with these labels."""
        if _ELLIPSIS not in labels and self.ellipsis:
            count = len(self.ellipsis)
            raise self.fail(f" has no '{_ELLIPSIS}' in its result for the {count} dimensions under '{_ELLIPSIS}'")
        shape: list[Dim] = []
        for label in labels:
            if label != _ELLIPSIS:
                shape.append(self.labels[label])
            elif self.ellipsis is None:
                return None
            else:
                shape.extend(self.ellipsis)
        return tuple(shape)
