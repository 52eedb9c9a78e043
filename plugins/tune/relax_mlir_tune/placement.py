# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rx.tune_placement: choose by measurement which codegen gets which part of a model, and write the choice to a file."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import relax_mlir as rx
from relax_mlir.compilation.claimed_regions import ClaimedMatch, Claims, claims_of, model_key, operators_of
from relax_mlir.passes.graph.partition.codegen import parse_codegen
from relax_mlir.passes.graph.partition.placement import MeasuredPlacement, PlacedRegion
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir.support.plugins import load_plugin
from relax_mlir.targets.core.registry import parse_target

from .codegen_options import variants_of
from .files import as_table
from .measuring import Outcome
from .placement_measuring import Candidate, Meter
from .placement_plan import TARGET, Kind, ModelPiece, Owners, Prices, cheapest, kind_of, matches_of, moves_of, pieces_of
from .placement_trials import MeasuredRows, PlacementJob
from .runners import LocalRunner
from .search import FINAL_TURNS, MOST_RATIO, is_faster, noise
from .space import machine_of

#: Turns of a region, of a program against the target, and of a change against the best placement so far.
_REGION_TURNS, _PROGRAM_TURNS, _CHANGE_TURNS = 5, 7, 15
#: A search ends after this many changes without a gain.
_PATIENCE = 12
#: Single choices that take at most this multiple of the fastest one's time are compared at the end.
_CONTENDER = 1.5
_KERNEL_CALL = "relax.call_tir"
_MICRO = 1e6


@dataclass(frozen=True)
class PlacementProgress:
    """State of the search after a trial."""

    #: Measured region or change.
    step: str
    trial: int
    #: Best ratio of the program's time to the target's so far.
    best: float


@dataclass
class PlacementTuning:
    """Result of a search."""

    placement: MeasuredPlacement
    path: Path
    #: Best choice of a single codegen or the target.
    single: str
    notes: list[str] = field(default_factory=list)

    def __fspath__(self) -> str:
        """Return the folder: `rx.compile(module, partition="measured", tuned=found)`."""
        return str(self.path.parent)

    @property
    def ratio(self) -> float:
        """Return the ratio of the placement's time to that of the best single choice."""
        return self.placement.times["measured"] / self.placement.times[self.single]

    def table(self) -> str:
        """Return a line for each region, and one for each program."""
        regions: list[tuple[str, ...]] = [("region", "count", "codegen", "target us", "codegen us", "noise", "")]
        for region in self.placement.regions:
            name = ", ".join(_short(operator) for operator in region.operators)
            times = (
                f"{region.target:.1f}",
                f"{region.own:.1f}",
                f"{region.noise:.3f}",
                "taken" if region.is_taken else "",
            )
            regions.append((name, str(region.occurrences), region.codegen, *times))
        programs = [("program", "us"), *((name, f"{us:.1f}") for name, us in self.placement.times.items())]
        last = f"measured placement: {self.ratio:.3f} of the time of '{self.single}', the best single choice\n"
        return "\n".join([as_table(regions), as_table(programs) + last, *self.notes])


def _short(operator: str) -> str:
    return operator.removeprefix("relax.").removeprefix("nn.")


def tune_placement(
    module: rx.Module,
    codegens: str | Sequence[str],
    target: str = "llvm",
    *,
    trials: int = 64,
    minutes: float | None = None,
    folder: str | os.PathLike[str] = "tuned",
    bind: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
    precision: str = "f32",
    threads: int = 1,
    plugins: Sequence[str] = (),
    progress: Callable[[PlacementProgress], object] | None = None,
) -> PlacementTuning:
    """Choose by measurement which codegen gets which part of a module, and write a placement to a folder.

    `rx.compile(module, partition="measured", tuned=folder)` repeats the choice. The placement is at least as fast as
    the target by itself and as each codegen by itself. Regions are measured once and kept in the folder.

    codegens: names with options, as for rx.compile. trials: changes of the whole program to measure. minutes: time
    limit. bind, precision: as of rx.compile. sizes: values of symbolic sizes to measure with. threads: threads of a
    call. plugins: modules or files that register codegens. progress: a function that is called after each trial.
    """
    names = tuple(word.strip() for word in codegens.split(",")) if isinstance(codegens, str) else tuple(codegens)
    if trials < 1:
        raise rx.OptionError(f"trials={trials}: expected at least 1")
    for plugin in plugins:
        load_plugin(plugin)
    if not names:
        raise rx.OptionError("codegens= names no codegen")
    _refuse_twice(names)
    deadline = time.monotonic() + 60 * minutes if minutes is not None else None
    path = Path(folder)
    is_tuned = path.is_dir() and any(path.glob("*.json"))
    plain = tuple((bind or {}).items()), tuple((sizes or {}).items()), str(path) if is_tuned else ""
    job = PlacementJob(module.bytecode(), target, threads, precision, *plain, tuple(plugins))
    runner = LocalRunner()
    with tempfile.TemporaryDirectory() as scratch:
        key = model_key(module.operation, bind, precision)
        empty = MeasuredPlacement(
            key, MachineFacts.of(machine_of(target)), (), (), dict(operators_of(module.operation)), cpu=cpu_name(),
            threads=threads,
        )  # fmt: skip
        meter = Meter(job, empty, path, Path(scratch), runner)
        try:
            return _PlacementSearch(module, meter, names, trials, deadline, progress).run()
        finally:
            runner.close()
            meter.close()


def _refuse_twice(names: Sequence[str]) -> None:
    counts = Counter(parse_codegen(name).codegen.name for name in names)
    if (twice := next((name for name, count in counts.items() if count > 1), None)) is not None:
        raise rx.OptionError(f"codegens= names '{twice}' twice")


@dataclass
class _SeenModel:
    """Model in the form that a group of codegens sees."""

    codegens: tuple[str, ...]
    claims: Claims
    pieces: list[ModelPiece]
    prices: Prices = field(default_factory=Prices)


class _PlacementSearch:
    """One call of `tune_placement`."""

    def __init__(
        self,
        module: rx.Module,
        meter: Meter,
        codegens: tuple[str, ...],
        trials: int,
        deadline: float | None,
        progress: Callable[[PlacementProgress], object] | None,
    ):
        self._module, self._meter, self._codegens = module, meter, codegens
        self._trials, self._deadline, self._progress = trials, deadline, progress
        self._count, self._changes, self._best = 0, 0, 1.0
        self._notes: list[str] = []
        #: Codegens with no region that can be measured.
        self._failed: set[str] = set()
        #: Measured regions with the patterns and keys of their matches.
        self._regions: list[tuple[PlacedRegion, Kind]] = []
        self._target = Candidate(parse_target(meter.job.target).name)

    def run(self) -> PlacementTuning:
        forms = [self._form(group) for group in _groups(self._codegens)]
        singles = self._singles(forms)
        for form in forms:
            self._price(form)
        ratios = {self._target: 1.0, **self._ratios([single for single in singles if single.name not in self._failed])}
        working = list(ratios)
        ratios.update(self._ratios([each for form in forms for each in self._plan(form)]))
        best = min(ratios, key=lambda each: ratios[each])
        self._best = ratios[best]
        best = self._improve_placement(best, forms)
        best = self._with_options(best)
        return self._result(best, {each: ratios[each] for each in working})

    # ---- forms and prices ----

    def _claims(self, codegens: Sequence[str]) -> Claims:
        job = self._meter.job
        return claims_of(self._module, job.target, codegens, bind=dict(job.bind), precision=job.precision)

    def _form(self, codegens: tuple[str, ...]) -> _SeenModel:
        claims = self._claims(codegens)
        if claims.unnamed:
            self._notes.append(f"{claims.unnamed} matches cannot be named, and stay with the target")
        return _SeenModel(codegens, claims, pieces_of(claims))

    def _singles(self, forms: Sequence[_SeenModel]) -> list[Candidate]:
        """Return the placement of each codegen by itself."""
        singles = []
        for form in forms:
            for codegen in form.codegens:
                claims = form.claims if len(form.codegens) == 1 else self._claims([codegen])
                matches = sorted((match for region in claims.regions for match in region.matches), key=_rank)
                if matches:
                    singles.append(Candidate(codegen, (codegen,), tuple(match.placed for match in matches)))
                else:
                    self._notes.append(f"{codegen}: no operator matches its patterns")
        return singles

    def _price(self, form: _SeenModel) -> None:
        """Measure each distinct piece, then each distinct region with several pieces."""
        counts, works = Counter(piece.kind for piece in form.pieces), set[str]()
        for piece in {piece.kind: piece for piece in form.pieces}.values():
            for codegen in piece.matches:
                outcome = self._measured_region(form, piece.numbers, codegen, piece.operators)
                if outcome is None:
                    continue
                works.add(codegen)
                target, own = _medians(outcome)
                form.prices.seconds.setdefault((piece.kind, TARGET), target)
                scale = form.prices.seconds[piece.kind, TARGET] / target
                form.prices.seconds[piece.kind, codegen] = own * scale
                us, own_us = round(target * _MICRO, 2), round(own * _MICRO, 2)
                deviation, count = round(noise(outcome), 4), counts[piece.kind]
                row = PlacedRegion(codegen, piece.operators, count, us, own_us, deviation, is_taken=False)
                self._regions.append((row, kind_of(piece.matches[codegen])))
        if not self._is_over():
            self._failed |= set(form.codegens) - works
        for region in form.claims.regions:
            if region.codegen in self._failed:
                continue
            numbers = frozenset(number for match in region.matches for number in match.numbers)
            operators = tuple(name for match in region.matches for name in match.operators)
            if sum(piece.numbers <= numbers for piece in form.pieces) > 1:
                outcome = self._measured_region(form, numbers, region.codegen, operators)
                if outcome is not None:
                    form.prices.note_region(region, form.pieces, *_medians(outcome))

    def _measured_region(
        self, form: _SeenModel, numbers: frozenset[int], codegen: str, operators: Sequence[str]
    ) -> Outcome | None:
        """Return the times of a region by the target and by a codegen, or None if the codegen cannot have it."""
        if self._is_over():
            return None
        if (cut := form.claims.module_of(numbers)) is None:
            return None
        outcome = self._meter.region(cut, codegen, _REGION_TURNS)
        self._tell(f"{', '.join(map(_short, operators[:4]))} by {codegen}")
        if outcome.problem:
            self._note(f"{codegen}: {', '.join(map(_short, operators[:4]))}: {outcome.problem}")
            return None
        return outcome

    # ---- whole programs ----

    def _plan(self, form: _SeenModel) -> Iterator[Candidate]:
        """Yield the placements with the lowest prices: of all codegens, and of each one with the target."""
        chosen = [form.codegens, *((codegen,) for codegen in form.codegens if len(form.codegens) > 1)]
        found = dict.fromkeys(
            cheapest(form.pieces, form.prices, codegens, is_joined=is_joined)
            for codegens in chosen
            for is_joined in (True, False)
        )
        yield from (self._candidate(form, owners) for owners in found)

    def _candidate(self, form: _SeenModel, owners: Owners) -> Candidate:
        if not any(owners):
            return self._target
        matches = matches_of(form.pieces, owners, form.codegens)
        return Candidate("measured", form.codegens, matches, owners)

    def _ratios(self, candidates: Sequence[Candidate]) -> dict[Candidate, float]:
        """Return the ratio of each program's time to the target's. Programs that fail are left out."""
        ratios = {}
        for candidate in candidates:
            if candidate == self._target:
                continue
            outcome = self._meter.pair(self._target, candidate, _PROGRAM_TURNS)
            if outcome.problem:
                self._note(f"{candidate.name}: {outcome.problem}")
            else:
                ratios[candidate] = outcome.ratio
                self._best = min(self._best, outcome.ratio)
            self._tell(candidate.name)
        return ratios

    def _improve_placement(self, best: Candidate, forms: Sequence[_SeenModel]) -> Candidate:
        """Return the placement after changes that made the whole program faster."""
        form = next(
            (seen_model for seen_model in forms if best.owners and set(best.codegens) == set(seen_model.codegens)), None
        )
        if form is None:
            form, owners = self._as_owners(best, forms)
        else:
            owners = best.owners
        since = 0
        tried = {owners}
        while since < _PATIENCE:
            moved = next((move for move in moves_of(form.pieces, owners, form.prices, form.codegens)
                          if move not in tried), None)  # fmt: skip
            if moved is None or self._is_over() or self._changes >= self._trials:
                break
            tried.add(moved)
            self._changes += 1
            candidate = self._candidate(form, moved)
            since += 1
            if self._is_gain(best, candidate):
                best, owners, since = candidate, moved, 0
        return best

    def _as_owners(self, best: Candidate, forms: Sequence[_SeenModel]) -> tuple[_SeenModel, Owners]:
        """Return a form of the model, and the owners of its pieces that are nearest to a single choice."""
        codegen = best.codegens[0] if best.codegens else TARGET
        form = next((seen_model for seen_model in forms if codegen in seen_model.codegens), forms[0])
        return form, tuple(codegen if codegen in piece.matches else TARGET for piece in form.pieces)

    def _with_options(self, best: Candidate) -> Candidate:
        """Return the placement with the fastest options of its codegens, one option after the other."""
        for place in range(len(best.codegens)):
            name = parse_codegen(best.codegens[place]).codegen.name
            if not any(match.pattern.startswith(f"{name}.") for match in best.matches):
                continue
            for variant in variants_of(best.codegens[place], self._meter.job.threads):
                if self._is_over():
                    return best
                codegens = (*best.codegens[:place], variant, *best.codegens[place + 1 :])
                candidate = replace(best, name="measured", codegens=codegens, owners=())
                if self._is_gain(best, candidate, is_as_exact=True):
                    best = candidate
        return best

    def _is_gain(self, best: Candidate, candidate: Candidate, *, is_as_exact: bool = False) -> bool:
        """Check that a placement is faster than the best one so far. Measure in turns, and more often if it may be."""
        outcome = self._meter.pair(best, candidate, 3)
        if not outcome.problem and outcome.ratio < MOST_RATIO:
            outcome = self._meter.pair(best, candidate, _CHANGE_TURNS, is_as_exact=is_as_exact)
        is_gain = not outcome.problem and is_faster(outcome)
        if is_gain:
            self._best *= outcome.ratio
        self._tell("change of the placement")
        return is_gain

    # ---- result ----

    def _result(self, best: Candidate, singles: Mapping[Candidate, float]) -> PlacementTuning:
        """Measure the best placement and the fastest single choices in turns, and write the winner."""
        limit = _CONTENDER * min(singles.values())
        contenders = [candidate for candidate in singles if candidate == self._target or singles[candidate] <= limit]
        programs = list(dict.fromkeys([*contenders, best]))
        for program in programs:  # compiled one by one, each within the limit of a trial
            self._meter.rows([program], 1)
        rows = self._meter.rows(programs, FINAL_TURNS)
        if rows.problem:
            problem = f"the last comparison of programs failed: {rows.problem}"
            raise rx.RelaxError(problem, notes=["trials are kept: the next call continues with them"])
        medians = [statistics.median(times) for times in zip(*rows.turns, strict=True)]
        single = min(range(len(contenders)), key=lambda index: medians[index])
        place = programs.index(best)
        if best in singles or not all(is_faster(_pair(rows, index, place)) for index in range(len(contenders))):
            place = single
        chosen = programs[place]
        target = medians[programs.index(self._target)]
        times = {key.name: round(ratio * target * _MICRO, 2) for key, ratio in singles.items()}
        times |= {contender.name: round(us * _MICRO, 2) for contender, us in zip(contenders, medians, strict=False)}
        times["measured"] = round(medians[place] * _MICRO, 2)
        taken = {(match.pattern, match.key) for match in chosen.matches}
        regions = [region._replace(is_taken=taken.issuperset(kind)) for region, kind in self._regions]
        deviation = 0.0 if place == single else noise(_pair(rows, single, place))
        placement = replace(
            self._meter.placement(chosen), times=times, noise=round(deviation, 4), regions=tuple(regions)
        )
        path = placement.write(self._meter.folder)
        return PlacementTuning(placement, path, contenders[single].name, [*self._notes, *self._meter.problems])

    def _is_over(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _note(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)

    def _tell(self, step: str) -> None:
        self._count += 1
        if self._progress is not None:
            self._progress(PlacementProgress(step, self._count, self._best))


def _groups(codegens: Sequence[str]) -> list[tuple[str, ...]]:
    """Return codegens of operators, and codegens of kernels, which see the model in another form."""
    groups: dict[bool, list[str]] = {}
    for codegen in codegens:
        takes_kernels = all(
            _KERNEL_CALL in composite.heads for composite in parse_codegen(codegen).codegen.composites()
        )
        groups.setdefault(takes_kernels, []).append(codegen)
    return [tuple(group) for group in groups.values()]


def _rank(match: ClaimedMatch) -> int:
    return match.rank


def _medians(outcome: Outcome) -> tuple[float, float]:
    target, own = (statistics.median(times) for times in zip(*outcome.turns, strict=True))
    return target, own


def _pair(rows: MeasuredRows, one: int, other: int) -> Outcome:
    """Return the times of two programs of several."""
    return Outcome((), tuple((times[one], times[other]) for times in rows.turns))
