# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of torchvision."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .cases import BATCH, ZOO, Case, case, image


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


_vision("inception_v3", 96, init_weights=False, aux_logits=False)


@case("torchvision efficientnet_v2")
def torchvision_efficientnet_v2() -> Case:
    from torchvision.models.efficientnet import EfficientNet, FusedMBConvConfig, MBConvConfig

    settings = [FusedMBConvConfig(1, 3, 1, 16, 16, 1), FusedMBConvConfig(4, 3, 2, 16, 24, 1),
                MBConvConfig(4, 3, 2, 24, 32, 2)]  # fmt: skip
    return Case(EfficientNet(settings, 0.2, last_channel=64, num_classes=10), (image(32),), {}, (BATCH,))


@case("torchvision maxvit")
def torchvision_maxvit() -> Case:
    from torchvision.models import MaxVit

    model = MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0, num_classes=10)
    return Case(model, (image(64),), {}, (BATCH,))


@case("torchvision swin v2")
def torchvision_swin_v2() -> Case:
    from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformer, SwinTransformerBlockV2

    model = SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10, block=SwinTransformerBlockV2,
                            downsample_layer=PatchMergingV2)  # fmt: skip
    return Case(model, (image(32),), {}, (BATCH,))


@case("torchvision deeplabv3")
def torchvision_deeplabv3() -> Case:
    from torchvision.models.segmentation import deeplabv3_mobilenet_v3_large

    model = deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    return Case(model, (image(64),), {}, (BATCH,))


@case("torchvision s3d")
def torchvision_s3d() -> Case:
    from torchvision.models.video import S3D

    model = S3D(num_classes=10)
    model.avgpool = nn.AdaptiveAvgPool3d(1)  # its own takes images of 224 pixels
    return Case(model, (torch.randn(1, 3, 8, 64, 64),), {}, (BATCH,))


@case("torchvision raft")
def torchvision_raft() -> Case:
    from torchvision.models.optical_flow.raft import _raft

    model = _raft(
        feature_encoder_layers=(8, 8, 8, 8, 16), feature_encoder_block=_residual(), feature_encoder_norm_layer=_norm(),
        context_encoder_layers=(8, 8, 8, 8, 24), context_encoder_block=_residual(), context_encoder_norm_layer=_norm(),
        corr_block_num_levels=2, corr_block_radius=2, motion_encoder_corr_layers=(16,),
        motion_encoder_flow_layers=(16, 8), motion_encoder_out_channels=16, recurrent_block_hidden_state_size=16,
        recurrent_block_kernel_size=(3,), recurrent_block_padding=(1,), flow_head_hidden_size=16,
        use_mask_predictor=False,
    )  # fmt: skip
    return Case(model, (image(128, batch=1), image(128, batch=1)), {"num_flow_updates": 2})


def _residual() -> type[nn.Module]:
    from torchvision.models.optical_flow.raft import ResidualBlock

    return ResidualBlock


def _norm() -> type[nn.Module]:
    return nn.InstanceNorm2d


class _Detector(nn.Module):
    """A detector of one image: the library's models take lists of images."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> object:
        return self.model([x])[0]


def _spread_scores(model: nn.Module) -> None:
    """Scale the weights of scores: random ones give boxes equal scores, and rounding would decide their order."""
    for name, parameter in model.named_parameters():
        if "cls_" in name or "classification_head" in name:
            parameter.data *= 8


def _detector(name: str, **options: Any) -> None:
    def build() -> Case:
        from torchvision.models import detection

        sizes = {} if name.startswith("ssd") else {"min_size": 64, "max_size": 64}
        model = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=3, **sizes, **options)
        _spread_scores(model)
        return Case(_Detector(model), (torch.rand(3, 64, 64),))

    ZOO[f"torchvision {name}"] = build


_FEW = {"box_score_thresh": 0.02, "box_detections_per_img": 5, "rpn_pre_nms_top_n_test": 20,
        "rpn_post_nms_top_n_test": 10}  # fmt: skip
_detector("fasterrcnn_mobilenet_v3_large_fpn", **_FEW)
_detector("ssdlite320_mobilenet_v3_large", score_thresh=0.1, topk_candidates=20, detections_per_img=3)
_detector("retinanet_resnet50_fpn", score_thresh=0.005, topk_candidates=20, detections_per_img=5)
