# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes of litert-quantizer's policies and recipe files, which name TensorFlow Lite's operators.

A policy lists configurations, and the operators that may take each. A recipe file is a list of steps. Later steps
replace earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from relax_mlir.passes.graph.recipes.recipe import Entry, Fixed, Float, Op, Recipe, Share
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.suggest import suggest

from .foreign_file import ForeignFile, layer_pattern, operands_of

#: Operators of TensorFlow Lite -> kinds of layers.
_KINDS = {
    "CONV_2D": "conv", "DEPTHWISE_CONV_2D": "conv", "CONV_2D_TRANSPOSE": "conv_transpose", "FULLY_CONNECTED": "linear",
    "BATCH_MATMUL": "product", "ADD": "relax.add", "SUB": "relax.subtract", "MUL": "relax.multiply",
    "DIV": "relax.divide", "MAXIMUM": "relax.maximum", "GELU": "relax.nn.gelu", "MEAN": "relax.mean",
    "SUM": "relax.sum", "RSQRT": "relax.rsqrt", "SQRT": "relax.sqrt", "SOFTMAX": "relax.nn.softmax",
    "LOGISTIC": "relax.sigmoid", "TANH": "relax.tanh", "RELU": "relax.nn.relu",
}  # fmt: skip
_WEIGHTED = ("conv", "conv_transpose", "linear")
_SHARES = {"CONCATENATION": "relax.concat", "AVERAGE_POOL_2D": "relax.nn.avg_pool2d"}
#: Operators without a scale of their own in recipes.
_MOVES = frozenset(
    "INPUT OUTPUT RESHAPE TRANSPOSE SPLIT STRIDED_SLICE SLICE MAX_POOL_2D GATHER GATHER_ND PACK UNPACK BROADCAST_TO "
    "SPACE_TO_DEPTH".split()
)
#: Ranges of results that TensorFlow Lite prescribes, as the share of 1 that 8 bits count, and the zero point.
_FIXED = {"SOFTMAX": (256, -128), "LOGISTIC": (256, -128), "TANH": (128, 0)}
_CONFIG = (
    "activation_tensor_config", "weight_tensor_config", "compute_precision", "explicit_dequantize", "skip_checks",
    "min_weight_elements",
)  # fmt: skip
_TENSOR = ("num_bits", "symmetric", "granularity", "dtype", "algorithm_params", "algorithm_key", "block_size")
_STEP = ("regex", "operation", "algorithm_key", "op_config")
#: Algorithms that choose scales, which options of rx.quantize do here.
_SCALES = ("min_max_uniform_quantize", "OCTAV", "MSE", "GPTQ", "OSCAR", "dequantized_weight_recovery")
_NO_QUANTIZE = "no_quantize"


class _Types(NamedTuple):
    """Types of a configuration: of activations, none for real ones, and of weights."""

    activations: tuple[str, ...]
    weights: tuple[str, ...]


def is_litert(content: object) -> bool:
    """Check whether JSON is a policy or a recipe of litert-quantizer."""
    return isinstance(content, list) or (isinstance(content, dict) and "ops_per_config" in content)


def from_litert(path: str | Path, config: str | None = None) -> Recipe:
    """Return the recipe of a policy or a recipe file of litert-quantizer (formerly ai-edge-quantizer).

    config: the configuration of a policy to use. Without it, all configurations of an operator are alternatives, in the
    order of the file. Warns about parts that a recipe does not express, by name and line.
    """
    file = ForeignFile(path)
    if not is_litert(file.content):
        raise RelaxError(f"{path}: not a file of litert-quantizer: it has no 'ops_per_config', and is no list of steps")
    reader = _Reader(file)
    if isinstance(file.content, dict):
        reader.read_policy(file.content, config)
    elif config is not None:
        raise OptionError(f"{path}: config='{config}' is for policies, and this file is a list of steps")
    else:
        reader.read_steps(file.content)
    made = reader.recipe()
    file.tell()
    return made


class _Reader:
    def __init__(self, file: ForeignFile):
        self._file = file
        #: Types by operator. Operators without types stay real.
        self._found: dict[str, list[_Types]] = {}

    # ---- files ----

    def read_policy(self, content: dict[str, object], config: str | None) -> None:
        self._file.check_names(content, ("configs", "ops_per_config"), ())
        configs, operators = (content.get(name) for name in ("configs", "ops_per_config"))
        if not isinstance(configs, dict) or not isinstance(operators, dict):
            raise self._file.fail((), "expected the objects 'configs' and 'ops_per_config'")
        if config is not None and config not in configs:
            raise OptionError(f"{self._file.path} has no config '{config}'{suggest(config, configs)}")
        for name, listed in operators.items():
            names = ("ops_per_config", name)
            if name not in configs:
                raise self._file.fail(names, f"'configs' has no such name{suggest(name, configs)}")
            if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
                raise self._file.fail(names, f"expected a list of operators, got {listed!r:.40}")
            types = self._types(configs[name], ("configs", name)) if config in (None, name) else None
            for operator in listed if types is not None else ():
                if types is not None and self._is_known(operator, (*names, operator)):
                    self._found.setdefault(operator, []).append(types)

    def read_steps(self, steps: object) -> None:
        for place, step in enumerate(steps if isinstance(steps, list) else ()):
            given = self._file.check_names(step, _STEP, (place,))
            if given.get("regex", ".*") not in (".*", "*", ""):
                problem = "a recipe has no scopes: use the recipe of one scope, and keep= for nodes that stay real"
                raise self._file.fail((place, "regex", str(given["regex"])), problem)
            operation, algorithm = (str(given.get(name, "")) for name in ("operation", "algorithm_key"))
            names = (place, operation, algorithm)
            types = None
            if algorithm in _SCALES:
                types = self._types(given.get("op_config"), (place, "op_config"))
            elif algorithm != _NO_QUANTIZE:
                raise self._file.fail(names, f"a recipe has no such algorithm; known are {', '.join(_SCALES)}")
            if algorithm in _SCALES[1:]:
                self._file.warn(names, f"rx.quantize chooses scales by its options, not by '{algorithm}'")
            targets = (*_KINDS, *_SHARES) if operation == "*" else (operation,)
            for target in targets:
                if self._is_known(target, names) and (types is not None or algorithm == _NO_QUANTIZE):
                    self._found[target] = [] if types is None else [types]

    def _is_known(self, operator: str, names: Sequence[object]) -> bool:
        if operator in _MOVES:
            return False
        if operator in _KINDS or operator in _SHARES:
            return True
        self._file.warn(names, "left out: a recipe has no such operator, so it stays real")
        return False

    # ---- types ----

    def _types(self, config: object, names: Sequence[object]) -> _Types | None:
        """Return the types of a configuration, or None with a warning if recipes lack them."""
        given = self._file.check_names(config, _CONFIG, names)
        weights = self._tensor(given.get("weight_tensor_config"), (*names, "weight_tensor_config"), is_weight=True)
        if given.get("min_weight_elements"):
            self._file.warn((*names, "min_weight_elements"), "left out: use keep= for layers with few weights")
        if (precision := given.get("compute_precision", "INTEGER")) not in ("INTEGER", "FLOAT"):
            raise self._file.fail((*names, "compute_precision"), f"expected INTEGER or FLOAT, got {precision!r:.40}")
        if "activation_tensor_config" in given:
            place = (*names, "activation_tensor_config")
            activations = self._tensor(given["activation_tensor_config"], place, is_weight=False)
        else:
            activations = ("i8 dynamic",) if precision == "INTEGER" else ()
        if weights is None or activations is None:
            return None
        return _Types(activations, weights)

    def _tensor(self, config: object, names: Sequence[object], *, is_weight: bool) -> tuple[str, ...] | None:
        given = self._file.check_names(config, _TENSOR, names)
        if given.get("block_size"):
            raise self._file.fail((*names, "block_size"), "state blocks as the granularity, such as BLOCKWISE_32")
        bits, kind = given.get("num_bits"), given.get("dtype", "INT")
        if kind not in ("INT", "UINT", "FLOAT"):
            raise self._file.fail((*names, "dtype"), f"expected INT, UINT or FLOAT, got {kind!r:.40}")
        if kind == "FLOAT" or bits not in (4, 8, 16):
            self._file.warn((*names, "num_bits"), f"left out: recipes have no {kind} type of {bits} bits")
            return None
        name = f"{'u' if kind == 'UINT' else 'i'}{bits}"
        found = []
        for granularity in _list(given.get("granularity", "TENSORWISE")):
            for is_symmetric in _list(given.get("symmetric", True)):
                if not isinstance(is_symmetric, bool):
                    raise self._file.fail((*names, "symmetric"), f"expected true or false, got {is_symmetric!r:.40}")
                words = " symmetric" if is_symmetric else ""
                words += " narrow" if is_symmetric and is_weight else ""
                found.append(name + self._granularity(granularity, names) + words)
        return tuple(dict.fromkeys(found))

    def _granularity(self, text: object, names: Sequence[object]) -> str:
        kind, _, size = str(text).partition("_")
        if kind == "BLOCKWISE" and size.isdecimal():
            return f"@block{size}"
        if text not in ("TENSORWISE", "CHANNELWISE"):
            known = "expected TENSORWISE, CHANNELWISE or BLOCKWISE_32"
            raise self._file.fail((*names, "granularity"), f"{known}, got {text!r:.40}")
        return "@channel" if text == "CHANNELWISE" else ""

    # ---- entries ----

    def recipe(self) -> Recipe:
        entries: dict[str, Entry] = {}
        kinds: dict[str, str] = {}
        for operator, kind in ((name, kind) for name, kind in _KINDS.items() if name in self._found):
            types = self._found[operator]
            first = kinds.setdefault(kind, operator)
            if types != self._found[first]:
                self._file.warn((), f"a recipe has one entry for {first} and {operator}: that of {first}")
                continue
            if types and kind not in entries and (kind in _WEIGHTED or any(type_.activations for type_ in types)):
                entries[kind] = self._entry(operator, kind, types)
        shared = [_SHARES[each] for each in self._found if each in _SHARES and self._found[each]]
        kept = [
            _KINDS[name] for name, types in self._found.items() if not types and _KINDS.get(name, "") not in entries
        ]
        real = [fromkey for fromkey in dict.fromkeys(kept) if fromkey.startswith("relax.")]
        if not any(isinstance(entry, Op) for entry in entries.values()):
            raise RelaxError(f"{self._file.path}: the file quantizes no operator that a recipe has")
        return Recipe(*entries.values(), *([Share(*shared)] if shared else []), *([Float(*real)] if real else []))

    def _entry(self, operator: str, kind: str, types: Sequence[_Types]) -> Entry:
        data = tuple(dict.fromkeys(activation for type_ in types for activation in type_.activations))
        weights = tuple(dict.fromkeys(weight for type_ in types for weight in type_.weights))
        if operator in _FIXED and data and "dynamic" not in data[0]:
            return _make_fixed(operator, kind, data[0].split()[0])
        operands: dict[str, Any] = {"x": data} if data else {}
        for name in operands_of(kind):
            if name == "w":
                operands[name] = weights
            elif name == "other" and data:
                operands[name] = data
            elif name == "bias" and data and not any("@block" in weight for weight in weights):
                operands[name] = ("i32 derived",)
        if kind in _WEIGHTED and not data:
            return Op(kind, pattern=layer_pattern(kind), y=None, **operands)
        return Op(kind, pattern=layer_pattern(kind, (("relax.nn.relu",), ("relax.clip",))), **operands)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _make_fixed(operator: str, kind: str, name: str) -> Fixed:
    steps, zero = _FIXED[operator]
    if name == "i16":
        return Fixed(kind, scale=1 / 32768, type="i16 symmetric")
    return Fixed(kind, scale=1 / steps, zero=zero, type="i8" if zero else "i8 symmetric")
