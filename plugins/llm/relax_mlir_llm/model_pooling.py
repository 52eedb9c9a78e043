# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling of embeddings that a model's files state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import relax_mlir as rx

from .pooling import Pooling, is_pooling, poolings
from .safetensors_source import read_json
from .weights import Source

#: Pooling of models that state none: causal attention shows all tokens to the last one only.
_DEFAULT: Pooling = "last"
#: The same of encoders, as in sentence-transformers.
_ENCODER_DEFAULT: Pooling = "mean"
#: Numbers of poolings in GGUF's metadata. llama.cpp reads 0 as no pooling.
_GGUF = {1: "mean", 2: "cls", 3: "last", 4: "rank"}
#: Files of the package sentence-transformers.
_MODULES, _POOLING = "modules.json", "1_Pooling/config.json"
_PREFIX = "pooling_mode_"
_NAMES = {"mean_tokens": "mean", "cls_token": "cls", "lasttoken": "last", "mean": "mean", "last": "last"}
#: Parts of a model of sentence-transformers that `Model.embed` computes.
_PARTS = ("Transformer", "Pooling", "Normalize")


def model_pooling(source: Source, *, is_encoder: bool = False) -> Pooling:
    """Return the pooling that a model's files state, "last", or "mean" of an encoder, if the files state none."""
    facts, folder = source.facts, Path(source.path)
    default = _ENCODER_DEFAULT if is_encoder else _DEFAULT
    if facts.is_gguf:
        number = int(facts.number("pooling_type", 0))
        return _check_pooling(source.path, _GGUF.get(number, str(number)) if number else default, is_encoder)
    _check_parts(folder)
    if not (folder / _POOLING).exists():
        return default
    stated = read_json(folder / _POOLING, "it states the pooling of embeddings")
    name = stated.get("pooling_mode")
    names = [name] if isinstance(name, str) else [key.removeprefix(_PREFIX) for key in _modes(stated)]
    return _check_pooling(source.path, " and ".join(_NAMES.get(each, each) for each in names) or default, is_encoder)


def _modes(stated: Mapping[str, object]) -> list[str]:
    return [key for key, value in stated.items() if key.startswith(_PREFIX) and value is True]


def _check_parts(folder: Path) -> None:
    """Raise RefusalError for a model that changes embeddings after the pooling, by a matrix for example."""
    if not (folder / _MODULES).exists():
        return
    try:
        modules = json.loads((folder / _MODULES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise rx.ModelError(f"cannot read {folder / _MODULES}: {error}") from None
    parts = modules if isinstance(modules, list) else []
    kinds = [str(part.get("type")).rpartition(".")[2] for part in parts if isinstance(part, Mapping)]
    if (other := next((kind for kind in kinds if kind not in _PARTS), None)) is not None:
        raise rx.RefusalError(
            f"{folder / _MODULES}: the part '{other}' of embeddings is not supported (supported: {', '.join(_PARTS)})"
        )


def _check_pooling(path: str, name: str, is_encoder: bool) -> Pooling:
    if not is_pooling(name, is_encoder):
        known = ", ".join(poolings(is_encoder))
        raise rx.RefusalError(f"{path}: the pooling '{name}' is not supported (supported: {known})")
    return name
