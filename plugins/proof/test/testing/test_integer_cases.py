# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer layers in relax-check: layouts and types of patterns, numbers at edges, what they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import image_chip
import numpy
import pytest
import relax_mlir as rx
from image_chip import ImageChip
from partitioning import Native, codegen
from relax_mlir.patterns import is_op, wildcard
from relax_mlir.recipes import Op
from relax_mlir.support import plugins
from relax_mlir.support.requantization import rounded_quotients
from relax_mlir_proof.testing.case_lists import all_cases
from relax_mlir_proof.testing.checking import _drawn, check, subject_of
from relax_mlir_proof.testing.diagnosis import diagnose
from relax_mlir_proof.testing.integer_reference import Rounding, expected_of, last_rounding
from relax_mlir_proof.testing.trial import tried
from relax_mlir_proof.testing.verdicts import Verdict


def _verdict(name: str, group: str) -> Verdict:
    cases = {each.name: each for each in all_cases(subject_of("imagechip"), [group])}
    found = tried(subject_of("imagechip"), cases[name], 0)
    assert found is not None
    return found


LINEAR = "imagechip.linear matmul+add"


@pytest.mark.parametrize("case", [f"{LINEAR} quantized", f"{LINEAR} far quantized", f"{LINEAR} ties quantized"])
def test_a_chip_equal_to_its_out_is_right(case: str) -> None:
    found = _verdict(case, "recipes")
    assert (found.verdict, found.reason) == ("right", "") and found.taken


def test_results_without_out_may_be_one_step_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(image_chip.CHIP, "shift", lambda product, places: product >> places)
    assert _verdict(f"{LINEAR} uneven scales quantized", "recipes").kind == "rounding"
    types = {"x": "u8", "w": "i8@channel symmetric", "bias": "i32 derived", "y": "u8"}
    monkeypatch.setattr(image_chip.ImageChip, "recipe", rx.Recipe(Op("imagechip.linear", **types)))
    found = _verdict(f"{LINEAR} uneven scales quantized", "recipes")
    assert found.verdict == "right" and "1 step away: no out= states its integers" in found.reason
    monkeypatch.setitem(image_chip.CHIP, "shift", lambda product, places: (product >> places) + 2)
    assert _verdict(f"{LINEAR} uneven scales quantized", "recipes").verdict == "wrong"


@pytest.mark.parametrize("pattern", ["conv", "depthwise", "pool", "add"])
def test_modules_have_the_layouts_groups_and_types_of_checks(pattern: str) -> None:
    """The chip states channels last in its patterns, and unsigned bytes only in its checks."""
    case = next(
        each
        for each in all_cases(subject_of("imagechip"), ["composites"])
        if each.name.startswith(f"imagechip.{pattern}")
    )
    setup = case.make(0)
    assert setup.calls[0][0].dtype == numpy.uint8
    text = str(setup.module)
    assert pattern == "add" or "NHWC" in text
    assert ("groups = 2" in text) == (pattern == "depthwise")


def test_recipes_have_layers_that_the_check_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of groups come before rows of one output per channel, which this chip wants."""

    def fits(match: Any) -> bool | str:
        return match["w"].type.shape[-1] == match.op("product").groups or "the chip has one output for each channel"

    rows = [(name, pattern, fits if "depthwise" in name else check) for name, pattern, check in ImageChip.patterns]
    monkeypatch.setattr(ImageChip, "patterns", tuple(rows))
    found = [each for each in all_cases(subject_of("imagechip"), ["recipes"]) if each.subject == "imagechip.depthwise"]
    for case in [each for each in found if each.variant in ("", "by 2 padded behind")]:
        text = str(case.make(0).module)
        assert "groups = 4" in text and ("padding = array<i64: 0, 0, 1, 1>" in text) == bool(case.variant)


@pytest.mark.parametrize(
    ("variant", "key", "order"), [("padded on two sides", "padding", (2, 3, 0, 1)), ("by 2 and 1", "strides", (1, 0))]
)
def test_swapped_sides_are_found(variant: str, key: str, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"imagechip.conv nn.conv2d {variant} quantized"
    assert _verdict(name, "recipes").verdict == "right"

    def swapped(read: Any, **settings: Any) -> Any:
        return image_chip.convolve(read, **settings | {key: [settings[key][place] for place in order]})

    monkeypatch.setitem(image_chip.CHIP, "conv", swapped)
    assert _verdict(name, "recipes").is_fault


def test_kinds_are_told_in_another_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models come as NCHW. The layer's axes are those in front of the transposition back."""
    recipe = rx.Recipe(*ImageChip.recipe.entries, layout="NHWC:HWIO")
    monkeypatch.setattr(ImageChip, "recipe", recipe)
    monkeypatch.setitem(image_chip.CHIP, "fill", 9)
    assert _verdict("relax.nn.conv2d f32 padded constants quantized", "recipes").kind == "padding"


def test_models_are_quantized_by_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageChip, "recipe", rx.Recipe(*ImageChip.recipe.entries, layout="NHWC:HWIO"))
    found = _verdict("mobilenet quantized", "models")
    assert found.verdict == "right" and found.taken > 5


def test_ties_have_both_signs() -> None:
    name = "dequantize+dequantize+nn.conv2d+dequantize+add+quantize ties"
    case = next(each for each in all_cases(subject_of("imagechip"), ["composites"]) if each.name.endswith(name))
    setup = case.make(0)
    module = expected_of(setup.module, "composites", case.subject, ["imagechip"]).module
    found = [last_rounding(module, arguments) for arguments in setup.calls]
    quotients = numpy.concatenate([each.quotients.reshape(-1) for each in found if each is not None])
    ties = quotients[quotients - numpy.floor(quotients) == 0.5]
    assert (ties > 0).sum() > 20 and (ties < 0).sum() > 20


# ---- kinds of differences ----


def _rounding(quotients: numpy.ndarray, padded: bool = False) -> Rounding:
    return Rounding(quotients, (quotients * 2**20).astype("int64"), 3, -128, 127, "half_away", -1, (-2,), padded)


def _result(quotients: numpy.ndarray, mode: str = "half_away") -> numpy.ndarray:
    return (rounded_quotients(quotients, mode) + 3).astype("int64").clip(-128, 127)


QUOTIENTS = numpy.random.default_rng(0).integers(-300, 300, (4, 9, 6)) / 2
EXPECTED = _result(QUOTIENTS)
BORDER = numpy.zeros(EXPECTED.shape, "int64")
BORDER[:, [0, -1]] = 3
CHANNEL = numpy.int64([0, 9, 0, -7, 5, 8])


@pytest.mark.parametrize(
    ("found", "kind", "reason"),
    [
        (_result(QUOTIENTS, "half_up"), "rounding", "one step at ties only, as 'half_up' instead of 'half_away'"),
        (_result(QUOTIENTS, "half_down"), "rounding", "as 'half_down'"),
        (EXPECTED.clip(-128, 126), "saturation", "limited to -128 and 126"),
        ((EXPECTED - 4).clip(-128, 127), "zero point", "by -4 everywhere"),
        (EXPECTED + BORDER, "padding", "only at borders"),
        (EXPECTED * (CHANNEL == 0) + (EXPECTED // 3) * (CHANNEL != 0), "channels", "all but the channels 0, 2"),
        ((EXPECTED - 3) // 2 + 3, "scale", "results are 0.49"),
        (numpy.random.default_rng(1).integers(-128, 128, EXPECTED.shape), "sums", "by up to"),
    ],
)
def test_kinds(found: numpy.ndarray, kind: str, reason: str) -> None:
    diagnosis = diagnose(found, EXPECTED, _rounding(QUOTIENTS, padded=kind == "padding"))
    assert diagnosis is not None and (diagnosis.kind, reason in diagnosis.reason) == (kind, True), diagnosis
    assert diagnose(EXPECTED, EXPECTED, _rounding(QUOTIENTS)) is None


# ---- reports ----


def _no_relu(match: object) -> str:
    return "the chip has no relu"


def test_a_pattern_that_never_ran_is_no_success() -> None:
    patterns: Sequence[object] = [
        ("npu.relu", is_op("relax.nn.relu")(wildcard()), _no_relu),
        ("npu.exp", is_op("relax.exp")(wildcard())),
    ]
    with codegen(patterns, base=Native) as npu:
        only = ["npu.relu*", "npu.exp*"]
        report = check(npu, groups=["composites"], only=only, jobs=1)
        drawn = check(npu, groups=["composites"], only=only, share=0.9, jobs=1)
    assert list(report.never_run) == ["pattern 'npu.relu'"] and not report.is_right
    assert "never run: pattern 'npu.relu': " in str(report) and "the chip has no relu" in str(report)
    assert not drawn.never_run


def test_a_case_without_a_module_is_no_success() -> None:
    matrix = is_op("relax.nn.relu")(is_op("relax.exp")(wildcard()))
    with codegen([("npu.never", matrix, lambda match: "the chip has no exp")], base=Native) as npu:
        report = check(npu, only=["npu.never exp+nn.relu many"], jobs=1)
    assert not report.verdicts and "1 other without a module" in report.summary()
    assert "the chip has no exp" in report.never_run["pattern 'npu.never'"]


def test_patterns_take_turns_and_other_operators_are_left_out() -> None:
    chosen, left_out = _drawn(subject_of("imagechip"), [], [], 1.0, 0)
    subjects = [case.subject for case in chosen]
    assert set(subjects[:8]) == {f"imagechip.{name}" for name in ("conv", "depthwise", "linear", "pool", "add")}
    convs = [case for case in chosen if case.subject == "imagechip.conv" and case.group == "composites"]
    assert len({case.variant for case in convs[:40]}) == len({case.variant for case in convs})
    assert "relax.tanh" not in subjects and "relax.nn.avg_pool2d" in subjects
    ((reason, count),) = left_out.items()
    assert "--groups=operators" in reason and count > 2000
    assert any(case.subject == "relax.tanh" for case in _drawn(subject_of("imagechip"), ["operators"], [], 1.0, 0)[0])


def test_patterns_without_time_did_not_run() -> None:
    report = check("imagechip", groups=["composites"], only=["imagechip.add*"], seconds=0.0, jobs=1)
    assert not report.verdicts and report.left_out["the time was up"] > 5
    assert report.never_run == {"pattern 'imagechip.add'": "none of its cases began"}


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_chip.py").write_text("raise TypeError('wrong number of operands')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_announced", [*plugins.announced_plugins(), ("codegen", "brokenchip", "broken_chip")])
    with pytest.raises(rx.RelaxError, match=r"cannot load plug-in 'broken_chip': .*wrong number of operands"):
        subject_of("brokenchip")
