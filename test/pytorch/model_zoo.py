# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of torchvision, timm and transformers in small configurations with random weights, and blocks of kinds
that none of these has. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
import torch.utils._pytree as pytree
import torchvision_operators
from torch import nn

torchvision_operators.declare()


class Case(NamedTuple):
    """A model, what it is called with, and which dimensions of that may change: by argument, `{0: "batch"}`."""

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    dynamic: Any = None


Builder = Callable[[], Case]
ZOO: dict[str, Builder] = {}


def case(name: str) -> Callable[[Builder], Builder]:
    def add(build: Builder) -> Builder:
        ZOO[name] = build
        return build

    return add


def image(size: int = 64, channels: int = 3, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, channels, size, size)


BATCH = {0: "batch"}
TOKENS = {0: "batch", 1: "length"}


# ---- torchvision ----
def _vision(name: str, size: int = 64, is_dynamic: bool = True, **options: Any) -> None:
    def build() -> Case:
        import torchvision

        model = getattr(torchvision.models, name)(weights=None, **options)
        return Case(model, (image(size),), {}, (BATCH,) if is_dynamic else None)

    ZOO[f"torchvision {name}"] = build


for _name in ("resnet18", "resnext50_32x4d", "densenet121", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small",
              "efficientnet_b0", "shufflenet_v2_x0_5", "mnasnet0_5", "regnet_y_400mf"):  # fmt: skip
    _vision(_name)
_vision("vgg11_bn", 32)
_vision("alexnet", 64)
_vision("googlenet", 64, init_weights=False, aux_logits=False)
_vision("convnext_tiny", 32)


@case("torchvision vit")
def torchvision_vit() -> Case:
    from torchvision.models import VisionTransformer

    return Case(VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), (image(32),), {}, (BATCH,))


@case("torchvision swin")
def torchvision_swin() -> Case:
    from torchvision.models import SwinTransformer

    model = SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10)
    return Case(model, (image(32),), {}, (BATCH,))


@case("torchvision lraspp")
def torchvision_segmentation() -> Case:
    import torchvision

    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)
    return Case(model, (image(64),), {}, (BATCH,))


@case("torchvision fcn")
def torchvision_fcn() -> Case:
    import torchvision

    backbone = torchvision.models.resnet18(weights=None)
    features = torchvision.models._utils.IntermediateLayerGetter(backbone, {"layer4": "out"})
    head = torchvision.models.segmentation.fcn.FCNHead(512, 5)
    return Case(torchvision.models.segmentation.FCN(features, head), (image(64),), {}, (BATCH,))


@case("torchvision r3d")
def torchvision_video() -> Case:
    import torchvision

    return Case(torchvision.models.video.r3d_18(weights=None), (torch.randn(1, 3, 4, 32, 32),), {}, (BATCH,))


# ---- timm ----
def _timm(name: str, size: int, **options: Any) -> None:
    def build() -> Case:
        import timm

        return Case(timm.create_model(name, pretrained=False, **options), (image(size),), {}, (BATCH,))

    ZOO[f"timm {name}"] = build


_timm("resnet10t", 64)
_timm("vit_tiny_patch16_224", 32, img_size=32, depth=2, num_classes=10)
_timm("deit_tiny_distilled_patch16_224", 32, img_size=32, depth=2, num_classes=10)
_timm("beit_base_patch16_224", 32, img_size=32, depth=2, embed_dim=48, num_heads=4, num_classes=10)
_timm("mixer_s32_224", 64, img_size=64, num_classes=10)
_timm("gmlp_ti16_224", 32, img_size=32, num_classes=10)
_timm("resmlp_12_224", 32, img_size=32, num_classes=10)
_timm("levit_128s", 224, num_classes=10)
_timm("mobilevit_xxs", 64, num_classes=10)
_timm("efficientformer_l1", 224, num_classes=10)
_timm("poolformer_s12", 64, num_classes=10)
_timm("edgenext_xx_small", 64, num_classes=10)
_timm("ghostnet_050", 64, num_classes=10)
_timm("hrnet_w18_small", 64, num_classes=10)
_timm("repvgg_a0", 64, num_classes=10)
_timm("cait_xxs24_224", 32, img_size=32, depth=2, num_classes=10)
_timm("xcit_nano_12_p16_224", 64, img_size=64, depth=2, num_classes=10)
_timm("pvt_v2_b0", 64, num_classes=10)
_timm("tiny_vit_5m_224", 224, num_classes=10)
_timm("fastvit_t8", 64, num_classes=10)
_timm("dm_nfnet_f0", 64, num_classes=10)


# ---- transformers ----
_LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_SMALL = {**_LAYERS, "vocab_size": 99}


def tokens(batch: int = 2, length: int = 7, vocabulary: int = 99) -> torch.Tensor:
    return torch.randint(3, vocabulary, (batch, length))


def _encoder(name: str, **options: Any) -> None:
    def build() -> Case:
        import transformers

        config = getattr(transformers, f"{name}Config")(**{**_SMALL, **options})
        ids = tokens()
        mask = torch.ones_like(ids)
        mask[0, 5:] = 0
        given = {"input_ids": ids, "attention_mask": mask}
        return Case(getattr(transformers, f"{name}Model")(config), (), given, {each: TOKENS for each in given})

    ZOO[f"transformers {name}"] = build


_encoder("Bert")
_encoder("Roberta", pad_token_id=1)
_encoder("Albert", embedding_size=16)
_encoder("Electra", embedding_size=16)
_encoder("MPNet", pad_token_id=1)
_encoder("RoFormer", embedding_size=16)
_encoder("Deberta", pos_att_type=["c2p", "p2c"], relative_attention=True)
_encoder("DebertaV2", pos_att_type=["c2p", "p2c"], relative_attention=True)


@case("transformers DistilBert")
def distilbert() -> Case:
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64)
    return Case(DistilBertModel(config), (), {"input_ids": tokens()}, {"input_ids": TOKENS})


def _decoder(name: str, model_name: str = "", **options: Any) -> None:
    def build() -> Case:
        import transformers

        config = getattr(transformers, f"{name}Config")(**{**_SMALL, **_ENDS, **options})
        model = getattr(transformers, model_name or f"{name}ForCausalLM")(config)
        return Case(model, (), {"input_ids": tokens(), "use_cache": False}, {"input_ids": TOKENS, "use_cache": None})

    ZOO[f"transformers {name}"] = build


_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_decoder("Llama", num_key_value_heads=2)
_decoder("Mistral", num_key_value_heads=2, sliding_window=4)
_decoder("Qwen2", num_key_value_heads=2)
_decoder("Qwen3", num_key_value_heads=2, head_dim=8)
_decoder("Gemma", num_key_value_heads=2, head_dim=8)
_decoder("Gemma2", num_key_value_heads=2, head_dim=8, sliding_window=4, query_pre_attn_scalar=8)
_decoder("Phi")
_decoder("Phi3", num_key_value_heads=2)
_decoder("StableLm", num_key_value_heads=2)
_decoder("Olmo", num_key_value_heads=2)
_decoder("Mixtral", num_key_value_heads=2, num_local_experts=3, num_experts_per_tok=2)
_decoder("Qwen2Moe", num_key_value_heads=2, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
         shared_expert_intermediate_size=32)  # fmt: skip
_decoder("GPTNeoX")
_decoder("Falcon")
_decoder("Bloom", n_layer=2, n_head=4)
_decoder("OPT", ffn_dim=64, word_embed_proj_dim=32)
_decoder("GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=4)
_decoder("GPT2", "GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4)
_decoder("Mamba", state_size=4)


@case("transformers T5")
def t5() -> Case:
    from transformers import T5Config, T5Model

    config = T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    given = {"input_ids": tokens(), "decoder_input_ids": tokens(2, 5), "use_cache": False}
    names = {"input_ids": TOKENS, "decoder_input_ids": {0: "batch", 1: "decoded"}, "use_cache": None}
    return Case(T5Model(config), (), given, names)


@case("transformers Bart")
def bart() -> Case:
    from transformers import BartConfig, BartModel

    sizes = {f"{part}_{what}": number for part in ("encoder", "decoder")
             for what, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))}  # fmt: skip
    config = BartConfig(vocab_size=99, d_model=32, **sizes)
    given = {"input_ids": tokens(), "decoder_input_ids": tokens(2, 5), "use_cache": False}
    return Case(BartModel(config), (), given)


@case("transformers Whisper")
def whisper() -> Case:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8, max_source_positions=12,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    given = {"input_features": torch.randn(1, 8, 24), "decoder_input_ids": tokens(1, 5), "use_cache": False}
    return Case(WhisperModel(config), (), given)


@case("transformers Wav2Vec2")
def wav2vec2() -> Case:
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    config = Wav2Vec2Config(
        **_SMALL, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2, num_feat_extract_layers=2,
    )  # fmt: skip
    return Case(Wav2Vec2Model(config), (torch.randn(1, 400),))


@case("transformers CLIP")
def clip() -> Case:
    from transformers import CLIPConfig, CLIPModel

    text = {**_SMALL, "max_position_embeddings": 16, "bos_token_id": 1, "eos_token_id": 2}
    vision = {**_LAYERS, "image_size": 32, "patch_size": 8}
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    return Case(CLIPModel(config), (), {"input_ids": tokens(), "pixel_values": image(32)})


def _vision_transformer(name: str, size: int = 32, **options: Any) -> None:
    def build() -> Case:
        import transformers

        config = getattr(transformers, f"{name}Config")(**{**_LAYERS, **options})
        return Case(getattr(transformers, f"{name}Model")(config), (image(size),), {}, (BATCH,))

    ZOO[f"transformers {name}"] = build


_vision_transformer("ViT", image_size=32, patch_size=8)
_vision_transformer("Dinov2", image_size=28, patch_size=7, size=28)
_vision_transformer("Segformer", num_encoder_blocks=2, depths=[1, 1], hidden_sizes=[16, 32], sr_ratios=[4, 2],
                    patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2], num_attention_heads=[2, 4])  # fmt: skip


# ---- other kinds ----
class _ResidualBlock(nn.Module):
    """As in diffusion models: convolutions whose norms are shifted by the time."""

    def __init__(self, channels: int, times: int):
        super().__init__()
        self.first, self.second = nn.GroupNorm(4, channels), nn.GroupNorm(4, channels)
        self.convs = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2)])
        self.time = nn.Linear(times, 2 * channels)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        scale, shift = self.time(nn.functional.silu(time))[:, :, None, None].chunk(2, 1)
        inner = self.convs[0](nn.functional.silu(self.first(x)))
        inner = self.second(inner) * (1 + scale) + shift
        return x + self.convs[1](nn.functional.silu(inner))


class Diffusion(nn.Module):
    """A small U-Net: down, attention in the middle, up."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs, self.outputs = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 3, 3, padding=1)
        self.down, self.middle, self.up = (_ResidualBlock(16, 32) for _ in range(3))
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.pool = nn.Conv2d(16, 16, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        frequencies = torch.exp(-9.2 * torch.arange(16, dtype=torch.float32) / 16)
        angles = step[:, None].to(torch.float32) * frequencies
        time = torch.cat([angles.sin(), angles.cos()], -1)
        kept = self.down(self.inputs(x), time)
        inner = self.middle(self.pool(kept), time)
        batch, channels, height, width = inner.shape
        rows = inner.flatten(2).transpose(1, 2)
        rows = rows + self.attention(rows, rows, rows, need_weights=False)[0]
        inner = rows.transpose(1, 2).reshape(batch, channels, height, width)
        inner = nn.functional.interpolate(inner, scale_factor=2.0, mode="nearest")
        return self.outputs(self.up(inner + kept, time))


ZOO["diffusion block"] = lambda: Case(Diffusion(), (image(16), torch.tensor([3, 500])), {}, (BATCH, BATCH))


class Detector(nn.Module):
    """A head that keeps what is above a threshold: sizes that depend on data."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 6, 3, 2, 1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.backbone(x).flatten(2).transpose(1, 2)[0]
        scores = rows[:, 4].sigmoid()
        kept = torch.nonzero(scores > 0.5)[:, 0]
        return rows[kept, :4], scores[kept]


ZOO["detector of dynamic sizes"] = lambda: Case(Detector(), (image(32, batch=1),))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(32, 8, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, _ = self.lstm(x)
        rows, last = self.gru(rows)
        return torch.cat([rows[:, -1], last[0]], -1)


ZOO["recurrent"] = lambda: Case(Recurrent(), (torch.randn(2, 5, 8),))


class Spectral(nn.Module):
    """A layer of a Fourier neural operator."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4, 5, 2) / 4)
        self.local = nn.Conv1d(4, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(x)[:, :, :5]
        mixed = torch.einsum("bim,iom->bom", spectrum, torch.view_as_complex(self.weight))
        return nn.functional.gelu(torch.fft.irfft(mixed, n=x.shape[-1]) + self.local(x))


ZOO["spectral"] = lambda: Case(Spectral(), (torch.randn(2, 4, 16),))


class Caching(nn.Module):
    """Attention with a cache of keys and values in buffers, which a call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.register_buffer("keys", torch.zeros(1, 8, 16))
        self.register_buffer("values", torch.zeros(1, 8, 16))

    def forward(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        query, key, value = self.qkv(x).chunk(3, -1)
        self.keys.index_copy_(1, place, key)
        self.values.index_copy_(1, place, value)
        mask = torch.arange(8)[None, :] <= place[:, None]
        return nn.functional.scaled_dot_product_attention(query, self.keys, self.values, attn_mask=mask)


class Graphs(nn.Module):
    """A layer of message passing: sums of rows by an index."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        messages = self.other(x[edges[0]])
        gathered = torch.zeros_like(x).index_add(0, edges[1], messages)
        return torch.relu(self.own(x) + gathered)


_EDGES = torch.randint(0, 6, (2, 11))
ZOO["graph network"] = lambda: Case(Graphs(), (torch.randn(6, 8), _EDGES), {}, ({0: "nodes"}, {1: "edges"}))


# ---- what is compared ----


def built(name: str) -> Case:
    """A model, set to inference, of the same weights each time; those that it begins with as zeros are others."""
    torch.manual_seed(0)
    found = ZOO[name]()
    with torch.no_grad():
        for parameter in found.model.parameters():
            if not parameter.any():
                nn.init.normal_(parameter, std=0.05)
    return found._replace(model=found.model.eval())


def apart(got: Any, wanted: Any) -> float:
    """How far tensors are from others, as a share of the largest of these."""
    found = [0.0]
    pairs = zip(tensors_in(got), tensors_in(wanted), strict=True)
    for one, other in pairs:
        if one.shape != other.shape or one.dtype != other.dtype:
            return float("inf")
        if other.numel():
            scale = other.double().abs().max().item() or 1.0
            found.append((one.double() - other.double()).abs().max().item() / scale)
    return max(found)


def tensors_in(held: Any) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(held) if isinstance(each, torch.Tensor)]


def dynamic_shapes(case: Case) -> Any:
    """The sizes that may change, each left to torch."""
    if case.dynamic is None:
        return None

    def opened(spec: Any) -> Any:
        return {axis: torch.export.Dim.AUTO for axis in spec} if isinstance(spec, dict) else None

    if isinstance(case.dynamic, dict):
        return {name: opened(spec) for name, spec in case.dynamic.items()}
    return tuple(map(opened, case.dynamic))
