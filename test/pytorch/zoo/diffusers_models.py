# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of diffusers: denoisers, autoencoders and their conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .cases import BATCH, ZOO, Case, image

_STEPS = torch.tensor([3, 500])
_BLOCKS = {"block_out_channels": (16, 32), "norm_num_groups": 4, "layers_per_block": 1}
_CONDITIONED = {
    **_BLOCKS, "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"), "cross_attention_dim": 24,
    "attention_head_dim": 8,
}  # fmt: skip


def _case(name: str, make: Callable[[], Mapping[str, Any]], is_dynamic: bool = True, **options: Any) -> None:
    def build() -> Case:
        import diffusers

        kwargs = {**make(), "return_dict": False}
        dynamic = {each: BATCH if isinstance(value, torch.Tensor) else None for each, value in kwargs.items()}
        return Case(getattr(diffusers, name)(**options), (), kwargs, dynamic if is_dynamic else None)

    ZOO[f"diffusers {name}"] = build


def _rows(count: int, width: int) -> torch.Tensor:
    return torch.randn(2, count, width)


def _ids(count: int) -> torch.Tensor:
    return torch.arange(3 * count, dtype=torch.float32).reshape(count, 3) % 5


_case("UNet2DModel", lambda: {"sample": image(16), "timestep": _STEPS}, sample_size=16, attention_head_dim=8, **_BLOCKS,
      down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))  # fmt: skip
_case("UNet2DConditionModel",
      lambda: {"sample": image(16, 4), "timestep": _STEPS, "encoder_hidden_states": _rows(5, 24)},
      sample_size=16, up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **_CONDITIONED)  # fmt: skip
_case("ControlNetModel",
      lambda: {"sample": image(16, 4), "timestep": _STEPS, "encoder_hidden_states": _rows(5, 24),
               "controlnet_cond": image(64)},
      conditioning_embedding_out_channels=(8, 8, 16), **_CONDITIONED)  # fmt: skip
_case("UNet1DModel", lambda: {"sample": torch.randn(2, 2, 32), "timestep": _STEPS}, sample_size=32,
      extra_in_channels=32, in_channels=2, out_channels=2, block_out_channels=(16, 32),
      down_block_types=("DownBlock1DNoSkip", "DownBlock1D"),
      up_block_types=("UpBlock1D", "UpBlock1DNoSkip"))  # fmt: skip
_case("AutoencoderKL", lambda: {"sample": image(32)}, down_block_types=("DownEncoderBlock2D",) * 2,
      up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, **_BLOCKS)  # fmt: skip
_case("VQModel", lambda: {"sample": image(32)}, down_block_types=("DownEncoderBlock2D",) * 2,
      up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, num_vq_embeddings=16, **_BLOCKS)  # fmt: skip
_HEADS = {"num_attention_heads": 4, "attention_head_dim": 8, "num_layers": 2}
_case("DiTTransformer2DModel",
      lambda: {"hidden_states": image(8, 4), "timestep": _STEPS, "class_labels": torch.tensor([1, 7])},
      sample_size=8, num_embeds_ada_norm=10, in_channels=4, out_channels=4, **_HEADS)  # fmt: skip
_case("PixArtTransformer2DModel",
      lambda: {"hidden_states": image(8, 4), "timestep": _STEPS, "encoder_hidden_states": _rows(5, 24),
       "added_cond_kwargs": {"resolution": None, "aspect_ratio": None}},
      False, sample_size=8, cross_attention_dim=32, caption_channels=24, use_additional_conditions=False,
      **_HEADS)  # fmt: skip
_case("SD3Transformer2DModel",
      lambda: {"hidden_states": image(8, 4), "timestep": _STEPS, "encoder_hidden_states": _rows(5, 24),
       "pooled_projections": torch.randn(2, 20)},
      sample_size=8, in_channels=4, out_channels=4, joint_attention_dim=24, caption_projection_dim=32,
      pooled_projection_dim=20, pos_embed_max_size=8, **_HEADS)  # fmt: skip
_case("FluxTransformer2DModel",
      lambda: {"hidden_states": _rows(16, 4), "timestep": torch.tensor([0.3, 0.9]),
               "encoder_hidden_states": _rows(5, 24),
       "pooled_projections": torch.randn(2, 20), "img_ids": _ids(16), "txt_ids": _ids(5)},
      False, in_channels=4, joint_attention_dim=24, pooled_projection_dim=20, axes_dims_rope=(2, 2, 4),
      num_single_layers=1, **_HEADS)  # fmt: skip
_case("WanTransformer3DModel",
      lambda: {"hidden_states": torch.randn(2, 4, 2, 8, 8), "timestep": _STEPS, "encoder_hidden_states": _rows(5, 24)},
      in_channels=4, out_channels=4, text_dim=24, freq_dim=16, ffn_dim=64, num_attention_heads=4,
      attention_head_dim=12, num_layers=2, rope_max_seq_len=16)  # fmt: skip
_case("SanaTransformer2DModel",
      lambda: {"hidden_states": image(8, 4), "timestep": _STEPS, "encoder_hidden_states": _rows(5, 24)},
      sample_size=8, in_channels=4, out_channels=4, caption_channels=24, cross_attention_dim=32,
      num_cross_attention_heads=4, cross_attention_head_dim=8, **_HEADS)  # fmt: skip
