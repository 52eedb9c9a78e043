# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exported programs of torch: read from .pt2 files, or traced from modules."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.support.quiet import holding_logs, ignoring_warnings

from .fx_operators import functional_name, name_of
from .pt2.archive_program import deserializing, read_archive, register_needs
from .pt2.refusals import UnreadableError
from .registry import find_complex_converter, find_converter

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.nn import Module

# Older versions lack torch.export.default_decompositions.
_OLDEST = (2, 6)
#: Loggers of torch's packages for exported programs.
_LOGGERS = ("torch.export", "torch._export")
_MOST_MESSAGES, _MOST_CHARACTERS = 4, 400


def import_torch() -> ModuleType:
    """Return the package torch. Raise ModelError if it is missing or too old."""
    try:
        import torch
    except ImportError:
        raise ModelError("models of torch need the package torch: pip install relax-mlir[torch]") from None
    if tuple(int(word) for word in torch.__version__.split("+")[0].split(".")[:2]) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise ModelError(f"torch {torch.__version__} is too old: {oldest} or newer is needed, pip install -U torch")
    return torch


def read_program(
    source: object,
    args: Sequence[object] | None,
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: object = None,
    *,
    trust: bool = False,
) -> ExportedProgram:
    """Return an exported program: the argument itself, from a .pt2 file, or traced from a module with arguments.

    `trust` allows a file to run code of its author. Raise ModelError.
    """
    torch = import_torch()
    if trust and not isinstance(source, (str, os.PathLike)):
        raise OptionError(f"trust=True is for the path of a .pt2 file, got {type(source).__name__}")
    if args is not None and not isinstance(args, (tuple, list)):
        raise OptionError(f"args are a tuple, args=(x,), got {type(args).__name__}")
    if isinstance(source, torch.export.ExportedProgram):
        _refuse_arguments("an ExportedProgram", args, kwargs, dynamic_shapes)
        return source
    if isinstance(source, (str, os.PathLike)):
        _refuse_arguments("a file", args, kwargs, dynamic_shapes)
        return _load(torch, Path(source), trust)
    if not isinstance(source, torch.nn.Module):
        if callable(source):
            raise ModelError("a function is not a model: wrap it in a torch.nn.Module whose forward calls it")
        raise ModelError(
            f"a model of torch is a Module, an ExportedProgram or the path of a .pt2 file, got {type(source).__name__}"
        )
    if args is None and kwargs is None:
        raise ModelError(
            "a Module is traced with arguments: from_torch(model, args=(torch.randn(1, 3, 224, 224),))",
            notes=["an ExportedProgram (torch.export.export) needs none"],
        )
    return _export_model(torch, source, tuple(args or ()), dict(kwargs or {}), dynamic_shapes)


def _refuse_arguments(what: str, *given: object) -> None:
    if any(each is not None for each in given):
        raise OptionError(f"args, kwargs and dynamic_shapes are for a Module: {what} has been traced with its own")


def _load(torch: ModuleType, path: Path, trust: bool) -> ExportedProgram:
    if not path.is_file():
        raise ModelError(f"cannot read {path}: no such file")
    said: list[str] = []
    try:
        with ignoring_warnings(), holding_logs(*_LOGGERS) as logs:
            try:
                return _load_by_torch(torch, path) if trust else read_archive(path, _has_converter)
            finally:
                said = logs.texts()
    except UnreadableError as error:
        raise error.altered(f"cannot read {path}: {error.message}") from None
    except Exception as error:  # Errors of zip, json, pickle, and torch.
        first = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{path} is not a program that torch {torch.__version__} can read: {type(error).__name__}: {first}",
            notes=[
                *(f"torch says: {name[:_MOST_CHARACTERS]}" for name in said[:_MOST_MESSAGES]),
                "torch.export.save(torch.export.export(model, args), path) writes one",
            ],
        ) from None


def _load_by_torch(torch: ModuleType, path: Path) -> ExportedProgram:
    """Return the program as torch reads it, by pickle and eval: the file's author chooses the code that runs."""
    register_needs(path)
    with deserializing:
        program: ExportedProgram = torch.export.load(path)
    return program


def _has_converter(operator: object) -> bool:
    """Check whether an operator or its functional form has a converter."""
    names = (name_of(operator), functional_name(operator))
    return any(find(name) is not None for find in (find_converter, find_complex_converter) for name in names)


def _export_model(
    torch: ModuleType, model: Module, args: tuple[object, ...], kwargs: dict[str, object], dynamic_shapes: object
) -> ExportedProgram:
    _check_device(model)
    trained = sorted(set(_yield_trained_kinds(model))) if model.training else []
    if trained:
        warnings.warn(
            f"the model is in training mode, and so are {', '.join(trained[:4])} in the program; "
            "call model.eval() for inference",
            stacklevel=5,
        )
    try:
        with torch.no_grad(), holding_logs("torch") as logs:
            program: ExportedProgram = torch.export.export(
                model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False
            )
    except Exception as error:  # Any exception of the model or torch during tracing.
        raise ModelError(
            f"torch.export cannot trace the model: {type(error).__name__}: {str(error).strip()}",
            notes=list(_remedies(str(error))),
        ) from error
    logs.show()
    return program


#: Part of torch's message about a transformers result that contains a cache of keys and values.
_CACHE = re.compile(r"\b(\w*Cache)'> in output")


def _remedies(problem: str) -> Iterator[str]:
    if (cache := _CACHE.search(problem)) is not None:
        yield (
            f"the model returns a {cache[1]}: use_cache=False leaves it out, "
            "from_torch(model, args, kwargs={'use_cache': False}) or model.config.use_cache = False"
        )
    if "data-dependent" in problem:
        yield "a branch on the values of a tensor is torch.cond(condition, if_true, if_false, operands)"
    yield "torch.export.draft_export(model, args) lists everything that stands in the way"


def _check_device(model: Module) -> None:
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.device.type not in ("cpu", "meta"):
            raise ModelError(
                f"'{name}' is on device '{tensor.device}': a model is imported from the CPU, model.cpu(); "
                "the program runs where its target says"
            )


def _yield_trained_kinds(model: Module) -> Iterator[str]:
    """Yield the kinds of a model's modules that compute something else in training mode."""
    for module in model.modules():
        kind = type(module).__name__
        if kind.startswith(("Dropout", "BatchNorm", "InstanceNorm", "AlphaDropout")) and module.training:
            yield kind


# ---- names of sizes ----


def names_of_dims(args: object, spec: object) -> Iterator[list[tuple[int, str]]]:
    """Yield the dimensions that a `Dim` names, for each tensor in the arguments, in torch's order."""
    if hasattr(args, "shape") and hasattr(args, "dtype"):
        yield list(_named(spec))
    elif isinstance(args, Mapping):
        for key, arg in args.items():
            yield from names_of_dims(arg, spec.get(key) if isinstance(spec, Mapping) else None)
    elif isinstance(args, (list, tuple)):
        specs = spec if isinstance(spec, (list, tuple)) and len(spec) == len(args) else [None] * len(args)
        for each, own in zip(args, specs, strict=True):
            yield from names_of_dims(each, own)
    elif not isinstance(args, (bool, int, float, str, type(None))):
        yield []


def _named(spec: object) -> Iterator[tuple[int, str]]:
    pairs = spec.items() if isinstance(spec, Mapping) else enumerate(spec) if isinstance(spec, (list, tuple)) else ()
    for axis, dim in pairs:
        if (name := getattr(dim, "__name__", "")) and not hasattr(dim, "root"):
            yield int(axis), name
