# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LoRA adapters in the format of PEFT, and models with an adapter merged into their weights."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import relax_mlir as rx

from .safetensors_source import read_json, tensors_in
from .weights import Weight

if TYPE_CHECKING:
    from .facts import Facts
    from .safetensors_source import HuggingFaceSource

_PREFIX = "base_model.model."
_PARTS = {"lora_A": ".lora_A.weight", "lora_B": ".lora_B.weight"}
#: Settings of PEFT that change the product, with the values that a merge of A and B is correct for.
_PLAIN: dict[str, tuple[object, ...]] = {
    "use_dora": (None, False),
    "fan_in_fan_out": (None, False),
    "bias": (None, "none"),
    "rank_pattern": (None, {}),
    "alpha_pattern": (None, {}),
}


class Delta(NamedTuple):
    """Change of one weight: scale * B @ A."""

    a: Weight
    b: Weight
    scale: float


class MergedSource:
    """Source of weights with an adapter added to them. A `Source`."""

    def __init__(self, source: HuggingFaceSource, folder: Path) -> None:
        self._source = source
        self.path = source.path
        self.facts: Facts = source.facts
        self._deltas = read_adapter(folder)
        for name, delta in self._deltas.items():
            if (expected := source.file_shape(name)) is None:
                raise belongs_to_another_model(folder, self.path, name)
            check_delta(folder, self.path, name, delta, expected)

    def file_name(self, name: str) -> str:
        return self._source.file_name(name)

    def shape(self, name: str) -> tuple[int, ...] | None:
        return self._source.shape(name)

    def read(self, name: str, shape: tuple[int, ...]) -> Weight:
        weight = self._source.read(name, shape)
        if (delta := self._deltas.get(self._source.file_name(name))) is None:
            return weight
        merged = weight.floats() + delta.scale * (delta.b.floats() @ delta.a.floats())
        return replace(weight, type="F32", data=merged.astype("float32"))


def belongs_to_another_model(folder: Path, path: str, name: str) -> rx.ModelError:
    """Return the error that a model has no weight with the name of a change."""
    return rx.ModelError(f"{folder}: the adapter changes '{name}', which {path} lacks: it belongs to another model")


def check_delta(folder: Path, path: str, name: str, delta: Delta, expected: tuple[int, ...]) -> None:
    """Raise ModelError if a change has another shape than the weight in a model."""
    actual = (delta.b.shape[0], delta.a.shape[1])
    if actual != expected or delta.a.shape[0] != delta.b.shape[1]:
        raise rx.ModelError(
            f"{folder}: the adapter changes '{name}' by A {delta.a.shape} and B {delta.b.shape}, and the weight in "
            f"{path} has the shape {expected}: the adapter belongs to another model"
        )


def read_adapter(folder: Path) -> dict[str, Delta]:
    """Return the changes of an adapter by the names of the weights."""
    config = read_json(folder / "adapter_config.json", "it describes the adapter")
    if config.get("peft_type", "LORA") != "LORA":
        raise rx.RefusalError(f"{folder}: the adapter has the type {config['peft_type']}, expected LORA")
    for name, allowed in _PLAIN.items():
        if config.get(name) not in allowed:
            raise rx.RefusalError(f"{folder}: adapters with {name} = {config[name]} are not supported")
    scale = _scale(config, folder)
    tensors = tensors_in(folder)
    deltas: dict[str, Delta] = {}
    for name in tensors:
        base, end = next(((name.removesuffix(end), end) for end in _PARTS.values() if name.endswith(end)), ("", ""))
        if not base or not base.startswith(_PREFIX):
            raise rx.RefusalError(f"{folder}: the adapter's tensor '{name}' is neither an A nor a B of a matrix")
        if end == _PARTS["lora_B"]:
            continue
        if (other := base + _PARTS["lora_B"]) not in tensors:
            raise rx.ModelError(f"{folder}: the adapter has '{name}' and lacks '{other}': the file is incomplete")
        deltas[f"{base.removeprefix(_PREFIX)}.weight"] = Delta(tensors[name], tensors[other], scale)
    return deltas


def _scale(config: dict[str, object], folder: Path) -> float:
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or rank < 1 or not isinstance(alpha, (int, float)):
        raise rx.ModelError(f"{folder}/adapter_config.json has r = {rank} and lora_alpha = {alpha}, expected numbers")
    return alpha / math.sqrt(rank) if config.get("use_rslora") else alpha / rank
