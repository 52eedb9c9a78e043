# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights under the names of Hugging Face, and folders with them: safetensors files and config.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import numpy
import relax_mlir as rx
import safetensors

from .encoder_names import ENCODERS, with_encoder_names
from .expert_names import WITH_EXPERTS, with_expert_names
from .facts import Facts
from .weights import Weight, check_shape, missing

#: Part of GGUF's name of a weight -> part of the name in safetensors files.
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate_inp": "mlp.gate",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
#: The same for models with norms behind attention and feed-forward blocks.
_POST_NORMS = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
_PHI = {
    "output_norm": "model.final_layernorm",
    "attn_output": "self_attn.dense",
    "ffn_up": "mlp.fc1",
    "ffn_down": "mlp.fc2",
}
_ENCODER = {
    "token_types": "model.token_type_embeddings",
    "position_embd": "model.position_embeddings",
    "token_embd_norm": "model.embedding_norm",
    "attn_output_norm": "post_attention_layernorm",
    "layer_output_norm": "post_mlp_layernorm",
}
#: Names of other architectures.
_NAMES_OF = {
    **dict.fromkeys(ENCODERS, _ENCODER),
    "gpt_oss": {"post_attention_norm": "post_attention_layernorm", "attn_sinks": "self_attn.sinks"},
    "gemma2": _POST_NORMS,
    "gemma3": _POST_NORMS,
    "gemma3_text": _POST_NORMS,
    "phi": _PHI,
    "phi2": _PHI,
    "starcoder2": {"ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
    "olmo2": _POST_NORMS,
    "phi3": {"ffn_up": "mlp.gate_up_proj"},
}
#: Entries that configurations leave out.
_DEFAULTS: dict[str, dict[str, object]] = {
    "phi": {"partial_rotary_factor": 0.5},
    "nomic_bert": {"rope_theta": 1000.0},
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "max_position_embeddings": 131072,
        "vocab_size": 262208,
        "query_pre_attn_scalar": 256,
        "rope_theta": 1e6,
        "sliding_window": 4096,
    },
}
#: Types of elements in safetensors files -> GGUF's name, and NumPy's type. BF16 is read as bytes.
_TYPES = {"F64": ("F64", "<f8"), "F32": ("F32", "<f4"), "F16": ("F16", "<f2"), "BF16": ("BF16", "u1")}
_BF16_BYTES = 2


class _TensorEntry(TypedDict):
    """Entry of a tensor in the header of a safetensors file, which the package safetensors has checked."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class HuggingFaceSource:
    """Source of weights with the names and the configuration of Hugging Face."""

    def __init__(self, path: str, config: Mapping[str, object], tensors: Mapping[str, Weight]) -> None:
        self.path = path
        if isinstance(text := config.get("text_config"), dict):  # a model of several kinds of inputs
            config = {**text, "model_type": text.get("model_type", config.get("model_type"))}
        if isinstance(architecture := config.get("model_type"), str):
            config = {**_DEFAULTS.get(architecture, {}), **config}
        if not isinstance(architecture, str):
            raise rx.ModelError(f"{path}: the configuration lacks 'model_type', the name of the architecture")
        self.facts = Facts(path, architecture, False, config)
        if architecture in WITH_EXPERTS:
            tensors = with_expert_names(tensors, architecture)
        self._tensors = with_encoder_names(tensors) if architecture in ENCODERS else tensors
        embeddings = (name.partition("model.embed_tokens") for name in self._tensors)
        self._prefix = next((before for before, found, _ in embeddings if found), "")
        # Models without a head, as of embeddings, may have the inner model only.
        self._is_inner = "embed_tokens.weight" in self._tensors

    def shape(self, name: str) -> tuple[int, ...] | None:
        found = self._tensors.get(self.file_name(name))
        return None if found is None else found.shape

    def read(self, name: str, shape: tuple[int, ...]) -> Weight:
        if (theirs := self.file_name(name)) not in self._tensors:
            raise missing(self.path, theirs, len(self._tensors))
        weight = self._tensors[theirs]
        check_shape(self.path, theirs, weight.shape, shape)
        return weight

    def file_shape(self, file_name: str) -> tuple[int, ...] | None:
        """Return the shape of a weight by its name in the files."""
        found = self._tensors.get(file_name)
        return None if found is None else found.shape

    def file_name(self, name: str) -> str:
        """Return the name of a weight in the files."""
        found = file_name(self.facts.architecture, name)
        return found.removeprefix("model.") if self._is_inner else f"{self._prefix}{found}"


def folder_source(folder: Path) -> HuggingFaceSource:
    """Return the source of weights in the safetensors files of a folder. Weights are mapped, not read."""
    config = read_json(folder / "config.json", "it describes the architecture of the model")
    return HuggingFaceSource(str(folder), config, tensors_in(folder))


def file_name(architecture: str, name: str) -> str:
    """Return the name in safetensors files: blk.3.attn_q.weight is model.layers.3.self_attn.q_proj.weight."""
    head, _, kind = name.rpartition(".")
    layer = ""
    if head.startswith("blk."):
        _, number, head = head.split(".", 2)
        layer = f"model.layers.{number}."
    names = {**_NAMES, **_NAMES_OF.get(architecture, {})}
    part, _, expert = head.partition(".")
    if expert:
        return f"{layer}{names[part].replace('mlp.', f'mlp.experts.{expert}.')}.{kind}"
    return f"{layer}{names.get(head, head)}.{kind}"


def read_json(path: Path, purpose: str) -> dict[str, object]:
    """Return the dictionary in a JSON file. `purpose` tells in errors for what the file is needed."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise rx.ModelError(f"{path.parent} has no {path.name}: {purpose}; copy it from the model's origin") from None
    except OSError as error:
        raise rx.ModelError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise rx.ModelError(f"{path} is no valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise rx.ModelError(f"{path} has a {type(found).__name__}, expected a dictionary")
    return found


def tensors_in(folder: Path) -> dict[str, Weight]:
    """Return the weights of all files by name."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        table = read_json(index, "it names the files of weights").get("weight_map")
        if not isinstance(table, dict) or not all(isinstance(each, str) for each in table.values()):
            raise rx.ModelError(f"{index} lacks 'weight_map', a dictionary from tensors to files")
        files = [folder / name for name in sorted(set(table.values()))]
    else:
        files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise rx.ModelError(f"{folder} has no *.safetensors files: convert the model's weights to safetensors")
    return {name: weight for file in files for name, weight in _tensors_of(file).items()}


def _tensors_of(path: Path) -> dict[str, Weight]:
    try:
        with safetensors.safe_open(str(path), "numpy"):  # checks the header and the size
            pass
        data = numpy.memmap(path, numpy.uint8, "r")
    except safetensors.SafetensorError as error:
        raise rx.ModelError(f"{path} is damaged or cut: {error}; load the file again from its origin") from None
    except OSError as error:
        raise rx.ModelError(f"cannot read {path}: {error.strerror or error}") from None
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = json.loads(data[8:start].tobytes())
    return {name: _weight(path, name, entry, data[start:]) for name, entry in header.items() if name != "__metadata__"}


def _weight(path: Path, name: str, entry: _TensorEntry, data: numpy.ndarray) -> Weight:
    kind, (first, last), shape = entry["dtype"], entry["data_offsets"], tuple(entry["shape"])
    if kind not in _TYPES:
        raise rx.RefusalError(
            f"{path}: the tensor '{name}' has elements of {kind}, expected one of {', '.join(_TYPES)}"
        )
    type_, dtype = _TYPES[kind]
    elements = data[first:last].view(dtype)
    if kind == "BF16":
        return Weight(name, shape, type_, elements.reshape(*shape[:-1], _BF16_BYTES * shape[-1]))
    return Weight(name, shape, type_, elements.reshape(shape))
