# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Writes docs/front-ends.md, which front end is for which model and what each covers, from the registries."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path

from generated import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "front-ends.md"
HEAD = """\
<!-- Written by tools/dev/gen_front_ends.py from the registries (`make generate`): do not edit. -->
# Models in: which front end
| you have | in Python | on the command line | needs |
| --- | --- | --- | --- |
| an ONNX model | [`rx.from_onnx`](onnx.md) | `relax-compile model.onnx` | `relax-mlir[onnx]` |
| a torch model, a `.pt2` file | [`rx.from_torch`](torch.md) | `relax-compile model.pt2` | `relax-mlir[torch]` |
| code that stays torch | [`torch.compile(model, backend="relax_mlir")`](torch.md#torchcompile) | | `relax-mlir[torch]` |
| a jax function | [`rx.jit`](jax.md) | | `relax-mlir[jax]` |
| code that stays jax | [the platform `relax`](jax.md#the-platform-relax) | `JAX_PLATFORMS=relax` | `relax-mlir[jax]` |
| StableHLO: text, bytecode, what `jax.export` gives | [`rx.from_stablehlo`](stablehlo.md) | `relax-compile model.mlir` | |
| TOSA: text, bytecode | [`rx.from_tosa`](tosa.md) | `relax-compile model.mlir` | |
| linalg on tensors, other upstream MLIR | [`rx.Module.parse`](tosa.md#plain-mlir) | `relax-compile model.mlir` | |
| a TFLite (LiteRT) model | [`rx.from_tflite`](tflite.md) | `relax-compile model.tflite` | `relax-mlir[tflite]` |
| a `tvm.IRModule` | [`rx.from_tvm`](from-tvm.md) | | `apache-tvm` |
| TVMScript | [`rx.Module.from_script`](script.md) | `relax-compile module.py` | |
| nothing yet | [a graph that Python code builds](python.md) | | |

What a `.mlir` or `.mlirbc` file holds tells which front end reads it. All give a module of the `relax` dialect, which
`rx.compile`, `rx.lower`, codegens and `relax-opt` take as any other.

## What cannot be imported
One error lists everything, with the place in the model and the reason. `relax-compile model --check` prints that list
without compiling, for each of these files. `relax-compile --list-onnx-operators`, `--list-torch-operators`,
`--list-stablehlo-operators`, `--list-tosa-operators` and `--list-tflite-operators` print what is known, and where it is
written.

## Files from others
Reading a model runs no code of its author: ONNX, TFLite, StableHLO, TOSA, MLIR, TVMScript and `.pt2` files are data. A
`.pt2` file that holds objects of its author's classes, or that torch 2.8 or older wrote, is refused. `trust=True` and
`--trust` read such a file by torch.export.load, [which runs code](torch.md#pt2-files-from-others). A compiled program,
`.rxa`, is code. `SECURITY.md` lists each kind of file.

## An operator of your own
A converter says what an operator becomes; it is written alike for all front ends, and one may serve several:

```python
import relax_mlir as rx
from relax_mlir import relax


@rx.register_onnx("com.acme", "Swish")
@rx.register_torch("acme::swish.default")
@rx.register_stablehlo("custom_call @acme.swish")
@rx.register_tosa("tosa.custom @acme.swish")
@rx.register_tflite("AcmeSwish")
def swish(node):
    return relax.nn.silu(node.tensor(0))
```

`node.tensor(0)` is an operand, `node.value(0)` what is known of it while the model is imported, `node.call_tir(...)` a
PrimFunc of yours, `raise node.fail("reason")` a refusal; attributes are read as each front end has them. A package of
yours [announces the module](extending.md#how-others-find-your-package) that has these lines.

## What each covers
Operators with a converter, by the file of `frontends/<front end>/operators/` that has them. What ONNX defines by other
operators, torch decomposes, and StableHLO's composites need none. Modules of torch count overloads, and backward steps.

"""
FRONT_ENDS = ("onnx", "torch", "stablehlo", "tosa", "tflite")


def pages() -> dict[Path, str]:
    return {PAGE: HEAD + coverage()}


def families(front_end: str) -> Counter[str]:
    """How many operators each file of converters has; those that helpers elsewhere make count as theirs who ask."""
    registry = importlib.import_module(f"relax_mlir.frontends.{front_end}.registry")
    registry.CONVERTERS.load()
    modules: dict[str, str] = {}
    for each in registry.CONVERTERS.all():
        module = each.function.__module__
        if module.startswith("relax_mlir."):
            modules[each.name] = module.rpartition(".")[2] if ".operators." in module else ""
    return Counter(modules.values())


def coverage() -> str:
    counts = {each: families(each) for each in FRONT_ENDS}
    names = sorted({name for each in counts.values() for name in each if name})
    shared = [name for name in names if sum(name in each for each in counts.values()) > 1]
    rows = [f"| {name} | {' | '.join(str(counts[each][name] or '') for each in FRONT_ENDS)} |\n" for name in shared]
    others = [sum(n for name, n in counts[each].items() if name not in shared) for each in FRONT_ENDS]
    totals = [counts[each].total() for each in FRONT_ENDS]
    head = f"| file | {' | '.join(FRONT_ENDS)} |\n| --- |{' --: |' * len(FRONT_ENDS)}\n"
    end = [f"| {what} | {' | '.join(map(str, row))} |\n" for what, row in (("others", others), ("**all**", totals))]
    return head + "".join((*rows, *end))


if __name__ == "__main__":
    sys.exit(main(__doc__, pages))
