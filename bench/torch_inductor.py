# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""torch.compile with this project's back end beside Inductor: twelve models, as calls and as steps of training.

    python bench/torch_inductor.py                    calls and steps of all twelve models, on one thread
    python bench/torch_inductor.py --threads 2        on two threads
    python bench/torch_inductor.py --autotune         beside mode="max-autotune", too
    python bench/torch_inductor.py --only Bert        models with this text in their names

The benchmark runs in the environment of `suite.py torch`, and Inductor needs a C++ compiler. The models come from
test/pytorch/zoo, in small configurations. A step is the forward and the backward pass of the mean square of the
results. Columns: milliseconds of ours, the least of several turns with the others; ours as a share of each other one;
the largest difference from eager mode, relative to the largest value of a result or of all gradients.
"""

from __future__ import annotations

import argparse
import copy
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from relax_mlir_torch.compile.torch_compile import torch_backend
from torch_models import least

sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "pytorch"))
from model_zoo import apart, built, tensors_in

MODELS = (
    "torchvision resnet18", "torchvision mobilenet_v2", "torchvision efficientnet_b0", "torchvision convnext_tiny",
    "torchvision swin", "timm mixer_s32_224", "timm vit_tiny_patch16_224", "transformers Bert", "transformers Llama",
    "transformers GPT2", "transformers T5", "diffusion block",
)  # fmt: skip
OURS, EAGER = "ours", "eager"


class Rival:
    """Model compiled by one compiler, as a call or as a step of training."""

    def __init__(self, name: str, compiler: str, *, is_step: bool) -> None:
        self._case, self._is_step = built(name), is_step
        self._model = copy.deepcopy(self._case.model)
        options: dict[str, Any] = {"backend": torch_backend, "options": {"fallback": "error"}}
        if compiler != OURS:
            options = {"mode": "max-autotune" if compiler == "autotune" else None}
        torch._dynamo.reset()
        self._compiled = self._model if compiler == EAGER else torch.compile(self._model, **options)

    def __call__(self) -> Any:
        if not self._is_step:
            with torch.no_grad():
                return self._compiled(*self._case.args, **self._case.kwargs)
        self._model.zero_grad()
        results = tensors_in(self._compiled(*self._case.args, **self._case.kwargs))
        torch.stack([each.square().mean() for each in results if each.is_floating_point()]).sum().backward()
        # The gradients of some parameters are zero but for rounding: all gradients have one scale.
        return torch.cat([each.grad.flatten() for each in self._model.parameters() if each.grad is not None])


def row(name: str, compilers: list[str], *, is_step: bool) -> dict[str, float]:
    """Measure and print a model. Return the shares of the compilers' times."""
    rivals = {compiler: Rival(name, compiler, is_step=is_step) for compiler in [OURS, EAGER, *compilers]}
    expected = copy.deepcopy(rivals[EAGER]())
    error = apart(rivals[OURS](), expected)
    for compiler in compilers:
        rivals[compiler]()  # compiles
    times = least(dict[str, Callable[[], object]](rivals))
    shares = {compiler: times[OURS] / times[compiler] for compiler in [EAGER, *compilers]}
    cells = "".join(f"{share:10.2f}" for share in shares.values())
    print(f"{name + (', step' if is_step else ''):40}{times[OURS]:10.3f}{cells}{error:10.1e}", flush=True)
    return shares


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the models with this text in their names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--autotune", action="store_true", help="measure Inductor with max-autotune, too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(options.threads)
    os.environ["RELAX_NUM_THREADS"] = str(options.threads)
    compilers = ["inductor", *(["autotune"] if options.autotune else [])]
    heads = "".join(f"{'/' + each:>10}" for each in [EAGER, *compilers])
    print(f"{'':40}{'ms':>10}{heads}{'error':>10}", flush=True)
    shares, failed = [], 0
    for name in MODELS:
        for is_step in (False, True):
            if options.only not in name:
                continue
            try:
                shares.append(row(name, compilers, is_step=is_step))
            except Exception as error:  # models, torch and Inductor may raise any error; the others are still measured
                failed += 1
                print(f"{name:40}{type(error).__name__}: {str(error).partition(chr(10))[0][:90]}", flush=True)
    for compiler in compilers if shares else ():
        column = [each[compiler] for each in shares]
        mean = math.exp(sum(map(math.log, column)) / len(column))
        print(f"{compiler}: geomean {mean:.2f}, largest {max(column):.2f}, above 1: {sum(x > 1 for x in column)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
