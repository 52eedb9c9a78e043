# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for einsum: numpy's subscripts, `ij,jk->ik` or `...ij,...jk`."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ...core.infos import TensorInfo
from ...core.opdef import Call
from ...core.symbols import Dim, equal
from .broadcast import broadcast_dim
from .dtypes import ANY, ELEMENT_CLASSES
from .linear_algebra import broadcast_batch
from .sizes import most_precise

Shape = tuple[Dim, ...]
_ELLIPSIS = "..."


class SubscriptsProblem(ValueError):
    """Subscripts that cannot be read; the message says why."""


class Subscripts(NamedTuple):
    """The labels of each operand's dimensions and of the result's; "..." stands for any number of dimensions."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


@lru_cache(maxsize=256)
def parse_subscripts(text: str) -> Subscripts:
    """Without `->` the result has the labels that occur once, in alphabetical order. Raises SubscriptsProblem."""
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
    infos = call.operands["operands"]  # Call.operands are all operands
    dtype = _common_dtype(call, infos)
    try:
        subscripts = parse_subscripts(call.subscripts)
    except SubscriptsProblem as problem:
        raise call.fail(f"{call.describe('subscripts')}: {problem}") from None
    if len(subscripts.operands) != len(infos):
        raise call.fail(
            f"{call.describe('subscripts')} has labels for {len(subscripts.operands)} operands, got {len(infos)}"
        )
    sizes = _Sizes(call)
    for index, (labels, info) in enumerate(zip(subscripts.operands, infos, strict=True)):
        sizes.add(index, labels, info.shape)
    return TensorInfo(sizes.of(subscripts.result), dtype)


def _common_dtype(call: Call, infos: tuple[TensorInfo, ...]) -> str:
    call.require(infos, "needs at least one tensor in operand 'operands'")
    dtype = infos[0].dtype
    if any(info.dtype != dtype for info in infos):
        raise call.fail(f"{call.describe('operands')} must have the same element type")
    call.require(
        any(ELEMENT_CLASSES[cls](dtype) for cls in ANY),
        f"{call.describe('operands')} must have {' or '.join(ANY)} elements",
    )
    return dtype


class _Sizes:
    """The size of each label, and of the dimensions under the ellipsis, as operands tell them."""

    def __init__(self, call: Call):
        self.call = call
        self.labels: dict[str, Dim] = {}
        self.ellipsis: Shape | None = ()

    def add(self, index: int, labels: tuple[str, ...], shape: Shape | None) -> None:
        if shape is None:
            self._add_unranked(labels)
            return
        start = labels.index(_ELLIPSIS) if _ELLIPSIS in labels else len(labels)
        extra = len(shape) - len(labels) + (1 if _ELLIPSIS in labels else 0)
        if extra < 0 or (extra and _ELLIPSIS not in labels):
            raise self.call.fail(
                f"{self.call.describe('subscripts')} does not fit operand #{index}: it names "
                f"{len(labels) - (_ELLIPSIS in labels)} dimensions of {len(shape)}"
            )
        if self.ellipsis is not None:
            what = f"dimensions under '{_ELLIPSIS}' of operand #{index} and those before"
            self.ellipsis = broadcast_batch(self.call, what, self.ellipsis, shape[start : start + extra])
        named = [label for label in labels if label != _ELLIPSIS]
        self._add_labels(index, named, shape[:start] + shape[start + extra :])

    def _add_unranked(self, labels: tuple[str, ...]) -> None:
        if _ELLIPSIS in labels:
            self.ellipsis = None
        for label in labels:
            if label != _ELLIPSIS:
                self._broadcast(label, None)

    def _add_labels(self, index: int, labels: list[str], shape: Shape) -> None:
        own: dict[str, Dim] = {}
        for label, size in zip(labels, shape, strict=True):
            # Within an operand the label is a diagonal, which does not broadcast.
            if label in own and equal(own[label], size) is False:
                raise self._mismatch(label, index, own[label], size)
            own[label] = most_precise((own[label], size)) if label in own else size
        for label, size in own.items():
            before = self.labels.get(label)
            try:
                self._broadcast(label, size)
            except ValueError:
                raise self._mismatch(label, index, before, size) from None

    def _broadcast(self, label: str, size: Dim) -> None:
        self.labels[label] = broadcast_dim(self.labels.get(label, 1), size)

    def _mismatch(self, label: str, index: int, before: Dim, size: Dim) -> Exception:
        return self.call.fail(
            f"{self.call.describe('subscripts')}: label '{label}' is {size} in operand #{index}, but {before} before"
        )

    def of(self, labels: tuple[str, ...]) -> Shape | None:
        if _ELLIPSIS not in labels:
            if self.ellipsis:
                raise self.call.fail(
                    f"{self.call.describe('subscripts')} has no '{_ELLIPSIS}' in its result for the "
                    f"{len(self.ellipsis)} dimensions under '{_ELLIPSIS}' of the operands"
                )
            return tuple(self.labels[label] for label in labels)
        if self.ellipsis is None:
            return None
        shape: list[Dim] = []
        for label in labels:
            shape.extend(self.ellipsis if label == _ELLIPSIS else (self.labels[label],))
        return tuple(shape)
