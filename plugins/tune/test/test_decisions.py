# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search of a rule's decisions: the simulated accelerator of examples/npu, tuned by its own clock."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.passes.kernels.loops.decisions import TileDecision
from relax_mlir.passes.kernels.schedule.decided import DecidedSchedule
from relax_mlir.passes.kernels.schedule.tuned_plans import TunedFolder, TunedKernel, read_tuned
from relax_mlir_tune import Tuning, tune
from relax_mlir_tune.decided import decided_schedule
from relax_mlir_tune.decisions import DecisionSpace, decisions_of, point_of, schedule_of
from relax_mlir_tune.files import measured_again, merged
from relax_mlir_tune.measuring import KernelJob, Outcome, clock_of, measure
from relax_mlir_tune.runners import LocalRunner
from relax_mlir_tune.space import Plans, machine_of
from relax_mlir_tune.tasks import Task, tasks_of

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "npu"
PLUGIN = str(EXAMPLE / "npu" / "__init__.py")
sys.path.insert(0, str(EXAMPLE))

import npu  # noqa: E402  # registers the target

RULE = "rows_of_a_product"
DEFAULT = ((1, 16), 1, 3)
#: Best decisions of the first two rounds: shorter steps overlap more copies.
SHORTER = ((1, 16), 1, 2)


def product() -> rx.Module:
    with rx.Module() as module:
        weights = numpy.random.default_rng(0).integers(-8, 8, (256, 32)).astype("int8")
        with module.function("main", {"x": rx.tensor((16, 256), "i8")}) as f:
            (x,) = f
            f.returns(relax.matmul(x, relax.const(weights), out_dtype="int32"))
    return module


@pytest.fixture(scope="module")
def task() -> Task:
    (found,) = tasks_of(product(), "npu")
    return found


@pytest.fixture(scope="module")
def space(task: Task) -> DecisionSpace:
    made = decided_schedule(task.module, "npu")
    assert made is not None
    return DecisionSpace(made, machine_of("npu"))


def job_of(task: Task) -> KernelJob:
    return KernelJob(task.key, task.module.bytecode(), "npu", 1)


def test_the_default_is_a_point(task: Task) -> None:
    """The defaults are the tiles that the rule had before it had decisions."""
    made = decided_schedule(task.module, "npu")
    assert made is not None and made.rule == RULE and made.taken == DEFAULT
    depth = made.decisions[2]
    assert made.taken == tuple(each.default for each in made.decisions) and depth.values[depth.default] == 128  # type: ignore[union-attr]
    assert schedule_of(task.module, "npu", point_of(RULE, DEFAULT)) == made


def test_decisions_change_the_steps(task: Task) -> None:
    made = schedule_of(task.module, "npu", point_of(RULE, SHORTER))
    assert made.taken == SHORTER
    assert "v3 = sch.sample_categorical([16, 32, 64, 128, 256], default=128, decision=2)" in made.steps


def test_neighbours_are_in_range_and_differ(space: DecisionSpace) -> None:
    random, found = Random(0), set()
    for _ in range(100):
        point = space.neighbour(space.default, random)
        assert point is not None and point != space.default
        rule, taken = decisions_of(point)
        assert rule == RULE and not any(map(lambda each, one: each.refusal(one), space.choices, taken))
        assert len(space.features(point)) == len(space.features(space.default)) == 6
        found.add(point)
    assert len(found) > 10
    crossed = space.crossed(space.default, point_of(RULE, SHORTER), random)
    assert decisions_of(crossed)[1] in (DEFAULT, SHORTER)


def test_tiles_keep_their_product_and_limit() -> None:
    tile = TileDecision(96, 3, 8, (12, 1, 8), (12, 1, 8))
    made = DecidedSchedule("rule", (), (tile,))
    space, random, found = DecisionSpace(made, machine_of("npu")), Random(0), set()
    point = space.default
    for _ in range(200):
        other = space.neighbour(point, random)
        assert other is not None
        ((taken,), point) = decisions_of(other)[1], other
        assert isinstance(taken, tuple) and math.prod(taken) == 96 and taken[-1] <= 8
        found.add(taken)
    assert len(found) > 30


def test_the_clock_is_the_machines(task: Task, space: DecisionSpace) -> None:
    assert clock_of("llvm") is None
    outcome = measure(job_of(task), space.default, 2)
    assert not outcome.problem and outcome.ratio == pytest.approx(1)
    assert outcome.turns[0][0] == pytest.approx(npu.runtime.last[0].cycles.total * 1e-9)


class OwnProcess:
    """Measures in this process: the simulator's clock needs no process of its own."""

    width = 1
    notes: Sequence[str] = ()

    def cpu(self) -> str:
        return "the simulator"

    def measured(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        return (measure(job, each, turns) for each in plans)

    def close(self) -> None:
        """Leave the process as it is."""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuning:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("relax_mlir_tune.runners.LocalRunner", OwnProcess)
        return tune(product(), "npu", trials=12, folder=tmp_path_factory.mktemp("tuned"), plugins=[PLUGIN])


def test_a_measuring_process_loads_the_target(task: Task, space: DecisionSpace) -> None:
    runner = LocalRunner(limit=600)
    try:
        (outcome,) = runner.measured(
            KernelJob(task.key, task.module.bytecode(), "npu", 1, (), (PLUGIN,)), [space.default], 1
        )
        assert not outcome.problem and len(outcome.turns) == 1
    finally:
        runner.close()


def test_a_search_finds_faster_decisions(tuned: Tuning, task: Task) -> None:
    (found,) = tuned.tasks
    assert found.search is not None and len(found.search.outcomes) == 12 and not tuned.wrong
    assert found.winner is not None and found.ratio < 0.95
    (kernel,) = TunedFolder(tuned.folder).all()
    assert (kernel.target, kernel.rule, kernel.plans, kernel.key) == ("npu", RULE, (), task.key)
    assert kernel.steps == schedule_of(task.module, "npu", found.winner.plans).steps
    assert kernel.decisions == decisions_of(found.winner.plans)[1]


RUN = """
import sys
sys.path[:0] = sys.argv[1:3]
import numpy, npu
import relax_mlir as rx
from test_decisions import product
x = numpy.random.default_rng(1).integers(-8, 8, (16, 256)).astype("int8")
for folder in (None, sys.argv[3]):
    result = rx.compile(product(), "npu", tuned=folder)["main"](x)
    print(npu.runtime.last[0].cycles.total, numpy.from_dlpack(result).tobytes().hex()[:4000])
"""


def test_a_fresh_process_uses_the_steps(tuned: Tuning) -> None:
    """The rule registers the intrinsics that the steps name: the process has not run it yet."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", RUN, str(EXAMPLE), here, str(tuned.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (default, expected), (faster, result) = (line.split() for line in done.stdout.splitlines())
    assert result == expected and int(faster) < 0.95 * int(default)


def test_replay_keeps_a_faster_kernel(tuned: Tuning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relax_mlir_tune.runners.LocalRunner", OwnProcess)
    assert "kept" in measured_again(tuned.folder, product(), "npu", {}, {}, "f32", 1)


def test_merge_copies_steps(tuned: Tuning, tmp_path: Path) -> None:
    assert merged(tuned.folder, tmp_path) == (1, [])
    assert list(TunedFolder(tmp_path).all()) == list(TunedFolder(tuned.folder).all())


def written(tuned: Tuning, folder: Path, **changes: object) -> TunedKernel:
    """Write the tuned kernel with other fields."""
    (kernel,) = TunedFolder(tuned.folder).all()
    content = json.loads(Path(kernel.path).read_text())
    path = folder / Path(kernel.path).name
    path.write_text(json.dumps({**content, **changes}))
    return read_tuned(path)


def lowered(folder: Path) -> str:
    return str(rx.lower(product(), "npu", pipeline=rx.stages("npu").until("plan"), tuned=folder))


def test_programs_use_the_steps(tuned: Tuning, tmp_path: Path) -> None:
    written(tuned, tmp_path)
    assert "tir.schedule_places" in lowered(tmp_path)


def test_other_targets_keep_their_rules(tuned: Tuning, tmp_path: Path) -> None:
    written(tuned, tmp_path, target="other")
    assert "tir.schedule_places" not in lowered(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": ["# schedule 2"]}, "expected '# schedule 1'"),
        ({"steps": ["# schedule 1", "i = sch.get_block('none')"]}, "no block 'none'"),
        ({"decisions": ["a"]}, "is damaged"),
        ({"decisions": [[1, None]]}, "is damaged"),
    ],
)
def test_damaged_steps_are_left_out(tuned: Tuning, tmp_path: Path, changes: dict[str, object], words: str) -> None:
    (kernel,) = TunedFolder(tuned.folder).all()
    (tmp_path / Path(kernel.path).name).write_text(json.dumps({**json.loads(Path(kernel.path).read_text()), **changes}))
    with pytest.warns(RuntimeWarning, match=f"its tuned file is left out: .*{words}"):
        text = lowered(tmp_path)
    assert "tir.schedule_places" not in text and "sample_categorical" in text, "the rule's own schedule"


# ---- decisions that do not fit ----


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (((1, 16), 1), "the rule asks for more decisions than the 2 of the search"),
        ((*DEFAULT, 0), "asks for 3 decisions, expected 4: it depends on its other decisions"),
        (((1, 16), 2, 3), "the decision 2 is none of the 2 numbers"),
        (((3, 5), 1, 3), r"the decision \[3, 5\] is not 2 numbers with the product 16"),
        ((0, 1, 3), "the decision 0 is not 2 numbers"),
        (((1, 16), (1, 2), 3), r"the decision \[1, 2\] is none of the 2 numbers"),
    ],
)
def test_wrong_decisions_lose_one_trial(task: Task, taken: tuple[object, ...], words: str) -> None:
    outcome = measure(job_of(task), point_of(RULE, taken), 1)  # type: ignore[arg-type]
    assert not outcome.turns and not outcome.is_wrong and "\n" not in outcome.problem
    assert re.search(words, outcome.problem), outcome.problem


def test_damaged_points_lose_one_trial(task: Task) -> None:
    for point in (("decisions",), ("decisions", RULE, "{"), ("decisions", RULE, '"a"')):
        assert "has no decisions of a rule" in measure(job_of(task), point, 1).problem
    unknown = measure(job_of(task), point_of("no_rule", DEFAULT), 1)
    assert "'no_rule' gives no schedule with these decisions; the next rule is 'rows_of_a_product'" in unknown.problem
