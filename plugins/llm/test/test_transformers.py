# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of transformers: their own logits and greedy tokens are the oracle. `suite.py torch` runs these tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from test_lora import CHANGED, write_adapter
from tiny_tokenizer import TEMPLATE, VOCABULARY, tiny_tokenizer

torch = pytest.importorskip("torch")
import native_libraries  # noqa: E402  # transformers imports torchvision

native_libraries.declare()
import transformers  # noqa: E402

TOKENS = [int(each) for each in numpy.random.default_rng(5).integers(3, VOCABULARY, 40)]
SIZES = {
    "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 64, "vocab_size": VOCABULARY,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.3,
}  # fmt: skip
LLAMA3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}  # fmt: skip
YARN = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 16}
LONGROPE = {"rope_type": "longrope", "rope_theta": 1e4, "partial_rotary_factor": 0.5,
            "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 1.5, 2.0, 3.0],
            "original_max_position_embeddings": 32}  # fmt: skip
GEMMA3 = {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
          "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}}  # fmt: skip
EXPERTS = {"Mixtral": {"num_local_experts": 5, "num_experts_per_tok": 2},
           "GptOss": {"num_local_experts": 5, "num_experts_per_tok": 3, "sliding_window": 6, "swiglu_limit": 0.5},
           "Qwen3Moe": {"num_experts": 5, "num_experts_per_tok": 2, "moe_intermediate_size": 32}}  # fmt: skip
TOKENIZER = transformers.PreTrainedTokenizerFast(
    tokenizer_object=tiny_tokenizer()[0], bos_token="<s>", eos_token="</s>", chat_template=TEMPLATE
)
GPT2 = transformers.GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=9)
LOCAL_AND_FULL = ["sliding_attention", "full_attention"]


def random_module(name: str, dtype: torch.dtype = torch.float32, **changes: object) -> transformers.PreTrainedModel:
    """Return a module with random weights and random norms and biases, in inference mode."""
    kind = getattr(transformers, f"{name}ForCausalLM")
    torch.manual_seed(0)
    module = kind(kind.config_class(**{**SIZES, **changes})).eval()
    with torch.no_grad():
        for weight in module.parameters():
            if weight.ndim == 1:
                weight.add_(0.3 * torch.randn_like(weight))
    return cast(module, dtype)


def cast(module: transformers.PreTrainedModel, dtype: torch.dtype) -> transformers.PreTrainedModel:
    """Give the weights of a module another type. The frequencies of the rope stay f32, as in loaded models."""
    for weight in module.parameters():
        weight.data = weight.data.to(dtype)
    return module


def logits_of(module: transformers.PreTrainedModel, tokens: Sequence[int]) -> numpy.ndarray:
    with torch.no_grad():
        return module(torch.tensor([tokens])).logits[0].float().numpy()


def greedy_tokens(module: transformers.PreTrainedModel, tokens: Sequence[int]) -> list[int]:
    prompt = torch.tensor([tokens])
    found = module.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=16, do_sample=False)
    return found[0, len(tokens) :].tolist()


def check(model: rx.llm.Model, module: transformers.PreTrainedModel, tokens: Sequence[int]) -> None:
    """Compare logits and greedy tokens."""
    numpy.testing.assert_allclose(model.logits(tokens), logits_of(module, tokens), rtol=1e-4, atol=1e-4)
    answer = model.generate(tokens, max_tokens=16)
    assert "".join(answer) == "" and len(answer.tokens) == 16
    assert answer.tokens == greedy_tokens(module, tokens)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("Llama", {"rope_parameters": LLAMA3}),
        ("Llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
        ("Llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}}),
        ("Mistral", {"sliding_window": 5, "head_dim": 32}),
        ("Qwen2", {"rope_parameters": YARN, "tie_word_embeddings": True, "head_dim": 16}),
        ("Qwen2", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1}),
        ("Qwen3", {"head_dim": 32, "attention_bias": True}),
        ("Gemma2", {"sliding_window": 6, "query_pre_attn_scalar": 24, "final_logit_softcapping": 3.0,
                    "attn_logit_softcapping": 5.0}),
        ("Gemma3", {"attention_bias": True, "sliding_window": 6, "layer_types": LOCAL_AND_FULL,
                    "rope_parameters": GEMMA3}),
        ("Phi3", {"sliding_window": 7}),
        ("Gemma", {"head_dim": 32, "hidden_act": "gelu"}),
        ("Gemma", {"attention_bias": True}),
        ("Granite", {"embedding_multiplier": 12.0, "attention_multiplier": 0.1, "residual_multiplier": 0.22,
                     "logits_scaling": 8.0}),
        ("Granite", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
        ("Olmo2", {}),
        ("Starcoder2", {"sliding_window": 6}),
        ("Starcoder2", {"use_bias": False, "tie_word_embeddings": False}),
        ("Phi", {}),
        ("Phi", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e5, "partial_rotary_factor": 0.25}}),
        ("Olmo2", {"attention_bias": True, "num_key_value_heads": 4}),
        ("Phi3", {"rope_parameters": LONGROPE, "original_max_position_embeddings": 32}),
        ("Mixtral", EXPERTS["Mixtral"]),
        ("Mixtral", {**EXPERTS["Mixtral"], "sliding_window": 5, "num_experts_per_tok": 1}),
        ("Qwen3Moe", EXPERTS["Qwen3Moe"]),
        ("Qwen3Moe", {**EXPERTS["Qwen3Moe"], "norm_topk_prob": True, "num_experts_per_tok": 5}),
        ("Qwen3Moe", {**EXPERTS["Qwen3Moe"], "decoder_sparse_step": 2}),
        ("GptOss", {**EXPERTS["GptOss"], "swiglu_limit": 7.0, "rope_parameters": {"rope_type": "default"}}),
        ("GptOss", {**EXPERTS["GptOss"], "rope_parameters": {**YARN, "truncate": False}, "num_experts_per_tok": 1}),
    ],
)  # fmt: skip
def test_logits_and_greedy_tokens(name: str, changes: Mapping[str, object]) -> None:
    module = random_module(name, **changes)
    check(rx.llm.load(module), module, TOKENS)


@pytest.mark.parametrize("name", ["Bert", "NomicBert"])
@pytest.mark.parametrize("is_folder", [False, True])
def test_embeddings_of_encoders(name: str, is_folder: bool, tmp_path: Path) -> None:
    kind = getattr(transformers, f"{name}Model")
    torch.manual_seed(0)
    sizes = {key: value for key, value in SIZES.items() if key not in ("head_dim", "num_key_value_heads")}
    module = kind(kind.config_class(**sizes)).eval()
    with torch.no_grad():
        for weight in module.parameters():
            if weight.ndim == 1:
                weight.add_(0.3 * torch.randn_like(weight))
    module.save_pretrained(tmp_path)
    TOKENIZER.save_pretrained(tmp_path)
    model = rx.llm.load(tmp_path if is_folder else module, embeddings=True, **({"cache": False} if is_folder else {}))
    tokens = [TOKENS, TOKENS[:1], TOKENS[7:20]]
    with torch.no_grad():
        states = [module(torch.tensor([each])).last_hidden_state[0].numpy() for each in tokens]
    found = model.embed(tokens, normalize=False)
    numpy.testing.assert_allclose(found, numpy.stack([each.mean(0) for each in states]), rtol=1e-4, atol=1e-4)


def test_a_short_context_has_the_short_factors_of_longrope() -> None:
    # transformers chooses by the length of each sequence, a compiled model by the length of the longest one.
    module = random_module("Phi3", rope_parameters=LONGROPE, original_max_position_embeddings=32)
    check(rx.llm.load(module, context=32), module, TOKENS[:15])


def test_the_text_model_of_a_module_with_pictures() -> None:
    vision = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
              "image_size": 28, "patch_size": 14}  # fmt: skip
    text = {**SIZES, "layer_types": LOCAL_AND_FULL, "sliding_window": 6}
    config = transformers.Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    torch.manual_seed(0)
    module = transformers.Gemma3ForConditionalGeneration(config).eval()
    check(rx.llm.load(module), module, TOKENS)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_types_of_weights(dtype: torch.dtype) -> None:
    module = random_module("Llama", dtype)
    found = rx.llm.load(module).logits(TOKENS)
    # The model computes with the rounded weights in f32.
    numpy.testing.assert_allclose(found, logits_of(cast(module, torch.float32), TOKENS), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["Qwen3", "Mixtral", "Qwen3Moe", "GptOss"])
def test_a_module_has_the_program_of_its_folder(name: str, tmp_path: Path) -> None:
    module = random_module(name, torch.bfloat16, **EXPERTS.get(name, {}))
    module.save_pretrained(tmp_path)
    TOKENIZER.save_pretrained(tmp_path)
    model, other = rx.llm.load(module, tokenizer=TOKENIZER), rx.llm.load(tmp_path, cache=False)
    numpy.testing.assert_array_equal(model.logits(TOKENS), other.logits(TOKENS))
    assert model.description == replace(other.description, name=f"{name}ForCausalLM")
    with torch.no_grad():
        for weight in module.parameters():
            weight.zero_()
    numpy.testing.assert_array_equal(model.logits(TOKENS), other.logits(TOKENS))


def test_the_tokenizer_of_transformers_or_its_folder(tmp_path: Path) -> None:
    TOKENIZER.save_pretrained(tmp_path)
    module = random_module("Llama")
    module.generation_config.eos_token_id = [2, 7]
    messages = [{"role": "user", "content": "hello world"}]
    for tokenizer in (TOKENIZER, tmp_path, str(tmp_path)):
        model = rx.llm.load(module, tokenizer=tokenizer)
        assert model.tokenizer.encode("hello world") == TOKENIZER.encode("hello world")
        assert model.template.render(messages) == TOKENIZER.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        assert model.tokenizer.ends == {1, 2, 7}  # `</s>` is the token 1 of this tokenizer
        answer = model.generate("hello world", 8)
        assert "".join(answer) == TOKENIZER.decode(answer.tokens)


def test_without_a_tokenizer_there_are_tokens_only(tmp_path: Path) -> None:
    module = random_module("Llama")
    first = greedy_tokens(module, TOKENS)
    module.generation_config.eos_token_id = first[3]
    rx.llm.load(module).save(tmp_path / "saved")
    for model in (rx.llm.load(module), rx.llm.load(tmp_path / "saved")):
        answer = model.generate(TOKENS, 16)
        assert list(answer) == [] and answer.tokens == first[: first.index(first[3])]
        for use, arguments in (
            (model.generate, {"prompt": "hello"}),
            (model.generate, {"prompt": TOKENS, "stop": "x"}),
            (model.chat, {"messages": [{"role": "user", "content": "hello"}]}),
            (model.tokenizer.decode, {"tokens": [5]}),
        ):
            with pytest.raises(rx.RefusalError, match="has no texts: pass tokens, or load the module with `tokenizer`"):
                use(**arguments)


def test_an_adapter_is_merged(tmp_path: Path) -> None:
    module = random_module("Llama")
    tensors = write_adapter(tmp_path / "adapter")
    found = rx.llm.load(module, adapter=tmp_path / "adapter").logits(TOKENS)
    weights = module.state_dict()
    for name, _, _ in CHANGED.values():
        a, b = (torch.tensor(tensors[f"base_model.model.{name}.lora_{each}.weight"]) for each in "AB")
        weights[f"{name}.weight"] += 2 * b @ a
    numpy.testing.assert_allclose(found, logits_of(module, TOKENS), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda module: module.to("meta"), "LlamaForCausalLM: the tensor 'model.embed_tokens.weight' is on the device"),
        (
            lambda module: cast(module, torch.float8_e4m3fn),
            "has elements of torch.float8_e4m3fn, expected one of torch.",
        ),
        (lambda module: module.model, "LlamaModel: the tensor 'lm_head.weight' is missing among the 20"),
        (lambda module: torch.nn.Linear(3, 4), "model is a Linear, expected a path or a module of transformers"),
        (lambda module: module.config, "model is a LlamaConfig, expected a path or a module of transformers"),
        (
            lambda module: transformers.GPT2LMHeadModel(GPT2),
            "GPT2LMHeadModel: the architecture 'gpt2' is not supported",
        ),
        (lambda module: module.config.update({"hidden_act": "relu"}) or module, "the activation 'relu' is not"),
    ],
)
def test_refused_modules(change: Callable[[object], object], problem: str) -> None:
    with pytest.raises(rx.RelaxError) as caught:
        rx.llm.load(change(random_module("Llama")))
    assert problem in str(caught.value)


def test_refused_tokenizers(tmp_path: Path) -> None:
    module = random_module("Llama")
    for tokenizer, problem in [
        (3, "tokenizer is a int, expected a tokenizer of transformers or a folder with tokenizer.json"),
        (tmp_path, f"{tmp_path} has no tokenizer.json"),
        (transformers.ByT5Tokenizer(), "tokenizer is a ByT5Tokenizer, which has no tokenizer.json: expected a fast"),
    ]:
        with pytest.raises(rx.RelaxError) as caught:
            rx.llm.load(module, tokenizer=tokenizer)
        assert problem in str(caught.value)
    with pytest.raises(rx.OptionError, match="has its own, expected None"):
        rx.llm.load(tmp_path, tokenizer=TOKENIZER)
