# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes of AIMET's quantsim configurations, which name ONNX's operators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from relax_mlir.passes.graph.recipes.operand_types import QUANTIZED, parse_operand_type
from relax_mlir.passes.graph.recipes.recipe import Entry, Fixed, Float, Op, Recipe, Share
from relax_mlir.support.errors import RelaxError

from .foreign_file import ForeignFile, layer_pattern, operands_of

#: Operators of ONNX -> kinds of layers.
_KINDS = {
    "Conv": "conv", "ConvTranspose": "conv_transpose", "Gemm": "linear", "MatMul": "product",
    "Add": "relax.add", "Sub": "relax.subtract", "Mul": "relax.multiply", "Div": "relax.divide",
    "Max": "relax.maximum", "Min": "relax.minimum", "LayerNormalization": "relax.nn.layer_norm",
    "RMSNormalization": "relax.nn.rms_norm", "Relu": "relax.nn.relu", "LeakyRelu": "relax.nn.leakyrelu",
    "PRelu": "relax.nn.prelu", "Gelu": "relax.nn.gelu", "Clip": "relax.clip", "Sigmoid": "relax.sigmoid",
    "Tanh": "relax.tanh", "Softmax": "relax.nn.softmax", "Sin": "relax.sin", "Cos": "relax.cos", "Exp": "relax.exp",
    "Sqrt": "relax.sqrt", "Mean": "relax.mean", "ReduceMean": "relax.mean", "ReduceSum": "relax.sum",
}  # fmt: skip
#: Operators that share the scale of their operands with results.
_SHARES = {
    "Concat": ("relax.concat",),
    "AveragePool": ("relax.nn.avg_pool1d", "relax.nn.avg_pool2d", "relax.nn.avg_pool3d"),
    "GlobalAveragePool": ("relax.nn.adaptive_avg_pool2d",),
}
#: Operators without a scale of their own: views, and norms that are folded into weights.
_MOVES = frozenset(
    "BatchNormalization Cast ChannelShuffle Expand Flatten Gather Identity MaxPool NonMaxSuppression Reshape Slice "
    "Split Squeeze Transpose Unsqueeze".split()
)
_DEFAULTS = (
    "ops", "params", "strict_symmetric", "unsigned_symmetric", "per_channel_quantization", "supported_kernels",
    "hw_version",
)  # fmt: skip
_OF_OPERATORS = (
    "is_input_quantized", "is_output_quantized", "is_symmetric", "params", "per_channel_quantization",
    "encoding_constraints", "supported_kernels", "strict_symmetric", "unsigned_symmetric",
)  # fmt: skip
_SECTIONS = (
    "defaults", "params", "op_type", "supergroups", "supergroup_pass_list", "model_input", "model_output", "version",
)  # fmt: skip


def is_aimet(content: object) -> bool:
    """Check whether JSON is a quantsim configuration."""
    return isinstance(content, dict) and "defaults" in content


def from_aimet(path: str | Path, *, activation_bits: int = 8, weight_bits: int = 8) -> Recipe:
    """Return the recipe of an AIMET quantsim configuration.

    activation_bits, weight_bits: the widths that AIMET takes beside the file. Widths that the file lists as supported
    kernels are alternatives. Warns about parts that a recipe does not express, by name and line.
    """
    file = ForeignFile(path)
    made = _Configuration(file, activation_bits, weight_bits).recipe()
    file.tell()
    return made


class _Configuration:
    def __init__(self, file: ForeignFile, activation_bits: int, weight_bits: int):
        self._file, self._bits = file, {"activation": activation_bits, "param": weight_bits}
        for name, bits in self._bits.items():
            if f"i{bits}" not in QUANTIZED or bits > 16:
                raise RelaxError(f"from_aimet: {name}s of {bits!r} bits: expected 4, 8 or 16")
        if not is_aimet(file.content):
            raise RelaxError(f"{file.path}: not a quantsim configuration of AIMET: it has no 'defaults'")
        self._sections = file.check_names(file.content, _SECTIONS, ())
        self._defaults = self._object("defaults", _DEFAULTS)
        self._ops = file.check_names(
            self._defaults.get("ops", {}), ("is_output_quantized", "is_input_quantized", "is_symmetric"),
            ("defaults", "ops"),
        )  # fmt: skip
        self._types: Mapping[str, object] = self._object("op_type", None)
        self._params = self._object("params", None)

    def _object(self, section: str, known: Sequence[str] | None) -> dict[str, object]:
        given = self._sections.get(section, {})
        return self._file.check_names(
            given, given if known is None and isinstance(given, dict) else known or (), (section,)
        )

    def recipe(self) -> Recipe:
        chains = self._chains()
        entries: list[Entry] = []
        floats: list[str] = []
        for name, kind in _KINDS.items():
            entry = self._entry(name, kind, chains[name])
            if entry is not None and all(set(entry.names).isdisjoint(each.names) for each in entries):
                entries.append(entry)
            elif entry is None and kind.startswith("relax."):
                floats.append(kind)
        for name, operators in _SHARES.items():
            if self._flag(name, "is_output_quantized"):
                entries.append(Share(*operators))
        self._check_rest()
        used = {each for entry in entries for each in entry.names}
        left = [fromkey for fromkey in dict.fromkeys(floats) if fromkey not in used]
        return Recipe(*entries, *([Float(*left)] if left else []))

    # ---- layers ----

    def _entry(self, name: str, kind: str, chains: Sequence[Sequence[str]]) -> Entry | None:
        own = self._own(name)
        if not self._flag(name, "is_output_quantized") and not self._flag(name, "is_input_quantized"):
            return None
        if (fixed := self._read_fixed(name, kind, own)) is not None:
            return fixed
        data = self._activations(name)
        types: dict[str, Any] = {"x": data}
        for operand in operands_of(kind):
            found = data if operand == "other" else self._parameter(name, operand)
            if found:
                types[operand] = found
        if not self._flag(name, "is_output_quantized"):
            return Op(kind, pattern=layer_pattern(kind, chains), y=None, **types)
        return Op(kind, pattern=layer_pattern(kind, chains), may_be_real=False, **types)

    def _own(self, name: str) -> dict[str, object]:
        return self._file.check_names(self._types.get(name, {}), _OF_OPERATORS, ("op_type", name))

    def _flag(self, name: str, flag: str) -> bool:
        """Return a flag of an operator, by default that of all operators."""
        own = self._own(name)
        if flag in own:
            return self._is_true(own[flag], ("op_type", name, flag))
        place = self._ops if flag in ("is_output_quantized", "is_input_quantized", "is_symmetric") else self._defaults
        names = ("defaults", "ops", flag) if place is self._ops else ("defaults", flag)
        return flag in place and self._is_true(place[flag], names)

    def _is_true(self, value: object, names: Sequence[str]) -> bool:
        if value in ("True", "False") or isinstance(value, bool):
            return value in ("True", True)
        raise self._file.fail(names, f"expected 'True' or 'False', got {value!r:.40}")

    def _activations(self, name: str) -> list[str]:
        is_symmetric = self._flag(name, "is_symmetric")
        return [self._type(bits, is_symmetric, "") for bits in self._widths(name, "activation")]

    def _type(self, bits: int, is_symmetric: bool, granularity: str) -> str:
        if not is_symmetric:
            return f"u{bits}{granularity}"
        return f"i{bits}{granularity} symmetric" + (" narrow" if self._is_strict() else "")

    def _is_strict(self) -> bool:
        return self._is_true(self._defaults.get("strict_symmetric", False), ("defaults", "strict_symmetric"))

    def _parameter(self, name: str, operand: str) -> list[str]:
        """Return the types of weights or of a bias, or none if the operand stays real."""
        parameter = "weight" if operand == "w" else operand
        if not self._read_parameter_flag(name, parameter, "is_quantized"):
            return []
        if operand == "bias":
            return ["i32 derived"]
        granularity = "@channel" if self._flag(name, "per_channel_quantization") else ""
        is_symmetric = self._read_parameter_flag(name, parameter, "is_symmetric")
        return [self._type(bits, is_symmetric, granularity) for bits in self._widths(name, "param")]

    def _read_parameter_flag(self, name: str, parameter: str, flag: str) -> bool:
        """Return a flag of a parameter: of the operator, of all parameters of this name, or the default."""
        own = self._own(name).get("params", {})
        places: list[tuple[object, tuple[str, ...]]] = [
            (own, ("op_type", name, "params")), (self._params, ("params",)),
        ]  # fmt: skip
        for found, names in places:
            if isinstance(found, dict) and parameter in found:
                flags = self._file.check_names(found[parameter], ("is_quantized", "is_symmetric"), (*names, parameter))
                if flag in flags:
                    return self._is_true(flags[flag], (*names, parameter, flag))
        defaults = self._file.check_names(
            self._defaults.get("params", {}), ("is_quantized", "is_symmetric"), ("defaults", "params")
        )
        return flag in defaults and self._is_true(defaults[flag], ("defaults", "params", flag))

    def _widths(self, name: str, part: str) -> list[int]:
        """Return the widths of activations or weights: the chosen width, then the widths of supported kernels."""
        own = self._own(name)
        names = (
            ("op_type", name, "supported_kernels") if "supported_kernels" in own else ("defaults", "supported_kernels")
        )
        kernels = own.get("supported_kernels", self._defaults.get("supported_kernels", []))
        widths = [self._bits[part]]
        for kernel in kernels if isinstance(kernels, list) else [kernels]:
            given = kernel.get(part) if isinstance(kernel, dict) else None
            if not isinstance(given, dict) or not isinstance(given.get("bitwidth"), int):
                raise self._file.fail(names, f"expected kernels with a 'bitwidth' of '{part}', got {kernel!r:.60}")
            if given.get("dtype", "int") == "int" and given["bitwidth"] <= 16:
                widths.append(given["bitwidth"])
        return list(dict.fromkeys(widths))

    def _read_fixed(self, name: str, kind: str, own: Mapping[str, object]) -> Fixed | None:
        names = ("op_type", name, "encoding_constraints")
        limits = self._file.check_names(own.get("encoding_constraints", {}), ("min", "max"), names)
        for key, number in limits.items():
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise self._file.fail((*names, key), f"expected a number, got {number!r:.40}")
        if len(limits) < 2:
            if limits and not (name == "Relu" and limits.get("min") == 0):
                self._file.warn(names, "left out: a recipe fixes both ends of a range, or none")
            return None
        if not kind.startswith("relax."):
            self._file.warn(names, "left out: a recipe fixes the range of operators without weights only")
            return None
        return self._fixed_range(name, kind, float(str(limits["min"])), float(str(limits["max"])))

    def _fixed_range(self, name: str, kind: str, least: float, most: float) -> Fixed:
        if not least < most or least > 0 or most < 0:
            names = ("op_type", name, "encoding_constraints")
            raise self._file.fail(names, f"expected a range that includes 0, got {least:g} to {most:g}")
        type_ = parse_operand_type(self._activations(name)[0], name)
        low, high = type_.limits
        if type_.symmetric:
            return Fixed(kind, scale=max(-least, most) / high, type=str(type_))
        scale = (most - least) / (high - low)
        return Fixed(kind, scale=scale, zero=round(low - least / scale), type=str(type_))

    # ---- other sections ----

    def _chains(self) -> dict[str, list[list[str]]]:
        """Return the operators that follow inside of layers, by the layer's operator."""
        chains: dict[str, list[list[str]]] = defaultdict(list)
        told: set[str] = set()
        groups = self._sections.get("supergroups", [])
        for place, group in enumerate(groups if isinstance(groups, list) else [groups]):
            names = ("supergroups", place, "op_list")
            operators = group.get("op_list") if isinstance(group, dict) else None
            if not isinstance(operators, list) or not all(isinstance(operator, str) for operator in operators):
                raise self._file.fail(names, f"expected a list of operators, got {operators!r:.60}")
            first, *others = [operator for operator in operators if operator != "BatchNormalization"] or [""]
            kinds = ["relax.permute_dims" if each == "Transpose" else _KINDS.get(each, "") for each in others]
            unknown = next(
                (each for each, kind in zip(others, kinds, strict=True) if not kind.startswith("relax.")), ""
            )
            unknown = unknown or ("" if first in _KINDS or not others else first)
            if not others or unknown in told:
                continue
            if unknown:
                told.add(unknown)
                self._file.warn(("supergroups", place, *operators), f"left out, as all groups with '{unknown}'")
            else:
                chains[first].append(kinds)
        return chains

    def _check_rest(self) -> None:
        if self._parameter("Gemm", "w") != self._parameter("MatMul", "w"):
            problem = "weights of MatMul have the types of Gemm's: a recipe has one entry for products with weights"
            self._file.warn(("op_type",), problem)
        for name in self._types:
            self._own(name)
            if name not in _KINDS and name not in _SHARES and name not in _MOVES:
                self._file.warn(("op_type", name), "left out: a recipe has no such operator, so it stays real")
        if self._is_true(self._defaults.get("unsigned_symmetric", False), ("defaults", "unsigned_symmetric")):
            self._file.warn(("defaults", "unsigned_symmetric"), "left out: symmetric types of recipes are signed")
        names = self._file.check_names(
            self._sections.get("model_input", {}), ("is_input_quantized",), ("model_input",)
        )  # fmt: skip
        if not self._is_true(names.get("is_input_quantized", False), ("model_input", "is_input_quantized")):
            self._file.warn(("model_input",), "left out: layers of recipes quantize the inputs that they read")
        names = self._file.check_names(
            self._sections.get("model_output", {}), ("is_output_quantized",), ("model_output",)
        )  # fmt: skip
        self._is_true(names.get("is_output_quantized", True), ("model_output", "is_output_quantized"))
