# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of torchao: parameters are subclasses of torch.Tensor, which torch.export keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torchao import quantization
from torchao.quantization import PerGroup

import relax_mlir as rx

_BLOCKS = PerGroup(32)
CONFIGURATIONS: dict[str, Any] = {
    "bytes": quantization.Int8WeightOnlyConfig(),
    "bytes by bytes": quantization.Int8DynamicActivationInt8WeightConfig(),
    "four bits": quantization.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=_BLOCKS),
    "bytes by four bits": quantization.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=_BLOCKS
    ),
    "f8": quantization.Float8WeightOnlyConfig(),
}
X = torch.linspace(-2, 2, 5 * 64).reshape(5, 64)


def _exported(name: str) -> tuple[torch.export.ExportedProgram, torch.Tensor]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32)).eval()
    quantization.quantize_(model, CONFIGURATIONS[name])
    with torch.no_grad():
        return torch.export.export(model, (X,)), model(X)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_results_equal_torch(name: str) -> None:
    program, expected = _exported(name)
    found = rx.compile(rx.from_torch(program))["main"](X)
    # A rounded activation may be one step away.
    torch.testing.assert_close(found, expected, rtol=0, atol=0.01 if "by" in name else 1e-5)


def test_files_with_subclasses_are_pickles(tmp_path: Path) -> None:
    program, expected = _exported("four bits")
    kept, plain = tmp_path / "kept.pt2", tmp_path / "plain.pt2"
    torch.export.save(program, kept)
    with pytest.raises(rx.RelaxError, match=r"subclasses of torch\.Tensor.*pickles are code") as refused:
        rx.from_torch(kept)
    assert any("run_decompositions({})" in note for note in refused.value.notes)
    torch.export.save(program.run_decompositions({}), plain)
    for module in (rx.from_torch(plain), rx.from_torch(kept, trust=True)):
        torch.testing.assert_close(rx.compile(module)["main"](X), expected, rtol=0, atol=1e-5)
