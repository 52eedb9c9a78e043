# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Further text architectures of transformers: encoders, decoders, encoders with decoders."""

from __future__ import annotations

from typing import Any

from .cases import TOKENS, ZOO, Case, case, tokens
from .transformers_models import SMALL, add_decoder, add_encoder

add_encoder("ModernBert", pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2,
            local_attention=4)  # fmt: skip

_EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_COMPRESSED = {
    "q_lora_rank": 16, "kv_lora_rank": 8, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
    "n_routed_experts": 4, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "n_shared_experts": 1, "num_key_value_heads": 4,
}  # fmt: skip
add_decoder("Gemma3Text", "Gemma3ForCausalLM", num_key_value_heads=2, head_dim=8, sliding_window=4,
            query_pre_attn_scalar=8)  # fmt: skip
add_decoder("Qwen3Moe", num_key_value_heads=2, head_dim=8, **_EXPERTS)
add_decoder("Qwen3Next", num_key_value_heads=2, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=4,
            linear_key_head_dim=8, linear_value_head_dim=8, shared_expert_intermediate_size=32,
            layer_types=["linear_attention", "full_attention"], **_EXPERTS)  # fmt: skip
add_decoder("DeepseekV2", **_COMPRESSED)
add_decoder("DeepseekV3", **_COMPRESSED)
add_decoder("Llama4Text", "Llama4ForCausalLM", num_key_value_heads=2, head_dim=8, intermediate_size_mlp=64,
            num_local_experts=4, num_experts_per_tok=1, attention_chunk_size=4)  # fmt: skip
add_decoder("GptOss", num_key_value_heads=2, head_dim=8, sliding_window=4, num_local_experts=4, num_experts_per_tok=2)
add_decoder("Cohere", num_key_value_heads=2)
add_decoder("Granite", num_key_value_heads=2)
add_decoder("Lfm2", num_key_value_heads=2, layer_types=["conv", "full_attention"])
add_decoder("Mamba2", num_heads=8, head_dim=8, state_size=4, n_groups=2, chunk_size=4, expand=2)
add_decoder("RecurrentGemma", num_key_value_heads=1, lru_width=32, attention_window_size=4,
            block_types=["recurrent", "attention"])  # fmt: skip


@case("transformers Longformer")
def longformer() -> Case:
    from transformers import LongformerConfig, LongformerModel

    config = LongformerConfig(**SMALL, attention_window=[4, 4], pad_token_id=1)
    return Case(LongformerModel(config), (), {"input_ids": tokens(2, 8)})


@case("transformers XLNet")
def xlnet() -> Case:
    from transformers import XLNetConfig, XLNetModel

    config = XLNetConfig(vocab_size=99, d_model=32, n_layer=2, n_head=4, d_inner=64)
    return Case(XLNetModel(config), (), {"input_ids": tokens(), "use_mems": False})


def _translator(name: str, **options: Any) -> None:
    def build() -> Case:
        import transformers

        sizes = {f"{part}_{what}": number for part in ("encoder", "decoder")
                 for what, number in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))}  # fmt: skip
        ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
        settings = {"vocab_size": 99, "d_model": 32, "use_cache": False, **sizes, **ends, **options}
        config = getattr(transformers, f"{name}Config")(**settings)
        given = {"input_ids": tokens(), "decoder_input_ids": tokens(2, 5)}
        names = {"input_ids": TOKENS, "decoder_input_ids": {0: "batch", 1: "decoded"}}
        return Case(getattr(transformers, f"{name}Model")(config), (), given, names)

    ZOO[f"transformers {name}"] = build


_translator("Marian")
_translator("SwitchTransformers", d_kv=8, d_ff=64, num_layers=2, num_heads=4, num_experts=3, expert_capacity=8,
            num_sparse_encoder_layers=1, num_sparse_decoder_layers=1)  # fmt: skip
