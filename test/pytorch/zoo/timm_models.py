# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of timm."""

from __future__ import annotations

from typing import Any

from .cases import BATCH, ZOO, Case, image


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
_timm("maxvit_rmlp_pico_rw_256", 64, img_size=64, depths=(1, 1, 1, 1), num_classes=10)
_timm("coatnet_nano_rw_224", 64, img_size=64, depths=(1, 1, 1, 1), num_classes=10)
_timm("regnetx_002", 64, num_classes=10)
_timm("convnextv2_atto", 64, num_classes=10, depths=(1, 1, 1, 1))
_timm("swin_tiny_patch4_window7_224", 56, img_size=56, depths=(1, 1), num_heads=(2, 4), embed_dim=16, num_classes=10)
_timm("eva02_tiny_patch14_224", 28, img_size=28, depth=2, num_classes=10)
_timm("mobilenetv4_conv_small", 64, num_classes=10)
_timm("twins_svt_small", 64, img_size=64, depths=(1, 1, 1, 1), embed_dims=(16, 32, 32, 64), num_heads=(1, 2, 2, 4),
      num_classes=10)  # fmt: skip
_timm("efficientvit_b0", 64, num_classes=10)
_timm("davit_tiny", 64, depths=(1, 1), embed_dims=(16, 32), num_heads=(2, 4), num_classes=10)


def _timm_class(name: str, size: int, **options: Any) -> None:
    def build() -> Case:
        from timm import models

        return Case(getattr(models, name)(**options), (image(size),), {}, (BATCH,))

    ZOO[f"timm {name}"] = build


_timm_class("VOLO", 64, layers=(1, 1, 1, 1), img_size=64, embed_dims=(24, 48, 48, 48), num_heads=(2, 4, 4, 4),
            mlp_ratio=2, downsamples=(True, False, False, False), outlook_attention=(True, False, False, False),
            num_classes=10)  # fmt: skip
_timm_class("Nest", 64, img_size=64, depths=(1, 1, 1), embed_dims=(16, 32, 64), num_heads=(2, 2, 4), num_classes=10)
