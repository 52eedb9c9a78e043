# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text, vision and audio architectures of transformers."""

from __future__ import annotations

from typing import Any

import torch

from .cases import BATCH, TOKENS, ZOO, Case, case, image, tokens

LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
SMALL = {**LAYERS, "vocab_size": 99}


def add_encoder(name: str, **options: Any) -> None:
    def build() -> Case:
        import transformers

        config = getattr(transformers, f"{name}Config")(**{**SMALL, **options})
        ids = tokens()
        mask = torch.ones_like(ids)
        mask[0, 5:] = 0
        given = {"input_ids": ids, "attention_mask": mask}
        return Case(getattr(transformers, f"{name}Model")(config), (), given, {each: TOKENS for each in given})

    ZOO[f"transformers {name}"] = build


add_encoder("Bert")
add_encoder("Roberta", pad_token_id=1)
add_encoder("Albert", embedding_size=16)
add_encoder("Electra", embedding_size=16)
add_encoder("MPNet", pad_token_id=1)
add_encoder("RoFormer", embedding_size=16)
add_encoder("Deberta", pos_att_type=["c2p", "p2c"], relative_attention=True)
add_encoder("DebertaV2", pos_att_type=["c2p", "p2c"], relative_attention=True)


@case("transformers DistilBert")
def distilbert() -> Case:
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64)
    return Case(DistilBertModel(config), (), {"input_ids": tokens()}, {"input_ids": TOKENS})


def add_decoder(name: str, model_name: str = "", **options: Any) -> None:
    def build() -> Case:
        import transformers

        config = getattr(transformers, f"{name}Config")(**{**SMALL, **ENDS, **options})
        model = getattr(transformers, model_name or f"{name}ForCausalLM")(config)
        return Case(model, (), {"input_ids": tokens(), "use_cache": False}, {"input_ids": TOKENS, "use_cache": None})

    ZOO[f"transformers {name}"] = build


ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
add_decoder("Llama", num_key_value_heads=2)
add_decoder("Mistral", num_key_value_heads=2, sliding_window=4)
add_decoder("Qwen2", num_key_value_heads=2)
add_decoder("Qwen3", num_key_value_heads=2, head_dim=8)
add_decoder("Gemma", num_key_value_heads=2, head_dim=8)
add_decoder("Gemma2", num_key_value_heads=2, head_dim=8, sliding_window=4, query_pre_attn_scalar=8)
add_decoder("Phi")
add_decoder("Phi3", num_key_value_heads=2)
add_decoder("StableLm", num_key_value_heads=2)
add_decoder("Olmo", num_key_value_heads=2)
add_decoder("Mixtral", num_key_value_heads=2, num_local_experts=3, num_experts_per_tok=2)
add_decoder("Qwen2Moe", num_key_value_heads=2, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
            shared_expert_intermediate_size=32)  # fmt: skip
add_decoder("GPTNeoX")
add_decoder("Falcon")
add_decoder("Bloom", n_layer=2, n_head=4)
add_decoder("OPT", ffn_dim=64, word_embed_proj_dim=32)
add_decoder("GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=4)
add_decoder("GPT2", "GPT2LMHeadModel", n_embd=32, n_layer=2, n_head=4)
add_decoder("Mamba", state_size=4)


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
        **SMALL, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2, num_feat_extract_layers=2,
    )  # fmt: skip
    return Case(Wav2Vec2Model(config), (torch.randn(1, 400),))


@case("transformers CLIP")
def clip() -> Case:
    from transformers import CLIPConfig, CLIPModel

    text = {**SMALL, "max_position_embeddings": 16, "bos_token_id": 1, "eos_token_id": 2}
    vision = {**LAYERS, "image_size": 32, "patch_size": 8}
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)
    return Case(CLIPModel(config), (), {"input_ids": tokens(), "pixel_values": image(32)})


def add_vision_transformer(name: str, size: int = 32, **options: Any) -> None:
    def build() -> Case:
        import transformers

        config = getattr(transformers, f"{name}Config")(**{**LAYERS, **options})
        return Case(getattr(transformers, f"{name}Model")(config), (image(size),), {}, (BATCH,))

    ZOO[f"transformers {name}"] = build


add_vision_transformer("ViT", image_size=32, patch_size=8)
add_vision_transformer("Dinov2", image_size=28, patch_size=7, size=28)
add_vision_transformer("Segformer", num_encoder_blocks=2, depths=[1, 1], hidden_sizes=[16, 32], sr_ratios=[4, 2],
                    patch_sizes=[7, 3], strides=[4, 2], mlp_ratios=[2, 2], num_attention_heads=[2, 4])  # fmt: skip
