# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharding rules of relax's operators. Elementwise ones need none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from string import ascii_letters
from typing import Any

from relax_mlir.dialects.core.symbols import product

from .factors import register_sharding, shape_of


def _letters(rank: int, whole: Iterable[int] = ()) -> str:
    """Return a letter for each dimension, and `_` for dimensions that every rank needs as a whole."""
    blocked = {axis % rank for axis in whole} if rank else set()
    return "".join("_" if axis in blocked else ascii_letters[axis] for axis in range(rank))


def _axis_rule(op: Any) -> str:
    """Return the rule of operators that need the dimension `axis` as a whole; all dimensions if it is None."""
    rank = len(shape_of(op.operands[0]))
    letters = _letters(rank, range(rank) if op.axis is None else [op.axis])
    return ",".join([letters] * len(op.operands)) + "->" + ",".join([letters] * len(op.results))


def _norm_rule(op: Any) -> str:
    """Return the rule of norms over `axes`. Scales have these dimensions."""
    rank = len(shape_of(op.operands[0]))
    letters = _letters(rank, [*op.axes, *([op.channel_axis] if hasattr(op, "channel_axis") else [])])
    scales = ["_" * len(shape_of(value)) for value in list(op.operands)[1:]]
    return ",".join([letters, *scales]) + "->" + letters


def _reduction_rule(kind: str) -> Callable[[Any], str]:
    """Return the rule of reductions over `axis`. Kind "" needs the dimensions as a whole."""

    def rule(op: Any) -> str:
        rank = len(shape_of(op.operands[0]))
        axis = op.axis
        axes = {
            dimension % rank
            for dimension in (range(rank) if axis is None else [axis] if isinstance(axis, int) else axis)
        }
        letters = _letters(rank, () if kind else axes)
        dims = [
            ("_" if dimension in axes else letters[dimension])
            for dimension in range(rank)
            if dimension not in axes or op.keepdims
        ]
        kinds = ",".join(f"{letters[dimension]}:{kind}" for dimension in sorted(axes)) if kind else ""
        return f"{letters}->{''.join(dims)}" + (f"|{kinds}" if kinds else "")

    return rule


def _matmul_rule(op: Any) -> str:
    first, second = (len(shape_of(value)) for value in op.operands)
    left = "k" if first == 1 else "...mk"
    right = "k" if second == 1 else "...kn"
    return f"{left},{right}->...{'m' * (first > 1)}{'n' * (second > 1)}"


def _permutation_rule(op: Any) -> str:
    rank = len(shape_of(op.operands[0]))
    axes = op.axes if op.axes is not None else range(rank)[::-1]
    letters = _letters(rank)
    return f"{letters}->{''.join(letters[axis] for axis in axes)}"


def _expand_dims_rule(op: Any) -> str:
    rank = len(shape_of(op.result))
    new = {axis % rank for axis in op.axis} if rank else set()
    result = _letters(rank, new)
    return f"{''.join(result[axis] for axis in range(rank) if axis not in new)}->{result}"


def _squeeze_rule(op: Any) -> str:
    shape = shape_of(op.operands[0])
    rank = len(shape)
    axes = [axis for axis, size in enumerate(shape) if size == 1] if op.axis is None else op.axis
    gone = {axis % rank for axis in axes} if rank else set()
    letters = _letters(rank, gone)
    return f"{letters}->{''.join(letters[axis] for axis in range(rank) if axis not in gone)}"


def _reshape_rule(op: Any) -> str:
    """Divide the dimensions with equal numbers of elements in front of them: their parts have the same elements."""
    before, after = shape_of(op.operands[0]), shape_of(op.result)
    fronts = {product(after[:at]): at for at, size in enumerate(after) if size != 1}
    left, right, outer = ["_"] * len(before), ["_"] * len(after), []
    for at, size in enumerate(before):
        other = fronts.get(product(before[:at]))
        if size != 1 and other is not None:
            left[at] = right[other] = ascii_letters[at]
            outer += [f"{ascii_letters[at]}:outer"] if size != after[other] else []
    shapes = "," * (len(op.operands) - 1)
    return f"{''.join(left)}{shapes}->{''.join(right)}" + (f"|{','.join(outer)}" if outer else "")


def _stack_rule(op: Any) -> str:
    rank = len(shape_of(op.result))
    letters = _letters(rank, [op.axis])
    return ",".join([letters.replace("_", "")] * len(op.operands)) + f"->{letters}"


def _take_rule(op: Any) -> str:
    data, indices = (len(shape_of(value)) for value in op.operands)
    if op.axis is None or op.mode == "nan":
        return ""
    axis = op.axis % data
    own, others = _letters(data, [axis]), ascii_letters[data : data + indices]
    return f"{own},{others}->{own[:axis]}{others}{own[axis + 1 :]}"


def _gather_elements_rule(op: Any) -> str:
    """Give up dimensions that differ between data and indices: only their beginning is read."""
    data, indices = (shape_of(value) for value in list(op.operands)[:2])
    differ = [axis for axis in range(len(data)) if data[axis] != indices[axis]]
    letters = _letters(len(data), [op.axis, *differ])
    return ",".join([letters] * len(op.operands)) + f"->{letters}"


def _slice_rule(op: Any) -> str:
    letters = _letters(len(shape_of(op.result)), op.axes)
    return f"{letters}->{letters}"


def _pad_rule(op: Any) -> str:
    rank, widths = len(shape_of(op.result)), op.pad_width
    if len(widths) != 2 * rank:
        return ""
    letters = _letters(rank, [axis for axis in range(rank) if any(widths[2 * axis : 2 * axis + 2])])
    return f"{letters}->{letters}"


def _collapse_rule(op: Any) -> str:
    """Add dimensions that the target does not have, or has with size 1."""
    data, target = map(shape_of, op.operands)
    ahead = len(data) - len(target)
    letters = _letters(
        len(data), [ahead + axis for axis, size in enumerate(target) if size not in (1, data[ahead + axis])]
    )
    result = "".join("_" if size == 1 else letter for letter, size in zip(letters[ahead:], target, strict=True))
    return f"{letters},{result}->{result}"


def _einsum_rule(op: Any) -> str:
    text = op.subscripts.replace(" ", "")
    if "..." in text or "->" not in text or any(len(set(term)) < len(term) for term in text.split(",")):
        return ""
    return str(text)


def _pool_rule(op: Any) -> str:
    layout, out = op.layout, op.out_layout or op.layout
    if not layout.isupper() or not out.isupper():
        return ""
    return f"{_letters_of_layout(layout)}->{_letters_of_layout(out)}"


def _letters_of_layout(layout: str, letters: str = "NC") -> str:
    return "".join(letter.lower() if letter in letters else "_" for letter in layout)


def _convolution_rule(op: Any) -> str:
    data, kernel, out = op.data_layout, op.kernel_layout, op.out_layout or op.data_layout
    if not data.isupper() or not out.isupper():
        return ""
    if op.groups != 1 or not kernel.isupper():
        return f"{_letters_of_layout(data, 'N')},{'_' * len(kernel)}->{_letters_of_layout(out, 'N')}"
    of_data = _letters_of_layout(data, "NC").replace("c", "i")
    of_out = _letters_of_layout(out, "NC").replace("c", "o")
    return f"{of_data},{_letters_of_layout(kernel, 'OI')}->{of_out}"


def _attention_rule(op: Any) -> str:
    """Divide the batch and the heads. Consecutive heads of queries share one of keys."""
    is_cached = op.operation.name == "relax.nn.attention_cached"  # heads of keys precede rows, and a length is last
    others = [
        "".join("_" if size == 1 else letter for size, letter in zip(shape_of(value), "bh__", strict=False))
        for value in list(op.operands)[3:]
    ]
    return ",".join(["b_h_", *["bh__" if is_cached else "b_h_"] * 2, *others]) + "->b_h_|h:outer"


def _paged_attention_rule(op: Any) -> str:
    """Divide the heads of pages and queries, and the tokens. Every rank has the whole table."""
    scales = ["__h" if len(shape_of(value)) == 3 else "h" for value in list(op.operands)[6:]]
    return ",".join(["th_", "__h_", "__h_", "__", "t", "t", *scales]) + "->th_|h:outer"


def _nbits_rule(op: Any) -> str:
    """Divide the columns, with all codes and scales of a column, and the rows of x."""
    columns = ["n" + "_" * (len(shape_of(value)) - 1) for value in list(op.operands)[1:]]
    return ",".join(["..._", *columns]) + "->...n"


def _triangle_rule(op: Any) -> str:
    rank = len(shape_of(op.result))
    letters = _letters(rank, [-1, -2])
    return f"{letters}{',' * (len(op.operands) - 1)}->{letters}"


def _first_operand_rule(op: Any) -> str:
    """Divide x like the result; further operands are numbers or sizes."""
    letters = _letters(len(shape_of(op.result)))
    first = shape_of(op.operands[0])
    same = "".join(
        letter if size == result_size else "_"
        for letter, size, result_size in zip(
            letters[len(letters) - len(first) :], first, shape_of(op.result)[len(letters) - len(first) :], strict=True
        )
    )
    return f"{same}{',' * (len(op.operands) - 1)}->{letters}"


def _fill_rule(op: Any) -> str:
    return f"{','.join('' for _ in op.operands)}->{_letters(len(shape_of(op.result)))}"


def _quantize_rule(op: Any) -> str:
    """Divide the data and, with it, scales and zero points along the axis."""
    rank = len(shape_of(op.operands[0]))
    letters = _letters(rank)
    others = [
        letters[op.axis % rank] if len(shape_of(value)) == 1 and shape_of(value)[0] != 1 else "_" * len(shape_of(value))
        for value in list(op.operands)[1:]
    ]
    return ",".join([letters, *others]) + f"->{letters}"


register_sharding("relax.matmul", _matmul_rule)
register_sharding("relax.outer", "m,n->mn")
register_sharding("relax.einsum", _einsum_rule)
register_sharding(["relax.nn.softmax", "relax.nn.log_softmax", "relax.cumsum", "relax.cumprod", "relax.sort",
                   "relax.argsort", "relax.topk", "relax.flip", "relax.concat", "relax.split"], _axis_rule)  # fmt: skip
register_sharding(["relax.nn.layer_norm", "relax.nn.rms_norm", "relax.nn.instance_norm", "relax.nn.group_norm"],
                  _norm_rule)  # fmt: skip
for _kind in ("sum", "prod", "max", "min"):
    register_sharding(f"relax.{_kind}", _reduction_rule(_kind))
register_sharding(["relax.mean", "relax.std", "relax.variance", "relax.argmax", "relax.argmin"], _reduction_rule(""))
register_sharding("relax.permute_dims", _permutation_rule)
register_sharding("relax.expand_dims", _expand_dims_rule)
register_sharding("relax.squeeze", _squeeze_rule)
register_sharding(["relax.reshape", "relax.flatten", "relax.nn.batch_flatten"], _reshape_rule)
register_sharding("relax.stack", _stack_rule)
register_sharding("relax.take", _take_rule)
register_sharding("relax.gather_elements", _gather_elements_rule)
register_sharding("relax.collapse_sum_like", _collapse_rule)
register_sharding("relax.strided_slice", _slice_rule)
register_sharding("relax.nn.pad", _pad_rule)
register_sharding(
    [f"relax.nn.{kind}_pool{rank}d" for kind in ("max", "avg", "adaptive_avg") for rank in (1, 2, 3)], _pool_rule
)
register_sharding([f"relax.nn.conv{rank}d" for rank in (1, 2, 3)], _convolution_rule)
register_sharding(["relax.nn.attention", "relax.nn.attention_bias", "relax.nn.attention_cached"], _attention_rule)
register_sharding("relax.paged_attention", _paged_attention_rule)
register_sharding("relax.append_pages", "__h_,_h_,_->__h_|h:outer")
register_sharding("relax.append_pages_quantized", "__h_,__h,_h_,_->__h_,__h|h:outer")
register_sharding("relax.matmul_nbits", _nbits_rule)
register_sharding(["relax.tril", "relax.triu"], _triangle_rule)
register_sharding(["relax.broadcast_to", "relax.clip"], _first_operand_rule)
register_sharding(["relax.full", "relax.ones", "relax.zeros"], _fill_rule)
register_sharding(["relax.quantize", "relax.dequantize"], _quantize_rule)
register_sharding(["relax.nn.prelu", "relax.meshgrid", "relax.requantize", "relax.scalar_to_tensor"],
                  lambda _: "")  # fmt: skip
