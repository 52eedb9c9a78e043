# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`suite.py torch-models`: the zoo, the distance from eager mode, and the run beside the list."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from model_checks import dynamic_error, larger
from model_zoo import ZOO, Case, apart

_TOOL = Path(__file__).resolve().parents[2] / "tools" / "dev" / "torch_models.py"
_LIBRARIES = ("torchvision", "timm", "transformers", "diffusers", "torchaudio", "geometric")


def test_the_zoo_has_each_library() -> None:
    counts = {library: sum(name.startswith(f"{library} ") for name in ZOO) for library in _LIBRARIES}
    assert min(counts.values()) >= 8 and len(ZOO) >= 120, counts


@pytest.mark.parametrize(
    ("got", "wanted", "distance"),
    [
        ([1.0, math.nan], [1.0, math.nan], 0.0),
        ([1.0, math.inf], [2.0, math.inf], 0.5),
        ([1.0, math.nan], [1.0, 2.0], math.inf),
        ([1.0, 2.0], [1.0, math.nan], math.inf),
        ([1.0, 2.0], [1.0, math.inf], math.inf),
        ([1 + 2j], [1 + 4j], 0.5),
        ([], [], 0.0),
        ([1.0], [1.0, 1.0], math.inf),
        ([1], [1.0], math.inf),
    ],
)
def test_distances(got: list[complex], wanted: list[complex], distance: float) -> None:
    assert apart([torch.tensor(got)], [torch.tensor(wanted)]) == distance


class _Halves(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x[: x.shape[0] // 2] + y


def test_dynamic_models_are_called_with_larger_sizes() -> None:
    args = (torch.arange(4.0), torch.arange(2.0))
    shapes = ({0: torch.export.Dim("two", min=2) * 2}, {0: torch.export.Dim("two", min=2)})
    program = torch.export.export(_Halves(), args, dynamic_shapes=shapes, strict=False)
    (x, y), _ = larger(program, args, {})
    assert x.tolist() == [0, 1, 2, 3, 0, 1] and y.tolist() == [0, 1, 0]


class _Fixed(torch.nn.Module):
    """Model whose result for larger sizes differs from torch.export's trace."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + (0 if torch.compiler.is_compiling() or x.shape[0] == 4 else 1)


def test_a_wrong_result_for_larger_sizes_is_noticed() -> None:
    assert dynamic_error(Case(_Fixed(), (torch.arange(4.0),), {}, ({0: "rows"},))) == pytest.approx(1 / 4)


def test_outcomes_of_architectures() -> None:
    command = [sys.executable, str(_TOOL), "--jobs", "1", "--only"]
    done = subprocess.run([*command, "recurrent/*"], capture_output=True, text=True, check=False, timeout=600)
    expected = ["static: 1 of 1 pass", "dynamic: 0 of 0 pass", "compile: 1 of 1 pass", "2 passed, 1 left out of 3"]
    assert (done.stdout.splitlines(), done.returncode) == (expected, 0), done.stdout + done.stderr
    done = subprocess.run([*command, "no such"], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2 and "no architectures for --only ['no such']" in done.stderr
