# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of experts' weights of Hugging Face: one form for Mixtral's files, other files, and modules of transformers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy

from .weights import Weight

#: Architectures with experts.
WITH_EXPERTS = ("mixtral", "qwen3_moe", "gpt_oss")
_MIXTRAL = re.compile(r"(.*\.)block_sparse_moe\.(?:gate|experts\.(\d+)\.(w[123]))\.weight")
_PARTS = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}
#: Modules of transformers have the experts of a layer in one weight, the gate in front of the other matrix.
_STACKED = re.compile(r"(.*\.mlp\.experts\.)(gate_up_proj|down_proj)")


#: Weights of gpt-oss: the columns of the gate and of the other matrix take turns, and matrices are transposed.
_GPT_OSS = re.compile(r"(.*\.)(?:self_attn\.sinks|mlp\.router\.(\w+)|mlp\.experts\.(gate_up|down)_proj(_bias)?)")
_COLUMNS = {
    "gate_up": {"gate_proj": slice(0, None, 2), "up_proj": slice(1, None, 2)},
    "down": {"down_proj": slice(None)},
}


def with_expert_names(tensors: Mapping[str, Weight], architecture: str) -> dict[str, Weight]:
    """Return weights under names such as `model.layers.0.mlp.experts.3.up_proj.weight`."""
    rename = _rename_gpt_oss if architecture == "gpt_oss" else _rename_stacked
    return {name: weight for key, tensor in tensors.items() for name, weight in rename(key, tensor)}


def _rename_gpt_oss(name: str, weight: Weight) -> Iterator[tuple[str, Weight]]:
    if (match := _GPT_OSS.fullmatch(name)) is None:
        yield name, weight
        return
    before, router, part, bias = match.groups()
    if part is None:
        yield f"{before}mlp.gate.{router}" if router else f"{name}.weight", weight
        return
    for number in range(weight.shape[0]):
        for kind, columns in _COLUMNS[part].items():
            own = f"{before}mlp.experts.{number}.{kind}.{'bias' if bias else 'weight'}"
            yield own, _transpose_columns(weight.part(number), own, columns)


def _transpose_columns(weight: Weight, name: str, columns: slice) -> Weight:
    """Return some columns as rows of another matrix, or some elements of a vector."""
    is_bytes = weight.type == "BF16"
    elements = weight.data.view(numpy.uint16) if is_bytes else weight.data
    data = numpy.ascontiguousarray(elements[..., columns].T)
    return Weight(name, data.shape, weight.type, data.view(numpy.uint8) if is_bytes else data)


def _rename_stacked(name: str, weight: Weight) -> Iterator[tuple[str, Weight]]:
    if match := _STACKED.fullmatch(name):
        before, part = match.groups()
        for number in range(weight.shape[0]):
            for kind, matrix in _matrices(part, weight.part(number)):
                own = f"{before}{number}.{kind}.weight"
                yield own, replace(matrix, name=own)
    elif match := _MIXTRAL.fullmatch(name):
        before, expert, part = match.groups()
        yield (
            f"{before}mlp.gate.weight" if expert is None else f"{before}mlp.experts.{expert}.{_PARTS[part]}.weight",
            weight,
        )
    else:
        yield name, weight


def _matrices(part: str, weight: Weight) -> Iterator[tuple[str, Weight]]:
    if part == "down_proj":
        yield part, weight
        return
    half = weight.shape[0] // 2
    yield "gate_proj", weight.take_rows(slice(0, half))
    yield "up_proj", weight.take_rows(slice(half, None))
