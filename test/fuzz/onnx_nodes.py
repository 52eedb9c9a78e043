# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of one ONNX node by onnxruntime, or by the reference evaluator where onnxruntime has no kernel."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import onnx
import onnxruntime
from drawing import kind_of
from graphs import Node, Undefined, numpy_dtype
from onnx.reference import ReferenceEvaluator

#: These round no differently: no error comes in with them.
EXACT = frozenset(
    "Abs Neg Ceil Floor Round Sign IsNaN IsInf Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor Not Max Min "
    "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift Relu Where Clip Cast Reshape Flatten Transpose Unsqueeze "
    "Squeeze Expand Tile Concat Split Slice Gather GatherElements GatherND ScatterElements ScatterND ReduceMax "
    "ReduceMin ArgMax ArgMin TopK Trilu Pad OneHot NonZero Unique Size Shape MaxPool GlobalMaxPool Identity "
    "DepthToSpace SpaceToDepth Compress ReverseSequence CastLike EyeLike ConstantOfShape Range BitCast CenterCropPad "
    "MaxUnpool Mod Hardmax".split()
)

#: These operators subtract from values near 1, or add to them, so their errors are relative to 1.
BY_ONE = frozenset(
    "Celu Elu Selu Softplus LogSoftmax Sigmoid Mish Gelu GRU LSTM RNN BlackmanWindow HannWindow HammingWindow".split()
)

#: Their coefficients are rounded: the errors are relative to the largest element, also where elements cancel out.
BY_LARGEST = frozenset("DFT STFT MelWeightMatrix Resize Upsample GridSample RoiAlign AffineGrid".split())

#: The reference evaluator adds bfloat16 element by element in bfloat16, and gets some paddings wrong. Results have the
#: first input's type, so a single rounding of float32's results is better.
WIDENED = frozenset(
    "ReduceMean ReduceSum ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare Mean Sum CumSum "
    "Conv ConvTranspose MatMul Gemm AveragePool GlobalAveragePool LpPool GlobalLpPool LayerNormalization "
    "BatchNormalization InstanceNormalization GroupNormalization RMSNormalization LpNormalization Softmax "
    "LogSoftmax".split()
)

_WINDOWED = frozenset("Conv MaxPool AveragePool LpPool".split())

#: The attribute of a node that comes whole, from ONNX's own suite.
PROTO = "proto"

Check = Callable[[Sequence[Any], Mapping[str, Any]], bool]


def _divides_by_zero(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    x, y = arrays[:2]
    if x.dtype.kind not in "iu":
        return False
    return bool((y == 0).any() or x.dtype.kind == "i" and ((y == -1) & (x == numpy.iinfo(x.dtype).min)).any())


def _is_no_integer(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    x, to = arrays[0], attributes.get("to")
    target = None if to is None else onnx.helper.tensor_dtype_to_np_dtype(to)
    if target is None or target.kind not in "iu" or kind_of(x.dtype.name) != "f":
        return False
    wide, limits = x.astype("float64"), numpy.iinfo(target)
    return not bool(((wide > float(limits.min) - 1) & (wide < float(limits.max))).all())


def _has_nan(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return any(
        each is not None and kind_of(each.dtype.name) == "f" and bool(numpy.isnan(each).any()) for each in arrays
    )


def _is_empty(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return any(each is not None and each.size == 0 for each in arrays)


def _shifts_far(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return bool((arrays[1] >= 8 * arrays[0].dtype.itemsize).any())


def _is_infinite(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return not bool(numpy.isfinite(arrays[1].astype("float64")).all())


def _has_infinite_weight(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return any(each is not None and not numpy.isfinite(each.astype("float64")).all() for each in arrays[1:])


def _adds_up_to_too_much(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    x = arrays[0]
    return x.dtype.kind in "iu" and bool(numpy.abs(x.astype("float64")).sum() > numpy.iinfo(x.dtype).max)


def _goes_back_from_before(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    """Check whether a slice with a negative step starts before the first element, and the reference evaluator computes
    it."""
    if arrays[0].dtype.name != "bfloat16" or len(arrays) < 5 or arrays[4] is None:
        return False
    # The axis does not matter: the oracle refuses invalid bounds.
    return bool((arrays[4] < 0).any() and (arrays[1] < -min(arrays[0].shape, default=0)).any())


def _asks_for_more(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    x, axis = arrays[0], int(attributes.get("axis", -1))
    return bool(x.size == 0 and arrays[1] > x.shape[axis])


def _has_infinity(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return bool(numpy.isinf(arrays[0].astype("float64")).any())


def _has_open_end(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    """Check whether a float beyond all finite ones meets an omitted bound."""
    bounds = [*arrays[1:], None, None][:2]
    return any(bound is None for bound in bounds) and arrays[0].dtype.kind not in "iub" and _has_infinity(arrays, {})


def _ends_at_the_largest(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    if len(arrays) < 5 or arrays[4] is None:
        return False
    largest = [numpy.iinfo(kind).max for kind in ("int32", "int64")]
    return bool((arrays[4] < 0).any() and numpy.isin(arrays[2], largest).any())


def _strides_over(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    taps, strides = attributes.get("kernel_shape", ()), attributes.get("strides", ())
    is_same = str(attributes.get("auto_pad", "")).startswith("SAME")
    return is_same and any(stride > 1 + length for length, stride in zip(taps, strides, strict=False))


def _hangs_over(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    """Check whether windows may reach beyond the padding, in a type that only the reference evaluator supports."""
    return bool(attributes.get("ceil_mode", 0)) and arrays[0].dtype.name != "float32"


def _joins_nothing_of_another_shape(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    """Check for an empty input whose other sizes differ."""
    axis = attributes.get("axis", 1)
    rests = {tuple(size for place, size in enumerate(each.shape) if place != axis % each.ndim) for each in arrays}
    return len(rests) > 1 and any(not each.size for each in arrays)


def _is_by_empty_vector(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return bool(arrays[1].shape == (0,))


def _is_integer(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return arrays[0].dtype.kind in "iu"


def _is_no_image(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    return bool(arrays[0].ndim != 4 and arrays[0].dtype != numpy.float32)


def _odd_power(arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    x, y = arrays
    return x.dtype.kind in "iu" and (kind_of(y.dtype.name) == "f" or bool((y < 0).any()) or x.dtype != y.dtype)


#: Cases that the standard leaves open, or for which the oracle is known to be wrong: the operator, the condition, the
#: reason.
UNDEFINED: Sequence[tuple[str, Check, str]] = (
    ("Div Mod", _divides_by_zero, "an integer divided by zero, or an overflow"),
    ("Cast", _is_no_integer, "a float that the integer type does not have: the standard leaves it open"),
    ("BitShift", _shifts_far, "a shift by all bits or more"),
    ("Pow", _odd_power, "an integer to a negative or fractional power, or with another type's rounding"),
    ("QuantizeLinear", _has_nan, "the integer for NaN: the standard does not say"),
    ("ArgMax ArgMin TopK Unique", _has_nan, "the order of NaN: the standard does not say"),
    ("ReduceMax ReduceMin Max Min Clip MaxPool GlobalMaxPool Relu", _has_nan, "onnxruntime's vector code loses NaN"),
    ("Softmax LogSoftmax Hardmax", _has_nan, "onnxruntime gives NaN to other elements too"),
    ("ReduceMean ReduceMax ReduceMin ReduceLogSumExp ArgMax ArgMin", _is_empty, "a mean or an extreme of nothing"),
    ("ReduceMean", _adds_up_to_too_much, "the mean of integers whose sum overflows: onnxruntime takes doubles"),
    ("TopK", _asks_for_more, "more than there are: onnxruntime refuses, the reference evaluator pads nothing"),
    ("AveragePool", _has_nan, "the reference evaluator takes NaN for padding"),
    ("AveragePool LpPool", _strides_over, "onnxruntime pads by less than nothing where strides skip elements"),
    ("LpPool", _hangs_over, "the reference evaluator takes the sum from a mean of fewer elements"),
    ("Gemm", _is_empty, "onnxruntime adds C without beta to a product of nothing"),
    ("MatMul", _is_by_empty_vector, "onnxruntime writes only the first element of a product with an empty vector"),
    ("Concat", _joins_nothing_of_another_shape, "onnxruntime does not look at the sizes of empty tensors"),
    ("Slice", _ends_at_the_largest, "onnxruntime takes the largest integer for the end of the way, also backwards"),
    ("Clip", _has_open_end, "onnxruntime limits infinity to the largest number where the bound is left out"),
    ("Gelu", _has_infinity, "the limit is 0, while the standard's steps multiply infinity by 0"),
    ("Slice", _goes_back_from_before, "the reference evaluator has Python's slices, which are others there"),
    ("ReduceLogSum ReduceLogSumExp ReduceL2", _is_integer, "onnxruntime rounds integers after each step"),
    ("GlobalMaxPool", _is_no_image, "the reference evaluator gives another shape"),
    ("Conv ConvTranspose", _is_infinite, "0 times infinity where the padding is: some kernels leave it out"),
    ("BatchNormalization", _has_infinite_weight, "onnxruntime makes scale and shift one first: infinity less infinity"),
    ("Conv ConvTranspose", _has_nan, "the reference evaluator multiplies by zeros between dilated taps"),
    ("Conv MaxPool AveragePool", _is_empty, "a convolution of nothing: onnxruntime refuses or gives garbage"),
)
_CHECKS: dict[str, list[tuple[Check, str]]] = {}
for _names, _check, _reason in UNDEFINED:
    for _name in _names.split():
        _CHECKS.setdefault(_name, []).append((_check, _reason))


def oracle(node: Node, arrays: Sequence[Any], sizes: Mapping[str, int]) -> list[Any]:
    """Return the results. `node.origin` is the model's opset."""
    given = [each for item in arrays for each in (item if isinstance(item, tuple) else (item,))]
    if node.op in WIDENED and len(node.outputs) == 1 and given[0].dtype.name == "bfloat16":
        wide = [each.astype("float32") if each is not None and each.dtype == given[0].dtype else each for each in given]
        return [each.astype(given[0].dtype) for each in oracle(node, wide, sizes)]
    for check, reason in _CHECKS.get(node.op, ()):
        if check(given, node.attributes):
            raise Undefined(f"{node.op}: {reason}")
    kinds = tuple(None if each is None else (each.dtype.name, each.ndim) for each in given)
    frozen = tuple(sorted((name, _frozen(value)) for name, value in node.attributes.items()))
    session, reference = _evaluators(node.op, kinds, len(node.outputs), node.origin, frozen)
    feeds = {f"i{index}": each for index, each in enumerate(given) if each is not None}
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = session.run(None, feeds) if session is not None else reference.run(None, feeds)
            if session is None and node.op.startswith("Reduce"):
                results = [each.astype(given[0].dtype) for each in results]  # numpy adds up in wider integers
        except Exception as error:  # whatever an evaluator raises: it gives nothing
            raise Undefined(f"{node.op}: {str(error)[:200]}") from None
    if node.op in _WINDOWED and not all(each.size for each in results):
        raise Undefined(f"{node.op}: a window that is larger than the data, which onnxruntime takes for none")
    return [numpy.asarray(each) if isinstance(each, numpy.generic) else each for each in results]


def both(node: Node, arrays: Sequence[Any]) -> tuple[list[Any], list[Any]] | None:
    """Return the results of both oracles if both have some: they should agree before a comparison with them."""
    given = [each for item in arrays for each in (item if isinstance(item, tuple) else (item,))]
    kinds = tuple(None if each is None else (each.dtype.name, each.ndim) for each in given)
    frozen = tuple(sorted((name, _frozen(value)) for name, value in node.attributes.items()))
    session, _ = _evaluators(node.op, kinds, len(node.outputs), node.origin, frozen)
    if session is None:
        return None
    feeds = {f"i{index}": each for index, each in enumerate(given) if each is not None}
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = one_node(node.op, kinds, len(node.outputs), node.origin, frozen)
            return session.run(None, feeds), ReferenceEvaluator(model).run(None, feeds)
        except Exception:  # the reference has gaps
            return None


@functools.lru_cache(maxsize=4096)
def _evaluators(op: str, kinds: Any, outputs: int, opset: int, attributes: Any) -> tuple[Any, Any]:
    model = one_node(op, kinds, outputs, opset, attributes)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # On CPUs without VNNI it would add two products of bytes in 16 bits; where it cannot do better, it refuses.
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        numpy_knows = all(kind is None or hasattr(numpy, kind[0]) for kind in kinds)  # onnxruntime takes numpy's types
        if numpy_knows:
            return onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            ), None
    except Exception:  # onnxruntime has no kernel for these types
        pass
    try:
        return None, ReferenceEvaluator(model)
    except Exception as error:
        raise Undefined(f"{op}: neither evaluator has it: {str(error)[:200]}") from None


Kinds = Sequence[tuple[str, int] | None]


def one_node(op: str, kinds: Kinds, outputs: int, opset: int, attributes: Any) -> onnx.ModelProto:
    """Return a model of one node with types and ranks of the inputs: without them onnxruntime's inference crashes."""
    helper = onnx.helper
    infos = [
        helper.make_tensor_value_info(
            f"i{index}", helper.np_dtype_to_tensor_dtype(numpy_dtype(kind[0])), [None] * kind[1]
        )
        for index, kind in enumerate(kinds)
        if kind is not None
    ]
    inputs = ["" if kind is None else f"i{index}" for index, kind in enumerate(kinds)]
    node = make_node(op, inputs, [f"o{index}" for index in range(outputs)], dict(attributes))
    graph = helper.make_graph([node], "main", infos, [onnx.ValueInfoProto(name=name) for name in node.output if name])
    return model_of(graph, opset, node.domain)


def make_node(op: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Any]) -> onnx.NodeProto:
    """Return a node, also one of the suite with other names."""
    if PROTO not in attributes:
        return onnx.helper.make_node(op, inputs, outputs, **attributes)
    node = onnx.NodeProto.FromString(attributes[PROTO])
    names = iter(outputs)
    node.output[:] = [next(names) if name else "" for name in node.output]
    node.input[:] = inputs
    return node


def model_of(graph: onnx.GraphProto, opset: int, *domains: str) -> onnx.ModelProto:
    opsets = [onnx.helper.make_opsetid("", opset)]
    if any(domains):
        opsets.append(onnx.helper.make_opsetid("ai.onnx.ml", 5))
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
