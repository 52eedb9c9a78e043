# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of feature preprocessing (ai.onnx.ml): selection, scaling, encoding, imputation."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.control.run_time_items import require
from relax_mlir.frontends.core.texts import looked_up, numbered
from relax_mlir.frontends.core.values import Array, Texts
from relax_mlir.frontends.onnx.input_sizes import integers
from relax_mlir.frontends.onnx.operators import key_tables
from relax_mlir.frontends.onnx.operators.products import as_f32
from relax_mlir.frontends.onnx.prelude import (
    OnnxNode,
    Outputs,
    Tensor,
    Value,
    const,
    info_of,
    joined,
    register_onnx,
    relax,
)
from relax_mlir.frontends.onnx.tensor_data import TensorProto
from relax_mlir.frontends.onnx.texts import held_of
from relax_mlir.support.suggest import counted

_ML = "ai.onnx.ml"
#: Keys or values: numbers, or a list of strings.
Listed: TypeAlias = "Array | list[str]"


@register_onnx(_ML, "ArrayFeatureExtractor")
def array_feature_extractor(node: OnnxNode) -> Outputs:
    """Return elements along the last axis. A vector is a matrix with one row."""
    chosen = integers(node, 1)
    taken = relax.take(node.tensor(0), chosen, axis=node.rank(0) - 1)
    return taken if node.rank(0) > 1 else relax.expand_dims(taken, axis=[0])


@register_onnx(_ML, "Binarizer")
def binarizer(node: OnnxNode) -> Outputs:
    dtype, threshold = node.value(0).dtype, node.float("threshold", 0.0)
    limit = threshold if is_float(dtype) else math.floor(threshold)
    is_above = relax.greater(node.tensor(0), const(limit, dtype))
    return relax.astype(is_above, dtype=dtype)


@register_onnx(_ML, "Scaler")
def scaler(node: OnnxNode) -> Outputs:
    moved = relax.subtract(as_f32(node), _read_feature_values(node, "offset"))
    return relax.multiply(moved, _read_feature_values(node, "scale"))


def _read_feature_values(node: OnnxNode, name: str) -> Tensor:
    values = node.floats(name) or []
    _check_features(node, name, len(values))
    return const(values, "f32")


def _check_features(node: OnnxNode, name: str, count: int) -> None:
    features = (node.value(0).shape or (None,))[-1]
    if count != 1 and (count == 0 or (isinstance(features, int) and count != features)):
        raise node.fail(
            f"attribute '{name}' has {counted(count, 'value')} for {features} features: expected one, or one each", name
        )


@register_onnx(_ML, "Normalizer")
def normalizer(node: OnnxNode) -> Outputs:
    """Divide each row by its norm. Rows of norm 0 stay unchanged."""
    norm, x = node.choice("norm", "MAX", ("MAX", "L1", "L2")), as_f32(node)
    if node.rank(0) not in (1, 2):
        raise node.fail(f"takes [rows, features] or [features], not {node.rank(0)} dimensions")
    if norm == "MAX":
        divisor = relax.max(x, axis=[-1], keepdims=True)
    elif norm == "L1":
        divisor = relax.sum(relax.abs(x), axis=[-1], keepdims=True)
    else:
        divisor = relax.sqrt(relax.sum(relax.square(x), axis=[-1], keepdims=True))
    is_zero = relax.equal(divisor, const(0.0, "f32"))
    return relax.divide(x, relax.where(is_zero, const(1.0, "f32"), divisor))


@register_onnx(_ML, "Imputer")
def imputer(node: OnnxNode) -> Outputs:
    x, dtype = node.tensor(0), node.value(0).dtype
    kind = "float" if is_float(dtype) else "int64"
    name = f"imputed_value_{kind}s"
    values = (node.floats if is_float(dtype) else node.ints)(name) or []
    _check_features(node, name, len(values))
    missing = (node.float if is_float(dtype) else node.int)(f"replaced_value_{kind}", 0)
    is_missing = relax.isnan(x) if math.isnan(missing) else relax.equal(x, const(missing, dtype))
    return relax.where(is_missing, const(values, dtype), x)


@register_onnx(_ML, "FeatureVectorizer")
def feature_vectorizer(node: OnnxNode) -> Outputs:
    """Join all inputs. The attribute states the number of features of each."""
    counts = node.ints("inputdimensions") or []
    if len(counts) != len(node.inputs) or not counts:
        raise node.fail(
            f"there are {counted(len(counts), 'size')} for {counted(len(node.inputs), 'input')}", "inputdimensions"
        )
    parts = []
    for index, count in enumerate(counts):
        part = as_f32(node, index)
        part = part if node.rank(index) == 2 else relax.expand_dims(part, axis=[0])
        if (own := (node.value(index).shape or (None,))[-1]) != count:
            raise node.fail(f"input #{index} has {own} features, the attribute says {count}", "inputdimensions")
        parts.append(part)
    return joined(parts, axis=1)


# ---- categories ----


@register_onnx(_ML, "OneHotEncoder")
def one_hot_encoder(node: OnnxNode) -> Outputs:
    strings, categories = node.strings("cats_strings"), node.ints("cats_int64s") or []
    if (texts := node.texts(0)) is not None:
        categories = list(range(len(strings or [])))
    if not categories:
        kind = "int64s" if texts is None else "strings"
        raise node.fail(f"has no categories for {'numbers' if texts is None else 'strings'}", f"cats_{kind}")
    x = node.tensor(0) if texts is None else numbered(texts, strings).ssa
    x = relax.dialect.ops["expand_dims"](relax.dialect.ops["astype"](x, dtype="i64"), axis=[info_of(x).rank])
    encoded = relax.astype(relax.equal(x, const(categories, "i64")), dtype="f32")
    if not node.int("zeros", 1):
        fewest = relax.min(relax.max(encoded, axis=[-1]))
        require(node, relax.greater(fewest, const(0.0, "f32")), "an element is none of the categories")
    return encoded


@register_onnx(_ML, "LabelEncoder")
def classes_of_strings(node: OnnxNode) -> Outputs:
    """Return the index of each string in a list, or the string at each index."""
    import numpy

    strings: list[str] = node.strings("classes_strings") or []
    return _either_way(node, numpy.arange(len(strings)), strings)


@register_onnx(_ML, "CategoryMapper")
def category_mapper(node: OnnxNode) -> Outputs:
    """Return the number of each string, or the string of each number."""
    import numpy

    return _either_way(node, numpy.array(node.ints("cats_int64s") or [], "int64"), node.strings("cats_strings") or [])


def _either_way(node: OnnxNode, numbers: Array, strings: list[str]) -> Outputs:
    import numpy

    if node.texts(0) is None:
        return _encode(node, numbers, strings, node.string("default_string", "_Unused"))
    return _encode(node, strings, numbers, numpy.array(node.int("default_int64", -1)))


@register_onnx(_ML, "LabelEncoder", since=2)
def label_encoder(node: OnnxNode) -> Outputs:
    keys, values = _list(node, "keys"), _list(node, "values")
    return _encode(node, keys, values, _default(node, values))


def _encode(node: OnnxNode, keys: Listed, values: Listed, default: Any) -> Outputs:
    """Look up each key's value in a hash table, with a default. Strings are lists."""
    import numpy

    if len(keys) != len(values) or not len(keys):
        raise node.fail(f"there are {counted(len(keys), 'key')} for {counted(len(values), 'value')}")
    if isinstance(values, list):
        words = list(dict.fromkeys([*values, default]))
        places = numpy.array([words.index(value) for value in (*values, default)], "int64")
        return Texts(_encode_as_numbers(node, keys, places[:-1], places[-1]), words)
    return _encode_as_numbers(node, keys, values, default)


def _encode_as_numbers(node: OnnxNode, keys: Listed, values: Array, default: Array) -> Value:
    import numpy

    if (texts := node.texts(0)) is not None:
        if not isinstance(keys, list):
            raise node.fail("the keys are numbers, but the input holds strings")
        by_word = dict(zip(keys, values.tolist(), strict=True))
        return looked_up(texts, numpy.array([by_word.get(word, default) for word in texts.words], values.dtype))
    if isinstance(keys, list):
        raise node.fail(f"the keys are strings, but the input is {node.value(0).dtype}")
    return Value(ssa=_map_numbers(node, keys, values, default))


def _map_numbers(node: OnnxNode, keys: Array, values: Array, default: Array) -> Tensor:
    import numpy

    expected = {"float32": "f32", "float64": "f64"}.get(keys.dtype.name, f"i{8 * keys.dtype.itemsize}")
    if node.value(0).dtype != expected:
        raise node.fail(f"the keys are {expected}, but the input is {node.value(0).dtype}")
    x = node.tensor(0)
    held = dict(zip(keys.tolist(), values.tolist(), strict=True))
    # The first versions do not find NaN.
    unordered = [key for key in held if key != key and node.version >= 4]
    ordered = [key for key in held if key == key]
    result = const(default)
    if ordered:
        found = numpy.array([held[key] for key in ordered], values.dtype)
        result = key_tables.looked_up(x, numpy.array(ordered, keys.dtype), found, default)
    if unordered:
        result = relax.where(relax.isnan(x), const(numpy.array(held[unordered[-1]], values.dtype)), result)
    return result


def _list(node: OnnxNode, kind: str) -> Listed:
    """Return keys or values from whichever attribute contains them."""
    import numpy

    if (proto := node.tensor_proto(f"{kind}_tensor")) is not None:
        return _read_list(node, proto)
    strings, floats = node.strings(f"{kind}_strings"), node.floats(f"{kind}_floats")
    if strings is not None:
        return list(strings)
    if floats is not None:
        return numpy.array(floats, "float32")
    return numpy.array(node.ints(f"{kind}_int64s") or [], "int64")


def _read_list(node: OnnxNode, proto: TensorProto) -> Listed:
    held = held_of(proto, node.graph.model.data)
    array = held.array if isinstance(held, Value) else held.places.array
    assert array is not None
    return array.ravel() if isinstance(held, Value) else [held.words[place] for place in array.ravel()]


def _default(node: OnnxNode, values: Listed) -> Any:
    import numpy

    proto = node.tensor_proto("default_tensor")
    held = None if proto is None else _read_list(node, proto)
    if held is not None and (len(held) != 1 or isinstance(held, list) != isinstance(values, list)):
        raise node.fail("must be one value of the values' type", "default_tensor")
    if isinstance(values, list):
        return node.string("default_string", "_Unused") if held is None else held[0]
    if held is not None and not isinstance(held, list):
        return held.reshape(()).astype(values.dtype)
    is_real = values.dtype.kind == "f"
    return numpy.array(node.float("default_float", -0.0) if is_real else node.int("default_int64", -1), values.dtype)


# ---- dictionaries ----


@register_onnx(_ML, "ZipMap")
def zip_map(node: OnnxNode) -> Outputs:
    """Return the scores unchanged, one column per class. Callers can build a dictionary for each row."""
    labels = node.strings("classlabels_strings") or node.ints("classlabels_int64s") or []
    columns = (node.value(0).shape or (None,))[-1]
    if isinstance(columns, int) and columns != len(labels):
        raise node.fail(f"there are {counted(len(labels), 'label')} for {counted(columns, 'column')} of scores")
    return node.value(0)


_WITHOUT_TENSORS = ("DictVectorizer", "CastMap")


@register_onnx(_ML, _WITHOUT_TENSORS)
def without_tensors(node: OnnxNode) -> Outputs:
    raise node.fail("takes dictionaries, but only tensors can be passed")
