# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are exported from torch, with random weights: construction, inputs, and sizes.

Needs torch and transformers only when a model is built: their versions are in requirements.txt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

#: Names of dynamic sizes, with the largest value for the exporter.
BATCH, SEQUENCE, FRAMES, PAST = "batch", "sequence", "frames", "past"


@dataclass(frozen=True)
class Input:
    """Input. Names in its sizes are the dynamic sizes of the dynamic variant."""

    name: str
    sizes: tuple[int | str, ...]
    dtype: str = "float32"
    #: Exclusive upper limit of random integers; `mask` inputs are ones.
    below: int = 0


@dataclass(frozen=True)
class Exported:
    """Model, its inputs, and the sizes: the static variant has the first of `sizes`."""

    name: str
    build: Callable[[], Any]
    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    sizes: tuple[dict[str, int], ...]
    #: True for torch's older exporter, by tracing: the newer one fixes the number of an LSTM's steps.
    is_traced: bool = False

    def shape(self, given: Input, sizes: dict[str, int]) -> tuple[int, ...]:
        return tuple(sizes[size] if isinstance(size, str) else size for size in given.sizes)


def _picture_sizes(*batches: int) -> tuple[dict[str, int], ...]:
    return tuple({BATCH: batch} for batch in batches)


def _text_sizes(*sizes: tuple[int, int]) -> tuple[dict[str, int], ...]:
    return tuple({BATCH: batch, SEQUENCE: sequence} for batch, sequence in sizes)


def _frame_sizes(*sizes: tuple[int, int]) -> tuple[dict[str, int], ...]:
    return tuple({BATCH: batch, FRAMES: frames} for batch, frames in sizes)


def _logits(model: Any) -> Any:
    """Return only the logits of a model of transformers. Its own results are dictionaries with many other items."""
    import torch

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model.eval()

        def forward(self, *inputs: Any) -> Any:
            return self.model(*inputs).logits

    return Logits().eval()


def _resnet(layer: str, depths: list[int], hidden: list[int]) -> Any:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(layer_type=layer, depths=depths, hidden_sizes=hidden, num_labels=1000)
    return _logits(_with_spread_norms(ResNetForImageClassification(config)))


def _with_spread_norms(model: Any) -> Any:
    """Set random statistics in batch normalizations, which have no effect in a fresh model."""
    import torch

    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return model


def _with_he_weights(model: Any) -> Any:
    """Set He weights. Weights of a fresh MobileNetV2 are so small that its logits do not depend on the picture.

    A comparison of such logits would find no fault.
    """
    import torch

    for module in model.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            torch.nn.init.kaiming_normal_(module.weight)
    return model


def resnet18() -> Any:
    return _resnet("basic", [2, 2, 2, 2], [64, 128, 256, 512])


def resnet50() -> Any:
    return _resnet("bottleneck", [3, 4, 6, 3], [256, 512, 1024, 2048])


def mobilenet_v2() -> Any:
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    model = MobileNetV2ForImageClassification(MobileNetV2Config(num_labels=1000))
    return _logits(_with_spread_norms(_with_he_weights(model)))


def vit() -> Any:
    from transformers import ViTConfig, ViTForImageClassification

    return _logits(ViTForImageClassification(ViTConfig(num_labels=1000)))


def bert() -> Any:
    """Return BERT base with its classifier, ids and mask as inputs."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    model = BertForSequenceClassification(BertConfig()).eval()

    class Classifier(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).logits

    return Classifier().eval()


def gpt2() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return _causal(GPT2LMHeadModel(GPT2Config(use_cache=False)))


def llama() -> Any:
    """Return four layers with rotary embeddings, RMSNorm and grouped queries."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=4096,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=512,
        use_cache=False,
    )
    return _causal(LlamaForCausalLM(config))


def _causal(model: Any) -> Any:
    import torch

    class Causal(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model.eval()

        def forward(self, input_ids: Any) -> Any:
            return self.model(input_ids=input_ids, use_cache=False).logits

    return Causal().eval()


def gpt2_cached() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return _cached(GPT2LMHeadModel(GPT2Config(n_positions=4096)))


def llama_cached() -> Any:
    """Return a variant of `llama` for longer texts."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=4096,
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=4096,
    )
    return _cached(LlamaForCausalLM(config))


def _cached(model: Any) -> Any:
    """Return the model with keys and values of earlier tokens as further inputs, and the extended ones as results."""
    import torch
    from transformers import DynamicCache

    class Cached(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model.eval()

        def forward(self, *inputs: Any) -> Any:
            ids, *past = inputs
            cache = DynamicCache(list(zip(past[::2], past[1::2], strict=True)))
            found = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
            grown = [each for layer in found.past_key_values.layers for each in (layer.keys, layer.values)]
            return (found.logits, *grown)

    return Cached().eval()


def mlp() -> Any:
    """Return three layers and a classifier."""
    import torch

    sizes = [784, 1024, 1024, 512]
    layers = [each for size in pairwise(sizes) for each in (torch.nn.Linear(*size), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers, torch.nn.Linear(512, 10)).eval()


def lstm() -> Any:
    """Return two bidirectional layers, and a projection of each step."""
    import torch

    class Tagger(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(64, 128, num_layers=2, bidirectional=True, batch_first=True)
            self.head = torch.nn.Linear(256, 32)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    return Tagger().eval()


def detector() -> Any:
    """Return a backbone, a head of boxes and scores for each position, and ONNX's NonMaxSuppression."""
    import torch

    def block(inputs: int, outputs: int, stride: int) -> Any:
        convolution = torch.nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        return torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(outputs), torch.nn.SiLU())

    class Detector(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = [3, 16, 32, 64, 64]
            self.backbone = torch.nn.Sequential(*map(block, sizes, sizes[1:], [2] * 4))
            self.boxes = torch.nn.Conv2d(64, 4, 1)
            self.scores = torch.nn.Conv2d(64, 8, 1)

        def forward(self, image: Any) -> Any:
            features = self.backbone(image)
            count = features.shape[2] * features.shape[3]
            raw = self.boxes(features).flatten(2).transpose(1, 2)
            places = torch.arange(count, dtype=torch.float32).view(1, -1, 1)
            corner = raw[..., :2].sigmoid() + places * torch.tensor([0.07, 0.05])
            boxes = torch.cat([corner, corner + raw[..., 2:].sigmoid() + 0.5], dim=-1)
            scores = (self.scores(features).flatten(2) * 4).sigmoid()
            return boxes, scores, _suppress(boxes, scores)

    torch.manual_seed(1)
    return _with_spread_norms(Detector()).eval()


def _suppress(boxes: Any, scores: Any) -> Any:
    """Call ONNX's NonMaxSuppression, which torch has no operator for: the exporter uses `translations`."""
    import torch

    return torch.ops.relax_zoo.suppress(boxes, scores)


def translations() -> dict[Any, Any]:
    """Return the operators of these models that the exporter does not know, with their ONNX."""
    import onnxscript
    import torch

    library = torch.library.Library("relax_zoo", "DEF")
    library.define("suppress(Tensor boxes, Tensor scores) -> Tensor")
    _LIBRARIES.append(library)

    @torch.library.register_fake("relax_zoo::suppress")
    def shape_of(boxes: Any, scores: Any) -> Any:
        return boxes.new_empty((torch.library.get_ctx().new_dynamic_size(), 3), dtype=torch.int64)

    operators = onnxscript.opset18

    def suppress(boxes: Any, scores: Any) -> Any:
        limits = [operators.Constant(value_ints=[20]), *(operators.Constant(value_floats=[x]) for x in (0.45, 0.5))]
        return operators.NonMaxSuppression(boxes, scores, *limits)

    return {torch.ops.relax_zoo.suppress.default: suppress}


#: torch's libraries are deleted with their objects.
_LIBRARIES: list[Any] = []

_PICTURE = (Input("pixel_values", (BATCH, 3, 224, 224)),)
_VECTORS = (Input("x", (BATCH, 784)),)
_SMALL_PICTURE = (Input("image", (BATCH, 3, 128, 128)),)
_FRAMES = (Input("x", (BATCH, FRAMES, 64)),)
_TOKENS = (Input("input_ids", (BATCH, SEQUENCE), "int64", 1000),)
_MASKED = (*_TOKENS, Input("attention_mask", (BATCH, SEQUENCE), "int64", 2))

ZOO: tuple[Exported, ...] = (
    Exported("resnet18", resnet18, _PICTURE, ("logits",), _picture_sizes(1, 2, 5)),
    Exported("resnet50", resnet50, _PICTURE, ("logits",), _picture_sizes(1, 2, 3)),
    Exported("mobilenet_v2", mobilenet_v2, _PICTURE, ("logits",), _picture_sizes(1, 3, 4)),
    Exported("bert", bert, _MASKED, ("logits",), _text_sizes((1, 128), (2, 37), (3, 16))),
    Exported("gpt2", gpt2, _TOKENS, ("logits",), _text_sizes((1, 64), (2, 33), (3, 8))),
    Exported("vit", vit, _PICTURE, ("logits",), _picture_sizes(1, 2, 3)),
    Exported("llama", llama, _TOKENS, ("logits",), _text_sizes((1, 64), (2, 33), (3, 100))),
    Exported("mlp", mlp, _VECTORS, ("logits",), _picture_sizes(32, 3, 7)),
    Exported("lstm", lstm, _FRAMES, ("tags",), _frame_sizes((1, 50), (3, 17), (2, 80)), is_traced=True),
    Exported("detector", detector, _SMALL_PICTURE, ("boxes", "scores", "selected"), _picture_sizes(1, 2, 4)),
)


def _decoder(name: str, build: Callable[[], Any], layers: int, heads: int, size: int) -> Exported:
    places = [f"{layer}.{which}" for layer in range(layers) for which in ("key", "value")]
    past = (Input(f"past_key_values.{place}", (BATCH, heads, PAST, size)) for place in places)
    sizes = tuple({BATCH: batch, SEQUENCE: count, PAST: before} for batch, count, before in ((1, 1, 64), (2, 3, 5)))
    return Exported(name, build, (*_TOKENS, *past), ("logits", *(f"present.{place}" for place in places)), sizes)


#: Models that generate text, with dynamic sizes only.
DECODERS: tuple[Exported, ...] = (
    _decoder("gpt2_cached", gpt2_cached, 12, 12, 64),
    _decoder("llama_cached", llama_cached, 4, 2, 64),
)
