# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of a model: of its files, or of a module in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import relax_mlir as rx

from .adapters import Adapters
from .architectures import find_architecture
from .chat_template import CHATML, ChatTemplate
from .description import LOGITS, Description
from .gguf_checks import check_all_read, check_metadata
from .gguf_source import GgufSource
from .gguf_tokenizer import gguf_tokenizer
from .load_options import LoadOptions
from .lora import MergedSource
from .model_pooling import model_pooling
from .module_source import Module, SavesTokenizer, module_ends, module_source
from .page_layout import PageLayout
from .program import ModuleBuilder, donate_pages
from .safetensors_source import HuggingFaceSource, folder_source
from .saved import Saved
from .tokenizer import SETTINGS_FILE, TOKENIZER_FILE, Marks, Tokenizer, folder_tokenizer, texts_of
from .weights import Source

_TEMPLATE_FILE = "chat_template.jinja"
#: Target with the same bits for any batch (docs/numerics.md).
_CPU = "llvm"


def compile_model(
    model: Path | Module,
    options: LoadOptions,
    progress: Callable[[str, float], None] | None,
    tokenizer: Path | SavesTokenizer | None = None,
) -> Saved:
    """Return the compiled model of a GGUF file, of a folder of Hugging Face, or of a module.

    `tokenizer` is the tokenizer of a module, or the folder with it.
    """
    tell = progress or (lambda text, share: None)
    tell(f"reading {model.name if isinstance(model, Path) else type(model).__name__}", 0.0)
    source, texts, template = _read(model, options.merged, tokenizer)
    architecture = find_architecture(source)
    asked, shortest, config = (architecture.configure(source, number) for number in (options.context, 1, None))
    # Only some ropes depend on the context. Without one, all contexts share the program of the longest.
    is_shared = replace(shortest, context=config.context) == config
    config = config if is_shared else asked
    layout = PageLayout(config.layers, options.places, config.kv_heads, config.head_size, options.kv)
    if config.is_encoder:
        _check_encoder(source.path, options)
    pooling = model_pooling(source, is_encoder=config.is_encoder) if options.embeddings else None
    adapters = Adapters(source, {name: Path(folder) for name, folder in options.adapters})
    is_divided = options.mesh is not None
    builder = ModuleBuilder(source, architecture, config, layout, options.activation_bits, has_ranks=is_divided)
    if not config.is_encoder:
        builder.add_logits()
    if options.embeddings:
        builder.add_hidden()
    if isinstance(source, GgufSource):
        check_all_read(source)
    if options.adapters:
        builder.add_adapted(adapters)
    description = Description(
        name=_name(model),
        architecture=source.facts.architecture,
        target=options.target,
        vocabulary=config.vocabulary,
        context=asked.context,
        most_context=config.context if is_shared else None,
        pages=layout,
        width=config.width,
        pooling=pooling,
        is_encoder=config.is_encoder,
        adapters=tuple(name for name, _ in options.adapters),
    )
    if options.mesh is None:
        tell("compiling", 0.0)
        return Saved(description, _compile(builder.module, options, tell, "compiling"), texts, template)
    from .ranks import start_ranks  # only models of several ranks need these modules
    from .tensor_parallel import divide_module

    divided = divide_module(builder.module, layout, options.mesh)
    del builder, source  # a process needs the parts of its rank only

    with tempfile.TemporaryDirectory() as kernels:  # which ranks have in common

        def compile_rank(module: rx.Module, rank: int) -> rx.runtime.Executable:
            donate_pages(module, layout, LOGITS)
            return _compile(module, options, tell, f"compiling rank {rank}", kernels)

        ranks = start_ranks(divided, description, options.engine, compile_rank)
    return Saved(description, ranks.program, texts, template, ranks)


def _compile(
    module: rx.Module, options: LoadOptions, tell: Callable[[str, float], None], text: str, cache: str | bool = False
) -> rx.runtime.Executable:
    is_cpu = options.target.partition("{")[0] == _CPU and "numerics" not in options.target
    return rx.compile(
        module,
        options.target,
        precision=options.dtype,
        numerics="same" if is_cpu else None,
        instruments=[_Told(tell, text)],
        cache=cache,
    )


def _check_encoder(path: str, options: LoadOptions) -> None:
    if options.adapters:
        raise rx.RefusalError(f"{path}: adapters of an encoder are not supported")
    if not options.embeddings:
        raise rx.OptionError(
            f"{path}: the model is an encoder, which has embeddings only: load it with embeddings=True, or serve it "
            "with --embeddings"
        )


def _read(
    model: Path | Module, adapter: Path | None, tokenizer: Path | SavesTokenizer | None
) -> tuple[Source, Tokenizer, ChatTemplate]:
    """Return the weights of a model, with an adapter merged into them, its tokenizer, and the template of chats."""
    if not isinstance(model, Path):
        return _merge_adapter(module_source(model), adapter), *_read_module_texts(model, tokenizer)
    if model.is_dir():
        return _merge_adapter(folder_source(model), adapter), *_read_folder_texts(model)
    if adapter is not None:
        raise rx.RefusalError(
            f"{model} is a GGUF file, and {adapter} an adapter to merge: load the folder of Hugging Face with the "
            "model, or use `adapters`"
        )
    source = GgufSource(str(model))
    check_metadata(source)
    texts = gguf_tokenizer(source)
    key = "tokenizer.chat_template"
    return source, texts, _template(source.metadata(key), texts, f"{model}: '{key}' in the metadata")


def _merge_adapter(source: HuggingFaceSource, adapter: Path | None) -> Source:
    return source if adapter is None else MergedSource(source, adapter)


class _Told(rx.Instrument):
    """Instrument that tells how much of the code is made."""

    def __init__(self, tell: Callable[[str, float], None], text: str) -> None:
        self._tell, self._text = tell, text

    def code_made(self, kernel: str, done: int, count: int) -> None:
        self._tell(self._text, done / count)


def _name(model: Path | Module) -> str:
    return model.resolve().name.removesuffix(".gguf") if isinstance(model, Path) else type(model).__name__


def _read_module_texts(module: Module, tokenizer: Path | SavesTokenizer | None) -> tuple[Tokenizer, ChatTemplate]:
    ends = module_ends(module)
    if tokenizer is None:
        texts = Tokenizer(None, Marks(None, None, tuple(ends), False, False))
        return texts, _template(None, texts, "")
    if isinstance(tokenizer, Path):
        texts, template = _read_folder_texts(tokenizer)
    else:
        with tempfile.TemporaryDirectory() as folder:
            tokenizer.save_pretrained(folder)
            if not (Path(folder) / TOKENIZER_FILE).exists():
                raise rx.RefusalError(
                    f"tokenizer is a {type(tokenizer).__name__}, which has no {TOKENIZER_FILE}: expected a fast "
                    "tokenizer of transformers"
                )
            texts, template = _read_folder_texts(Path(folder))
    texts.ends |= ends
    return texts, template


def _read_folder_texts(folder: Path) -> tuple[Tokenizer, ChatTemplate]:
    tokenizer, settings = folder_tokenizer(folder)
    file = folder / _TEMPLATE_FILE
    try:
        has_file = file.exists()
        text: object = file.read_text(encoding="utf-8") if has_file else settings.get("chat_template")
    except (OSError, UnicodeDecodeError) as error:
        raise rx.ModelError(f"cannot read {file}: {error}") from None
    if isinstance(text, list):  # several templates by name
        named = {each.get("name"): each.get("template") for each in text if isinstance(each, Mapping)}
        text = named.get("default")
    where = str(file) if has_file else f"{folder / SETTINGS_FILE}: 'chat_template'"
    return tokenizer, _template(text, tokenizer, where)


def _template(text: object, tokenizer: Tokenizer, where: str) -> ChatTemplate:
    """Return a template. Raise ModelError if it does not parse: a chat would fail only after the compilation."""
    bos, eos = texts_of(tokenizer, (tokenizer.bos, tokenizer.eos))
    if not isinstance(text, str):
        return ChatTemplate(CHATML, bos, eos)
    template = ChatTemplate(text, bos, eos)
    template.check(where)
    return template
