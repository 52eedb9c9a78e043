# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Further architectures of transformers for images, sound, and text with images."""

from __future__ import annotations

from typing import Any

import torch

from .cases import BATCH, ZOO, Case, case, image, tokens
from .transformers_models import LAYERS, SMALL, add_vision_transformer

_ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}

# ---- images ----
add_vision_transformer("DINOv3ViT", image_size=32, patch_size=8)


def _of_windows(name: str) -> None:
    def build() -> Case:
        import transformers

        sizes = {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "patch_size": 4}
        config = getattr(transformers, f"{name}Config")(image_size=32, **sizes)
        return Case(getattr(transformers, f"{name}Model")(config), (image(32),), {}, (BATCH,))

    ZOO[f"transformers {name}"] = build


_of_windows("Swinv2")


@case("transformers DepthAnything")
def depth_anything() -> Case:
    from transformers import DepthAnythingConfig, DepthAnythingForDepthEstimation, Dinov2Config

    backbone = Dinov2Config(**LAYERS, image_size=28, patch_size=7, out_features=["stage1", "stage2"],
                            reshape_hidden_states=False)  # fmt: skip
    config = DepthAnythingConfig(
        backbone_config=backbone, reassemble_hidden_size=32, patch_size=7, neck_hidden_sizes=[8, 16],
        reassemble_factors=[2, 1], fusion_hidden_size=8, head_hidden_size=8,
    )  # fmt: skip
    return Case(DepthAnythingForDepthEstimation(config), (image(28),), {}, (BATCH,))


@case("transformers VideoMAE")
def videomae() -> Case:
    from transformers import VideoMAEConfig, VideoMAEModel

    config = VideoMAEConfig(**LAYERS, image_size=32, patch_size=8, num_frames=4)
    return Case(VideoMAEModel(config), (torch.randn(2, 4, 3, 32, 32),), {}, (BATCH,))


def _detr_sizes(**options: Any) -> dict[str, Any]:
    sizes = {f"{part}_{what}": number for part in ("encoder", "decoder")
             for what, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))}  # fmt: skip
    return {**sizes, "d_model": 32, "num_queries": 5, **options}


def _resnet(**options: Any) -> Any:
    from transformers import ResNetConfig

    return ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1], layer_type="basic", **options
    )


@case("transformers Detr")
def detr() -> Case:
    from transformers import DetrConfig, DetrForObjectDetection

    config = DetrConfig(**_detr_sizes(), use_timm_backbone=False, backbone_config=_resnet(out_features=["stage4"]))
    return Case(DetrForObjectDetection(config), (image(64),))


@case("transformers RTDetr")
def rt_detr() -> Case:
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    backbone = RTDetrResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1],
                                  layer_type="basic", out_features=["stage2", "stage3", "stage4"])  # fmt: skip
    config = RTDetrConfig(
        **_detr_sizes(), backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[16, 32, 64],
        decoder_in_channels=[32, 32, 32], eval_size=None, anchor_image_size=None, num_feature_levels=3,
        decoder_n_points=2,
    )  # fmt: skip
    model = RTDetrForObjectDetection(config)
    for parameter in model.parameters():
        if parameter.dim() > 1:  # random weights of the usual size give all queries equal scores
            parameter.data *= 8
    return Case(model, (image(64),))


@case("transformers Sam")
def sam() -> Case:
    from transformers import SamConfig, SamMaskDecoderConfig, SamModel, SamPromptEncoderConfig, SamVisionConfig

    vision = SamVisionConfig(
        hidden_size=32, output_channels=16, num_hidden_layers=2, num_attention_heads=4, image_size=64, patch_size=16,
        window_size=2, global_attn_indexes=[1], num_pos_feats=8, mlp_dim=64,
    )  # fmt: skip
    prompt = SamPromptEncoderConfig(hidden_size=16, image_size=64, patch_size=16, mask_input_channels=4)
    decoder = SamMaskDecoderConfig(hidden_size=16, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16)
    model = SamModel(SamConfig(vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder))
    return Case(model, (), {"pixel_values": image(64, batch=1), "input_points": torch.tensor([[[[20.0, 30.0]]]])})


@case("transformers Mask2Former")
def mask2former() -> Case:
    from transformers import Mask2FormerConfig, Mask2FormerForUniversalSegmentation, SwinConfig

    backbone = SwinConfig(embed_dim=16, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=4, image_size=64,
                          out_features=["stage1", "stage2", "stage3", "stage4"])  # fmt: skip
    config = Mask2FormerConfig(
        backbone_config=backbone, hidden_dim=32, feature_size=32, mask_feature_size=32, num_queries=5, encoder_layers=1,
        decoder_layers=2, num_attention_heads=4, dim_feedforward=64, encoder_feedforward_dim=64,
    )  # fmt: skip
    return Case(Mask2FormerForUniversalSegmentation(config), (image(64),))


# ---- text with images ----
_TEXT = {**SMALL, **_ENDS, "max_position_embeddings": 32}
_VISION = {**LAYERS, "image_size": 32, "patch_size": 8}


@case("transformers Siglip")
def siglip() -> Case:
    from transformers import SiglipConfig, SiglipModel

    config = SiglipConfig(text_config={**_TEXT, "projection_size": 32}, vision_config=_VISION)
    return Case(SiglipModel(config), (), {"input_ids": tokens(), "pixel_values": image(32)})


@case("transformers Blip")
def blip() -> Case:
    from transformers import BlipConfig, BlipModel

    text = {**_TEXT, "encoder_hidden_size": 32, "projection_dim": 16}
    config = BlipConfig(text_config=text, vision_config=_VISION, projection_dim=16)
    return Case(BlipModel(config), (), {"input_ids": tokens(), "pixel_values": image(32)})


def _with_image(size: int, places: int) -> dict[str, Any]:
    """Return the arguments of a language model with a prompt that has placeholders for an image, token 98."""
    ids = tokens(1, 4 + places, 90)
    ids[:, 2 : 2 + places] = 98
    return {"input_ids": ids, "pixel_values": image(size, batch=1), "use_cache": False}


@case("transformers Llava")
def llava() -> Case:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**_VISION), text_config=LlamaConfig(**_TEXT, num_key_value_heads=2),
        image_token_id=98, image_seq_length=16,
    )  # fmt: skip
    return Case(LlavaForConditionalGeneration(config), (), _with_image(32, 16))


# ---- sound ----
_CONVOLUTIONS = {
    **SMALL, "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3), "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2, "num_feat_extract_layers": 2,
}  # fmt: skip


def _of_waves(name: str, **options: Any) -> None:
    def build() -> Case:
        import transformers

        config = getattr(transformers, f"{name}Config")(**{**_CONVOLUTIONS, **options})
        return Case(getattr(transformers, f"{name}Model")(config), (torch.randn(2, 400),), {}, (BATCH,))

    ZOO[f"transformers {name}"] = build


_of_waves("Hubert")
_of_waves("WavLM")


@case("transformers SpeechT5")
def speecht5() -> Case:
    from transformers import SpeechT5Config, SpeechT5ForTextToSpeech

    sizes = {f"{part}_{what}": number for part in ("encoder", "decoder")
             for what, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))}  # fmt: skip
    config = SpeechT5Config(
        vocab_size=99, hidden_size=32, num_mel_bins=8, speech_decoder_prenet_units=16, speech_decoder_postnet_units=16,
        speaker_embedding_dim=16, speech_decoder_prenet_dropout=0.0, use_guided_attention_loss=False, **sizes,
    )  # fmt: skip
    given = {
        "input_ids": tokens(),
        "decoder_input_values": torch.randn(2, 6, 8),
        "speaker_embeddings": torch.randn(2, 16),
    }
    return Case(SpeechT5ForTextToSpeech(config), (), {**given, "use_cache": False})


@case("transformers Vits")
def vits() -> Case:
    from transformers import VitsConfig, VitsModel

    config = VitsConfig(
        vocab_size=99, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, flow_size=16,
        spectrogram_bins=9, prior_encoder_num_flows=2, prior_encoder_num_wavenet_layers=2,
        posterior_encoder_num_wavenet_layers=2, upsample_initial_channel=16, upsample_rates=[4, 2],
        upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]],
        depth_separable_num_layers=2, duration_predictor_flow_bins=4, duration_predictor_num_flows=2,
        duration_predictor_filter_channels=16, noise_scale=0.0, noise_scale_duration=0.0,
    )  # fmt: skip
    return Case(VitsModel(config), (), {"input_ids": tokens(1)})


@case("transformers Encodec")
def encodec() -> Case:
    from transformers import EncodecConfig, EncodecModel

    config = EncodecConfig(hidden_size=16, num_filters=4, upsampling_ratios=[4, 2], codebook_size=16, codebook_dim=16,
                           num_residual_layers=1, num_lstm_layers=1, target_bandwidths=[24.0])  # fmt: skip
    return Case(EncodecModel(config), (torch.randn(1, 1, 320),))


@case("transformers Moonshine")
def moonshine() -> Case:
    from transformers import MoonshineConfig, MoonshineModel

    config = MoonshineConfig(
        vocab_size=99, hidden_size=32, intermediate_size=64, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2,
        encoder_num_attention_heads=4, decoder_num_attention_heads=4, decoder_start_token_id=1, **_ENDS,
    )  # fmt: skip
    given = {"input_values": torch.randn(1, 2000), "decoder_input_ids": tokens(1, 5), "use_cache": False}
    return Case(MoonshineModel(config), (), given)


# ---- series of numbers ----
@case("transformers PatchTST")
def patchtst() -> Case:
    from transformers import PatchTSTConfig, PatchTSTForPrediction

    config = PatchTSTConfig(num_input_channels=3, context_length=16, patch_length=4, patch_stride=4, d_model=16,
                            num_hidden_layers=2, num_attention_heads=2, ffn_dim=32, prediction_length=5)  # fmt: skip
    return Case(PatchTSTForPrediction(config), (torch.randn(2, 16, 3),), {}, (BATCH,))
