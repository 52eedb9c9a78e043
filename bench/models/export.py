# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export the models of zoo.py to ONNX, with random weights: a static and a dynamic variant of each.

Decoders have dynamic sizes only.

python bench/models/export.py build/models [name ...]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from zoo import DECODERS, ZOO, Exported, Input, translations

_TORCH = {"float32": torch.float32, "int64": torch.int64}


def main(folder: str, *names: str) -> int:
    known = {model.name for model in (*ZOO, *DECODERS)}
    if unknown := set(names) - known:
        print(f"no such model: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}", file=sys.stderr)
        return 2
    Path(folder).mkdir(parents=True, exist_ok=True)
    known_to_onnx = translations()
    for model in (*ZOO, *DECODERS):
        if not names or model.name in names:
            export(model, Path(folder), known_to_onnx)
    return 0


def export(model: Exported, folder: Path, known_to_onnx: dict[Any, Any]) -> None:
    torch.manual_seed(0)
    built = model.build()
    for is_dynamic in (True,) if model in DECODERS else (False, True):
        is_marked = is_dynamic and model not in DECODERS
        path = folder / (f"{model.name}_dynamic.onnx" if is_marked else f"{model.name}.onnx")
        if path.exists():
            continue
        # The exporter treats a size of 1 as static, so examples of a dynamic model have other sizes.
        inputs = example(model, model.sizes[1] if is_dynamic else model.sizes[0])
        _write(model, built, inputs, is_dynamic, known_to_onnx, path)
        print(f"{path} ({path.stat().st_size / 1e6:.0f} MB)", flush=True)


def _write(
    model: Exported, built: Any, inputs: tuple[Any, ...], is_dynamic: bool, known_to_onnx: dict[Any, Any], path: Path
) -> None:
    unfinished = path.with_suffix(".part")
    names = {"input_names": [each.name for each in model.inputs], "output_names": list(model.outputs)}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if model.is_traced:
            axes = {each.name: _dynamic_axes(each) for each in model.inputs} if is_dynamic else None
            torch.onnx.export(built, inputs, unfinished, dynamo=False, opset_version=17, dynamic_axes=axes, **names)
        else:
            shapes = _dynamic_shapes(model, built) if is_dynamic else None
            options = {"custom_translation_table": known_to_onnx, "verbose": False}
            program = torch.onnx.export(built, inputs, dynamo=True, dynamic_shapes=shapes, **names, **options)
            program.save(unfinished, external_data=False)
    unfinished.rename(path)


def example(model: Exported, sizes: dict[str, int]) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(0)
    made = []
    for each in model.inputs:
        shape = model.shape(each, sizes)
        if each.below:
            made.append(torch.randint(each.below, shape, generator=generator, dtype=_TORCH[each.dtype]))
        else:
            made.append(torch.randn(shape, generator=generator, dtype=_TORCH[each.dtype]))
    return tuple(made)


def _dynamic_axes(given: Input) -> dict[int, str]:
    return {axis: size for axis, size in enumerate(given.sizes) if isinstance(size, str)}


def _dynamic_shapes(model: Exported, built: Any) -> Any:
    dimensions = {name: torch.export.Dim(name, min=2) for name in model.sizes[0]}
    shapes = tuple({axis: dimensions[name] for axis, name in _dynamic_axes(each).items()} for each in model.inputs)
    return (shapes,) if _takes_varargs(built) else shapes


def _takes_varargs(built: Any) -> bool:
    """Check for `forward(self, *inputs)`, which has one parameter, a tuple."""
    import inspect

    kinds = [each.kind for each in inspect.signature(built.forward).parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
