# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of transformers: weights and configuration of a model in memory, by the module's own methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy
import relax_mlir as rx

from .safetensors_source import HuggingFaceSource
from .weights import Weight

if TYPE_CHECKING:
    from numpy import ndarray

#: Types of elements in torch -> GGUF's name.
_TYPES = {"torch.float64": "F64", "torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16"}


class ReadableTensor(Protocol):
    """Part of `torch.Tensor` that a source reads."""

    dtype: object
    shape: tuple[int, ...]
    is_meta: bool

    def detach(self) -> ReadableTensor:
        """Return the tensor without a gradient."""

    def cpu(self) -> ReadableTensor:
        """Return the tensor in the memory of the CPU."""

    def contiguous(self) -> ReadableTensor:
        """Return the tensor in the order of rows."""

    def flatten(self) -> ReadableTensor:
        """Return the elements in one dimension."""

    def short(self) -> ReadableTensor:
        """Return the elements as integers of 16 bits."""

    def view(self, dtype: object) -> ReadableTensor:
        """Return the tensor with another type of the same bits."""

    def numpy(self) -> ndarray:
        """Return an array of the same memory."""

    def __getitem__(self, index: slice) -> ReadableTensor:
        """Return a part of the tensor."""


class Settings(Protocol):
    """Part of `transformers.PreTrainedConfig` and `transformers.GenerationConfig` that a source reads."""

    def to_dict(self) -> dict[str, object]:
        """Return the entries of the JSON file."""


class SavesTokenizer(Protocol):
    """Tokenizer of transformers."""

    def save_pretrained(self, save_directory: str) -> object:
        """Write tokenizer.json and the settings to a folder."""


class Module(Protocol):
    """Part of `transformers.PreTrainedModel` that a source reads."""

    config: Settings

    def state_dict(self) -> Mapping[str, ReadableTensor]:
        """Return the weights by name."""


def is_module(model: object) -> TypeGuard[Module]:
    """Check whether an object has weights and a configuration, as a module of transformers has."""
    return hasattr(model, "state_dict") and hasattr(getattr(model, "config", None), "to_dict")


def module_source(module: Module) -> HuggingFaceSource:
    """Return the source of weights of a module. Weights in the memory of the CPU are not copied."""
    name = type(module).__name__
    tensors = {key: _weight(name, key, tensor) for key, tensor in module.state_dict().items()}
    return HuggingFaceSource(name, module.config.to_dict(), tensors)


def module_ends(module: Module) -> frozenset[int]:
    """Return the tokens at which the module's own `generate` ends an answer."""
    settings = getattr(module, "generation_config", None) or module.config
    eos_token_id = settings.to_dict().get("eos_token_id")
    return frozenset(
        each for each in (eos_token_id if isinstance(eos_token_id, list) else [eos_token_id]) if isinstance(each, int)
    )


def _weight(module: str, name: str, tensor: ReadableTensor) -> Weight:
    if str(tensor.dtype) not in _TYPES:
        raise rx.RefusalError(
            f"{module}: the tensor '{name}' has elements of {tensor.dtype}, expected one of {', '.join(_TYPES)}: load "
            "the module without quantization"
        )
    if tensor.is_meta:
        raise rx.ModelError(f"{module}: the tensor '{name}' is on the device meta and has no data: load its weights")
    kind, shape, tensor = _TYPES[str(tensor.dtype)], tuple(tensor.shape), tensor.detach().cpu().contiguous()
    if kind != "BF16":
        return Weight(name, shape, kind, tensor.numpy())
    # NumPy has no bfloat16. The type of `short` is torch.int16, which this package does not import.
    bits = tensor.view(tensor.flatten()[:0].short().dtype).numpy()
    return Weight(name, shape, kind, bits.view(numpy.uint8))
