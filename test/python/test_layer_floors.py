# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers beside their floors: the arithmetic of bench/layer_floors.py, and a run of one small layer."""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path

import numpy
import pytest

_ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(_ROOT / "bench"))
layer_cases, layer_floors, machine_speeds = map(
    importlib.import_module, ("layer_cases", "layer_floors", "machine_speeds")
)
Conv, Product, Attention = layer_cases.Conv, layer_cases.Product, layer_cases.Attention
Level = machine_speeds.Level
_SPEEDS = machine_speeds.Speeds(1e6, (Level("L1", 1000.0, 1e5), Level("memory", math.inf, 1e3)))
_SMALL = Conv(2, 16, 16, 3, 8)


def test_work_without_products_with_the_padding() -> None:
    # Of 8 results along an axis, the first and the last have two taps inside of the image.
    assert _SMALL.flops == 2 * 16 * 16 * (8 * 3 - 2) ** 2
    assert Conv(1, 16, 16, 3, 8, 1, 16).flops == 2 * 16 * 22**2
    assert Conv(1, 4, 8, 2, 8, 2).flops == 2 * 4 * 8 * 8**2
    assert Product(1, 2, 3, 5).flops == 60 and Attention(1, 7, 2, 3, 5).flops == 420


def test_numbers_of_elements() -> None:
    assert (_SMALL.weights, _SMALL.data, _SMALL.out_side) == (16 * 16 * 9, 2 * 16 * 64, 8)
    assert (Conv(1, 3, 8, 7, 224, 2).out_side, Conv(1, 3, 8, 4, 224, 4).out_side) == (112, 56)
    product, attention = Product(1, 2, 3, 5), Attention(1, 7, 2, 3, 5)
    assert (product.weights, product.data) == (15, 16)
    assert (attention.weights, attention.data) == (105, 112)


def test_reads_of_what_a_level_holds_and_of_the_rest() -> None:
    assert _SPEEDS.reads(500, 500) == {"L1": 500 / 1e5}
    assert _SPEEDS.reads(4000, 4000) == pytest.approx({"L1": 1000 / 1e5, "memory": 3000 / 1e3})
    # A fourth of a footprint stays in the cache, thus a fourth of each read.
    assert _SPEEDS.reads(400, 4000) == pytest.approx({"L1": 100 / 1e5, "memory": 300 / 1e3})


def test_arithmetic_or_memory_binds() -> None:
    product = Product(1, 10, 10, 10)  # 2000 operations; data 800 bytes, weights 400
    assert layer_floors.floor_of(product, 1, _SPEEDS._replace(peak=1e3)) == (2.0, "F")
    # The data fit in the cache. Weights and data together are 1200 bytes, of which a sixth does not.
    seconds, bound = layer_floors.floor_of(product, 1, _SPEEDS)
    assert bound == "B memory"
    assert seconds == pytest.approx(800 / 1e5 + 400 * (5 / 6 / 1e5 + 1 / 6 / 1e3))
    assert layer_floors.floor_of(product, 1, _SPEEDS, 2)[1] == "B L1"


def test_shares_of_a_network() -> None:
    rows = [
        layer_floors.Row("made", Product(count, 1, 1, 1), seconds, layer_floors.Floor(least, "F"), 1.0, False, theirs)
        for count, seconds, least, theirs in ((1, 1.0, 0.25, 2.0), (3, 1.0, 1.0, 0.5), (1, 1e-6, 1e-9, 1.0))
    ]
    text = layer_floors.summary(rows)
    assert text == "geomean of shares 0.50, weighted 0.81, worst product 1x1x1 0.25, ours/ort 1.00"


@pytest.mark.parametrize("layer", [_SMALL, Conv(1, 16, 32, 3, 8, 2), Conv(1, 3, 8, 4, 8, 4)])
def test_a_chain_preserves_the_shape(layer: Conv) -> None:
    chain = layer_floors.Chain(layer, layer_floors.copies_of(layer))
    assert str(chain.module).count("relax.nn.conv2d") >= 2
    assert chain.copies == (1 if layer.inputs == 3 else 8)


def test_a_small_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(layer_floors, "NETWORKS", {"made": (_SMALL, Product(1, 8, 16, 32, "gelu", normed=True))})
    monkeypatch.setattr(layer_floors, "bandwidths", lambda target, threads: _SPEEDS.levels)
    file = tmp_path / "figures.json"
    assert layer_floors.main(["made", "--seconds", "0.01", "--peers", "--json", str(file)]) == 0
    rows = json.loads(file.read_text(encoding="utf-8"))
    assert [(row["layer"], row["count"]) for row in rows] == [(_SMALL.name, 2), ("product 8x16x32 gelu", 1)]
    assert all(row["seconds"] > 0 and row["onnxruntime"] > 0 and not row["mixed"] for row in rows)
    assert numpy.allclose([row["share"] for row in rows], [row["floor"] / row["seconds"] for row in rows])
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith(machine_speeds.cpu_name()) and last.startswith("made: geomean of shares")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["renset50"], "unknown network 'renset50'; did you mean 'resnet50'?"),
        (["bert", "--only", "conv"], "no layer of bert has 'conv' in its name"),
        (["bert", "--cpu", "haswel"], "has no CPU 'haswel'"),
    ],
)
def test_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert layer_floors.main(arguments) == 2
    assert message in capsys.readouterr().err
