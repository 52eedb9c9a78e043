# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, vectors and tensors as contractions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ...bindings.ir import Value
from ...dialects.core.infos import TensorInfo
from ...dialects.relax.infer.einsum import parse_subscripts
from ...emit.contraction import Term, contraction, label_size, runtime_size
from ...emit.conversions import accumulator
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize

_ELLIPSIS = "..."
Labels = tuple[str, ...]


def _contract(
    call: LegalizeCall,
    values: Sequence[Value],
    labels: Sequence[Labels],
    result_labels: Labels,
    result: TensorInfo,
    exact: Collection[str] = (),
) -> list[Value]:
    """Call a PrimFunc that multiplies the tensors and sums."""
    infos: list[Any] = [call.info(value) for value in values]
    assert result.shape is not None
    # Labels that broadcast to a size which no type states.
    unknown = [label for label, size in zip(result_labels, result.shape, strict=True) if size is None]

    def terms(parameters: Sequence[Value]) -> list[Term]:
        return [Term(*each) for each in zip(parameters, infos, labels, strict=True)]

    def body(*parameters: Value) -> Value:
        *inputs, out = parameters
        return contraction(terms(inputs), out, result_labels, result.dtype, exact)

    def sizes(*inputs: Value) -> list[Value]:
        return [runtime_size(terms(inputs), label) for label in unknown]

    is_moved = len(values) == 1 and set(labels[0]) == set(result_labels)
    pattern = "injective" if is_moved else None
    return call.prim(body, values, [result], pattern=pattern, sizes=sizes if unknown else None)


@register_legalize("relax.matmul", by_types=True)
def matmul(call: LegalizeCall) -> Legalized:
    left, right = (len(call.shape(operand)) for operand in call.operands)
    if 0 in (left, right):
        return call.decline("a scalar is not a matrix; use relax.multiply")
    labels, result_labels = matmul_labels(left, right)
    return _contract(call, call.operands, labels, result_labels, call.result_infos[0], {"k"})  # type: ignore[arg-type]


def matmul_labels(left: int, right: int) -> tuple[list[Labels], Labels]:
    """Return the labels of operands with these ranks, and of their product."""
    batch = [f"batch {axis}" for axis in range(max(left, right, 2) - 2)]
    rows = ("m", "k") if left > 1 else ("k",)
    columns = ("k", "n") if right > 1 else ("k",)
    labels = [(*batch[len(batch) + len(own) - rank :], *own) for own, rank in ((rows, left), (columns, right))]
    return labels, (*batch, *rows[:-1], *columns[1:])


@register_legalize("relax.outer", by_types=True)
def outer(call: LegalizeCall) -> Legalized:
    return _contract(call, call.operands, [("m",), ("n",)], ("m", "n"), call.result_infos[0])  # type: ignore[arg-type]


@register_legalize("relax.einsum", by_types=True)
def einsum(call: LegalizeCall) -> Legalized:
    """Contract two operands at a time, from left to right. Labels that are not needed later are summed early."""
    result: Any = call.result_infos[0]
    labels, result_labels = _einsum_labels(call.op.subscripts, [len(call.shape(value)) for value in call.operands])
    value, own = call.operands[0], labels[0]
    for position in range(1, len(call.operands) - 1):
        later = {label for term in (*labels[position + 1 :], result_labels) for label in term}
        pair, pair_labels = [value, call.operands[position]], [own, labels[position]]
        kept = tuple(dict.fromkeys(label for term in pair_labels for label in term if label in later))
        partial = _partial_result(call, pair, pair_labels, kept, result.dtype)
        (value,), own = _contract(call, pair, pair_labels, kept, partial), kept
    rest, rest_labels = ([call.operands[-1]], [labels[-1]]) if len(call.operands) > 1 else ([], [])
    return _contract(call, [value, *rest], [own, *rest_labels], result_labels, result)


def _partial_result(
    call: LegalizeCall, values: Sequence[Value], labels: Sequence[Labels], kept: Labels, dtype: str
) -> TensorInfo:
    terms = [Term(value, call.info(value), own) for value, own in zip(values, labels, strict=True)]  # type: ignore[arg-type]
    return TensorInfo(tuple(label_size(terms, label) for label in kept), accumulator(dtype))


def _einsum_labels(text: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return a label for each dimension. Dimensions under an ellipsis are numbered from the last one."""
    subscripts = parse_subscripts(text)
    counts = [rank - len(term) + 1 for rank, term in zip(ranks, subscripts.operands, strict=True)]
    most = max((n for n, term in zip(counts, subscripts.operands, strict=True) if _ELLIPSIS in term), default=0)

    def expanded(term: Labels, count: int) -> Labels:
        hidden = [f"-{position}" for position in range(count, 0, -1)]
        return tuple(label for own in term for label in (hidden if own == _ELLIPSIS else [own]))

    operands = [expanded(term, count) for term, count in zip(subscripts.operands, counts, strict=True)]
    return operands, expanded(subscripts.result, most)
