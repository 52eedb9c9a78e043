# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Write docs/front-ends.md, the models and the coverage of each front end, from the registries."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from pathlib import Path

from generated import main
from relax_mlir.support.importing import is_own_module
from relax_mlir.support.plugins import load_plugins

PAGE = Path(__file__).resolve().parents[2] / "docs" / "front-ends.md"
HEAD = """\
<!-- Written by tools/dev/gen_front_ends.py from the registries (`make generate`): do not edit. -->
# Front ends
| you have | in Python | on the command line | needs |
| --- | --- | --- | --- |
| an ONNX model | [`rx.from_onnx`](onnx.md) | `relax-compile model.onnx` | `relax-mlir[onnx]` |
| a torch model, a `.pt2` file | [`rx.from_torch`](torch.md) | `relax-compile model.pt2` | `relax-mlir[torch]` |
| code with torch | [`torch.compile(model, backend="relax_mlir")`](torch.md#torchcompile) | | `relax-mlir[torch]` |
| a jax function | [`rx.jit`](jax.md) | | `relax-mlir[jax]` |
| code with jax | [the platform `relax`](jax.md#the-platform-relax) | `JAX_PLATFORMS=relax` | `relax-mlir[jax]` |
| StableHLO: text, bytecode, results of `jax.export` | [`rx.from_stablehlo`](stablehlo.md) | `relax-compile model.mlir` | |
| TOSA: text, bytecode | [`rx.from_tosa`](tosa.md) | `relax-compile model.mlir` | |
| linalg on tensors, other upstream MLIR | [`rx.Module.parse`](tosa.md#plain-mlir) | `relax-compile model.mlir` | |
| a TFLite (LiteRT) model | [`rx.from_tflite`](tflite.md), of the plug-in `relax_mlir_tflite` | `relax-compile model.tflite` | `relax-mlir[tflite]` |
| a `tvm.IRModule` | [`rx.from_tvm`](from-tvm.md) | | `apache-tvm` |
| TVMScript | [`rx.Module.from_script`](script.md) | `relax-compile module.py` | |
| a format of your own | [a front end of your own](extending.md#a-front-end-of-your-own) | `relax-compile model.acme` | |
| no model | [graphs in Python](python.md) | | |

The content of a `.mlir` or `.mlirbc` file selects its front end. All front ends return a module of the `relax` dialect
for `rx.compile`, `rx.lower`, codegens and `relax-opt`.

## Unsupported operators
One error lists all unsupported operators, with locations and reasons. `relax-compile model --check` prints the list
without compiling. `relax-compile --list-operators=NAME` prints the supported operators of a front end (`onnx`, `torch`,
`stablehlo`, `tosa`, `tflite`, or one of a package) and the locations of their converters.

## Untrusted files
Reading a model runs no code of its author: ONNX, TFLite, StableHLO, TOSA, MLIR, TVMScript and `.pt2` files are data.
`.pt2` files with objects of the author's classes, and files by torch 2.8 or older, are rejected. `trust=True` and
`--trust` read them by torch.export.load, [which runs code](torch.md#pt2-files-from-others). A compiled program, `.rxa`,
is code. `SECURITY.md` lists all kinds of files.

## Custom operators
Write a converter for your operator. Converters have the same form in all front ends, and one function can serve several:

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

`node.tensor(0)` is an operand, and `node.value(0)` its value if known at import. `node.call_tir(...)` calls a PrimFunc of
yours, `raise node.fail("reason")` rejects the operator. Attributes depend on the front end. Your package
[announces the module](extending.md#how-others-find-your-package) with these lines.

## Coverage
Number of operators with a converter, by file of the front end's folder `operators/`. Functions of ONNX, decompositions of
torch and composites of StableHLO need no converter. The numbers for torch include overloads and backward steps.

"""
FRONT_ENDS = ("onnx", "torch", "stablehlo", "tosa", "tflite")
#: Registries of front ends that are plug-ins.
_PLUGINS = {
    "stablehlo": "relax_mlir_jax.stablehlo.registry",
    "tflite": "relax_mlir_tflite.registry",
    "torch": "relax_mlir_torch.registry",
    "tosa": "relax_mlir_tosa.registry",
}


def pages() -> dict[Path, str]:
    return {PAGE: HEAD + coverage()}


def families(front_end: str) -> Counter[str]:
    """Count the operators in each file of converters.

    Converters that a helper creates count for the file that calls it.
    """
    registry = importlib.import_module(_PLUGINS.get(front_end, f"relax_mlir.frontends.{front_end}.registry"))
    load_plugins(front_end)
    modules: dict[str, str] = {}
    for each in registry.CONVERTERS.all():
        module = each.function.__module__
        if is_own_module(module):
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
