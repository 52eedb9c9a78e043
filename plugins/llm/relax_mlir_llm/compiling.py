# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of a model: of its files, or of a module in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import relax_mlir as rx

from .architectures import find_architecture
from .chat_template import CHATML, ChatTemplate
from .config import Config
from .description import HIDDEN, Description
from .gguf_source import GgufSource
from .gguf_tokenizer import gguf_tokenizer
from .lora import MergedSource
from .model_pooling import model_pooling
from .module_source import Module, SavesTokenizer, module_ends, module_source
from .page_layout import PageLayout
from .program import build_module
from .safetensors_source import HuggingFaceSource, folder_source
from .saved import Saved
from .tokenizer import TOKENIZER_FILE, Marks, Tokenizer, folder_tokenizer, texts_of
from .weights import Source

_TEMPLATE_FILE = "chat_template.jinja"
#: Target with the same bits for any batch (docs/numerics.md).
_CPU = "llvm"


def compile_model(
    model: Path | Module,
    target: str,
    context: int | None,
    dtype: str,
    kv: str,
    page_size: int,
    progress: Callable[[str, float], None] | None,
    adapter: Path | None = None,
    tokenizer: Path | SavesTokenizer | None = None,
    embeddings: bool = False,
) -> Saved:
    """Return the compiled model of a GGUF file, a folder of Hugging Face or a module, with an adapter merged into it.

    - tokenizer: the tokenizer of a module, or the folder with it.
    - embeddings: also compile the function of hidden states.
    """
    tell = progress or (lambda text, share: None)
    tell(f"reading {model.name if isinstance(model, Path) else type(model).__name__}", 0.0)
    source: Source
    if not isinstance(model, Path):
        source = _merged(module_source(model), adapter)
        texts, template = _of_module(model, tokenizer)
    elif model.is_dir():
        source = _merged(folder_source(model), adapter)
        texts, template = _of_folder(model)
    elif adapter is not None:
        raise rx.RefusalError(
            f"{model} is a GGUF file, and {adapter} an adapter of PEFT: load the folder of Hugging Face with the model"
        )
    else:
        source = file = GgufSource(str(model))
        texts = gguf_tokenizer(file)
        template = _template(file.metadata("tokenizer.chat_template"), texts)
    architecture = find_architecture(source)
    config = architecture.configure(source, context)
    layout = PageLayout(config.layers, page_size, config.kv_heads, config.head_size, kv)
    pooling = model_pooling(source) if embeddings else None
    module = build_module(source, architecture, config, layout, has_hidden=embeddings)
    tell("compiling", 0.0)
    if embeddings:
        # `donate` of rx.compile is for the function main.
        rx.Pipeline(f"relax-donate{{function={HIDDEN} args={','.join(layout.donated())}}}").run(module)
    is_cpu = target.partition("{")[0] == _CPU and "numerics" not in target
    program = rx.compile(
        module,
        target,
        precision=dtype,
        numerics="same" if is_cpu else None,
        donate=layout.donated(),
        instruments=[_Told(tell)],
        cache=False,
    )
    description = _description(model, source.facts.architecture, target, config, layout)
    return Saved(replace(description, pooling=pooling), program, texts, template)


def _merged(source: HuggingFaceSource, adapter: Path | None) -> Source:
    return source if adapter is None else MergedSource(source, adapter)


class _Told(rx.Instrument):
    """Instrument that tells how much of the code is made."""

    def __init__(self, tell: Callable[[str, float], None]) -> None:
        self._tell = tell

    def code_made(self, kernel: str, done: int, count: int) -> None:
        self._tell("compiling", done / count)


def _description(
    model: Path | Module, architecture: str, target: str, config: Config, layout: PageLayout
) -> Description:
    name = model.resolve().name.removesuffix(".gguf") if isinstance(model, Path) else type(model).__name__
    return Description(name, architecture, target, config.vocabulary, config.context, layout, config.width)


def _of_module(module: Module, tokenizer: Path | SavesTokenizer | None) -> tuple[Tokenizer, ChatTemplate]:
    ends = module_ends(module)
    if tokenizer is None:
        texts = Tokenizer(None, Marks(None, None, tuple(ends), False, False))
        return texts, _template(None, texts)
    if isinstance(tokenizer, Path):
        texts, template = _of_folder(tokenizer)
    else:
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder)
            if not (Path(folder) / TOKENIZER_FILE).exists():
                raise rx.RefusalError(
                    f"tokenizer is a {type(tokenizer).__name__}, which has no {TOKENIZER_FILE}: expected a fast "
                    "tokenizer of transformers"
                )
            texts, template = _of_folder(Path(folder))
    texts.ends |= ends
    return texts, template


def _of_folder(folder: Path) -> tuple[Tokenizer, ChatTemplate]:
    tokenizer, settings = folder_tokenizer(folder)
    file = folder / _TEMPLATE_FILE
    try:
        text: object = file.read_text(encoding="utf-8") if file.exists() else settings.get("chat_template")
    except (OSError, UnicodeDecodeError) as error:
        raise rx.ModelError(f"cannot read {file}: {error}") from None
    if isinstance(text, list):  # several templates by name
        named = {each.get("name"): each.get("template") for each in text if isinstance(each, Mapping)}
        text = named.get("default")
    return tokenizer, _template(text, tokenizer)


def _template(text: object, tokenizer: Tokenizer) -> ChatTemplate:
    bos, eos = texts_of(tokenizer, (tokenizer.bos, tokenizer.eos))
    return ChatTemplate(text if isinstance(text, str) else CHATML, bos, eos)
