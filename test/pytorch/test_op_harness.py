# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Harness of torch's tables of operators, with operators and peers whose faults it has to notice."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import op_placements
import pytest
import refusals
import torch
from fake_ops import Altering, Counting, Dying, Hanging, Raising, Refusing, entry_of, numbers
from op_checks import Check, Verdict, reasons_for_all
from op_comparison import difference, expected_of, tensors_of, tolerances, with_updates
from op_entries import Entry, entries
from op_gradients import NothingCompiled
from op_peers import Exported, Peer, Relax, Run, as_tensor, reason_of
from op_workers import Outcome, Task, Worker, run_all
from refusals import Refusal
from torch.testing._internal.opinfo.core import SampleInput
from torch.testing._utils import wrapper_set_seed

PASSES = Verdict("passes")


def verdicts(entry: Entry, peer: Peer, mode: str = "static") -> list[Verdict]:
    found = Check(entry, "f32", mode, peer).run()
    return [found[place] for place in sorted(found)]


# ---- entries and their samples ----


def test_entries_cover_all_of_torchs_tables() -> None:
    names = set(entries())
    assert len(names) > 800
    assert {"sin", "linalg.norm.subgradients_at_zero", "hop/cond", "hop/map.nested", "module/nn.Conv2d"} <= names


@pytest.mark.parametrize("name", ["add", "nn.functional.conv2d", "module/nn.LSTM", "hop/cond"])
def test_samples_are_the_same_each_time(name: str) -> None:
    first, second = (entries()[name].samples(torch.float32) for _ in range(2))
    assert [*map(str, first)] == [*map(str, second)]
    for one, other in zip(first, second, strict=True):
        for each in zip(one.tensors, other.tensors, strict=True):
            torch.testing.assert_close(*each, equal_nan=True, rtol=0, atol=0)
        assert expected_of(entries()[name], one).results


@pytest.mark.parametrize("name", ["sin", "neg", "maximum"])
def test_samples_have_special_values_and_strides_of_references(name: str) -> None:
    tensors = [tensor for sample in entries()[name].samples(torch.float32) for tensor in sample.tensors]
    assert any(tensor.isnan().any() for tensor in tensors)
    assert any(tensor.isinf().any() for tensor in tensors)
    assert any(tensor.numel() == 0 for tensor in tensors)
    assert not all(tensor.is_contiguous() for tensor in tensors)


def test_a_samples_text_names_types_shapes_and_options() -> None:
    entry = entry_of(torch.sum, SampleInput(torch.ones(2, 3).T, kwargs={"dim": 1}))
    assert str(*entry.samples(torch.float32)) == "(float32[3, 2], strides (1, 3), dim=1)"


# ---- verdicts ----


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_one_compilation_serves_all_samples(mode: str) -> None:
    peer = Counting()
    assert verdicts(entry_of(torch.sin, *numbers(7)), peer, mode) == [PASSES] * 7
    assert (peer.imports, peer.compilations) == (1, 1)


def test_one_wrong_sample_does_not_fail_the_rest() -> None:
    peer = Altering(lambda result: result + 1 if result.numel() == 3 else result)
    found = verdicts(entry_of(torch.sin, *numbers(5)), peer)
    assert [each.verdict for each in found] == ["passes", "passes", "wrong", "passes", "passes"]
    assert "Mismatched elements: 3 / 3" in found[2].reason
    assert found[2].sample == "(float32[3])"
    assert peer.compilations == 1


def some_cosines(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x) if x.shape[0] in (2, 4) else torch.sin(x)


def test_refused_samples_are_told_from_others_by_one_compilation() -> None:
    peer = Refusing("aten.cos.default")
    found = verdicts(entry_of(some_cosines, *numbers(5)), peer)
    refused = Verdict("refused", "aten.cos.default: no converter")
    assert found == [PASSES, refused, PASSES, refused, PASSES]
    assert peer.compilations == 1


def test_where_all_are_refused_nothing_is_compiled() -> None:
    peer = Refusing("aten.sin.default")
    assert {each.verdict for each in verdicts(entry_of(torch.sin, *numbers(5)), peer)} == {"refused"}
    assert peer.compilations == 0


def test_samples_refused_before_for_the_same_reason_share_an_import() -> None:
    peer = Refusing("aten.sin.default")
    entry = entry_of(torch.sin, *numbers(5))
    first = Check(entry, "f32", "static", peer).run()
    assert peer.imports == 6
    assert Check(entry, "f32", "dynamic", peer, reasons_for_all(first)).run() == first
    assert peer.imports == 7
    assert reasons_for_all({**first, 9: PASSES}) == set()


def by_values(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] != 3 or x[0] > 0 else x


def test_samples_that_torch_cannot_export_are_not_exported() -> None:
    found = verdicts(entry_of(by_values, *numbers(4)), Counting())
    assert [each.verdict for each in found] == ["passes", "passes", "not exported", "passes"]
    assert "GuardOnDataDependentSymNode" in found[2].reason


def test_a_bug_is_the_error_of_its_sample() -> None:
    found = verdicts(entry_of(torch.sin, *numbers(6)), Raising(4))
    assert [each.verdict for each in found] == [*["passes"] * 3, "error", *["passes"] * 2]
    assert found[3].reason.startswith("ValueError: a bug (fake_ops.py:")


def test_samples_without_tensors_or_failing_in_torch_are_left_out() -> None:
    assert [each.verdict for each in verdicts(entry_of(torch.is_tensor, *numbers(1)), Counting())] == ["left out"]
    (found,) = verdicts(entry_of(torch.linalg.inv, *numbers(1)), Counting())
    assert found.verdict == "left out"
    assert found.reason.startswith("torch raises RuntimeError")


@pytest.mark.parametrize(("mode", "verdict"), [("ranks", "error"), ("ranks_split", "passes")])
def test_other_bits_on_ranks_are_errors(mode: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_placements, "as_tensor", lambda result: as_tensor(result).nextafter(torch.zeros(1)))
    check = op_placements.PlacementCheck(entry_of(torch.sin, *numbers(1)), "f32", mode, Relax())
    assert check.run([0])[0].verdict == verdict


# ---- steps of training ----


class Untrained(Exported):
    """Peer that drops a tensor's gradient."""

    def trained(self, program: torch.export.ExportedProgram, counts: Sequence[int]) -> Run:
        run = super().trained(program, counts)
        return lambda tensors: [result if place % 2 == 0 else result * 0 for place, result in enumerate(run(tensors))]


class Leaving(Exported):
    """Peer that compiles nothing."""

    def trained(self, program: torch.export.ExportedProgram, counts: Sequence[int]) -> Run:
        def run(tensors: Sequence[torch.Tensor]) -> Sequence[object]:
            raise NothingCompiled("nothing to compile")

        return run


def test_gradients_are_compared_behind_results() -> None:
    entry = entry_of(torch.sin, *numbers(2))
    assert verdicts(entry, Exported(), "gradients") == [PASSES] * 2
    found = verdicts(entry, Untrained(), "gradients")
    assert [each.verdict for each in found] == ["wrong", "wrong"]
    assert found[0].reason.startswith("result 1: ")


def test_gradients_of_what_samples_share_are_their_own() -> None:
    shared = torch.ones(3)
    entry = entry_of(torch.mul, SampleInput(shared, args=(shared,)), SampleInput(shared, args=(2.0,)))
    assert verdicts(entry, Exported(), "gradients") == [PASSES] * 2


def test_results_are_differentiated_as_torch_says() -> None:
    sample = SampleInput(torch.ones(3), output_process_fn_grad=lambda result: result.sum())
    (trained,) = entry_of(torch.sin, sample).samples(torch.float32, is_trained=True)
    (plain,) = entry_of(torch.sin, sample).samples(torch.float32)
    assert [tuple(each.call(each.tensors).shape) for each in (trained, plain)] == [(), (3,)]


def test_a_sample_without_compiled_code_is_left_out() -> None:
    (found,) = verdicts(entry_of(torch.sin, *numbers(1)), Leaving(), "gradients")
    assert found == Verdict("left out", "nothing to compile")


# ---- comparison ----


def found_with(op: object, tensor: torch.Tensor, alter: object) -> str:
    entry = entry_of(op, SampleInput(tensor))
    (sample,) = entry.samples(tensor.dtype)
    expected = expected_of(entry, sample)
    return difference(entry, sample, expected, [alter(result) for result in expected.results])


def test_shapes_and_dtypes_count() -> None:
    ones = torch.ones(3)
    assert not found_with(torch.sin, ones, lambda result: result)
    assert found_with(torch.sin, ones, lambda result: result[None]) == "shape [1, 3], torch has [3]"
    expected = "dtype torch.float64, torch has torch.float32"
    assert found_with(torch.sin, ones, lambda result: result.double()) == expected
    assert found_with(torch.sin, ones, lambda result: 1) == "a int, no tensor"
    assert found_with(torch.sin, ones * torch.nan, lambda result: result * 1) == ""


def test_of_random_results_values_do_not_count() -> None:
    assert not found_with(torch.bernoulli, torch.full((100,), 0.5), torch.zeros_like)
    assert found_with(torch.bernoulli, torch.full((100,), 0.5), lambda result: result[1:])


def test_draws_with_a_seed_of_their_own_are_random() -> None:
    draw = functools.partial(wrapper_set_seed, torch.bernoulli)
    assert not found_with(draw, torch.full((100,), 0.5), torch.zeros_like)


def counted(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1).sum()


def test_updates_of_arguments_are_compared() -> None:
    (sample,) = entry_of(counted, *numbers(1)).samples(torch.float32)
    assert [*map(torch.Tensor.tolist, tensors_of(with_updates(sample).call(sample.tensors)))] == [2.0, [2.0]]
    assert sample.tensors[0].tolist() == [1.0]
    peer = Altering(lambda result: result * 2 if result.dim() else result)
    assert [each.verdict for each in verdicts(entry_of(counted, *numbers(2)), peer)] == ["wrong", "wrong"]


def test_vectors_are_defined_up_to_their_signs() -> None:
    a = torch.diag(torch.tensor([1.0, 2, 3])) + 1
    entry = Entry("linalg.eigh", entry_of(torch.linalg.eigh, SampleInput(a)).info)
    (sample,) = entry.samples(torch.float32)
    values, vectors = torch.linalg.eigh(a)
    expected = expected_of(entry, sample)
    assert not difference(entry, sample, expected, [values, -vectors])
    assert difference(entry, sample, expected, [values, vectors.flip(1)]).startswith("result 1: ")


def test_complex_results_are_compared() -> None:
    x = torch.tensor([1.0, 2, 4])
    assert not found_with(torch.fft.fft, x, lambda result: result)
    assert "2 / 3" in found_with(torch.fft.fft, x, lambda result: result.conj())
    assert found_with(torch.fft.fft, x, torch.view_as_real) == "dtype torch.float32, torch has torch.complex64"


def rounding(x: torch.Tensor) -> torch.Tensor:
    return (x + 1000) - 1000


def test_results_as_accurate_as_the_wider_type_pass() -> None:
    values = torch.full((8,), 0.3, dtype=torch.float16)
    assert not torch.allclose(rounding(values), values, atol=0.1)
    assert not found_with(rounding, values, lambda result: result)
    assert not found_with(rounding, values, lambda result: values)
    assert found_with(rounding, values, lambda result: values + 1)


def test_tolerances_are_those_of_the_entry() -> None:
    assert tolerances(entries()["sin"].info, torch.float32) == (1.3e-6, 1e-5)
    own = [each for each in entries().values() if tolerances(each.info, torch.float32) > (1e-5, 1e-5)]
    assert own


def test_the_reason_of_an_import_is_the_first_operator_and_what_it_lacks() -> None:
    table = "2 nodes of the model cannot be imported:\noperator  nodes  reason\naten.foo  2      no converter\n"
    assert reason_of(table) == "aten.foo: no converter"
    assert reason_of("\n  no such thing\nmore") == "no such thing"


# ---- processes ----


@pytest.mark.slow  # a process that imports torch, or several
def test_a_crash_is_the_verdict_of_its_sample() -> None:
    scalars, others = entries()["add"].samples(torch.float32, 2)
    assert any(tensor.dim() == 0 for tensor in scalars.tensors)
    assert all(tensor.dim() > 0 for tensor in others.tensors)
    worker = Worker(Dying, 2, 600)
    found = worker.run(Task("add", "static", "f32"))
    worker.stop()
    assert found == {0: ("error", "the process ended by SIGKILL", "sample 0"), 1: PASSES}


@pytest.mark.slow  # a process that imports torch, or several
def test_a_hang_is_ended() -> None:
    worker = Worker(Hanging, 1, 20)
    found = worker.run(Task("neg", "static", "f32"))
    worker.stop()
    assert found == {0: ("error", "took longer than 20 seconds", "sample 0")}


@pytest.mark.slow  # a process that imports torch, or several
def test_outcomes_are_in_the_order_of_tasks() -> None:
    tasks = [Task(name, "static", "f32") for name in ("neg", "hop/cond", "sin")]
    heard: list[Outcome] = []
    outcomes = run_all(tasks, Counting, 2, 2, 600, heard.append)
    assert [each.task for each in outcomes] == tasks
    assert sorted(each.task for each in heard) == sorted(tasks)
    assert {verdict for each in outcomes for verdict, _, _ in each.verdicts.values()} == {"passes"}


# ---- the lists ----


def outcome(*found: tuple[str, str], dtype: str = "f32") -> Outcome:
    verdicts = {place: (verdict, reason, "(x)") for place, (verdict, reason) in enumerate(found)}
    return Outcome(Task("op", "static", dtype), verdicts, 0.0)


def test_lists_are_read_as_they_are_written(tmp_path: Path) -> None:
    listed = {
        ("a.b", "f32"): Refusal(1, 3, "x: y"),
        ("a.b", "i64"): Refusal(1, 3, "x: y"),
        ("c", "f32"): Refusal(2, 2, "z"),
    }
    refusals.write("static", listed, tmp_path)
    assert "a.b: f32 i64: 1 of 3: x: y\n" in (tmp_path / "static.txt").read_text()
    assert refusals.read("static", tmp_path) == listed
    assert refusals.read("dynamic", tmp_path) == {}


def test_listed_refusals_are_no_difference() -> None:
    found = outcome(("refused", "no"), ("not exported", "never"), ("passes", ""))
    listed = refusals.of_outcomes([found])
    assert listed == {("op", "f32"): Refusal(2, 3, "no")}
    assert refusals.differences([found], {"static": listed}) == []


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "op f32 static: 1 samples of 2 are refused, 0 in the list: no"),
        (2, "op f32 static: 1 samples are refused, 2 in the list: write it again"),
    ],
)
def test_more_or_fewer_refusals_than_listed_are_differences(count: int, message: str) -> None:
    listed = {("op", "f32"): Refusal(count, 2, "no")} if count else {}
    assert refusals.differences([outcome(("refused", "no"), ("passes", ""))], {"static": listed}) == [message]


def test_wrong_results_and_errors_are_differences_whatever_is_listed() -> None:
    found = outcome(("wrong", "shape"), ("error", "bug"))
    listed = {("op", "f32"): Refusal(2, 2, "no")}
    first, second, _ = refusals.differences([found], {"static": listed})
    assert first == "op f32 static #0 wrong: shape (x)"
    assert second == "op f32 static #1 error: bug (x)"
