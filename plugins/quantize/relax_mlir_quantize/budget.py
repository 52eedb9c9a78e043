# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Budgets of error, score and size: choose other types, and then real layers, until a model holds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from relax_mlir.compilation.compiling import compile
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.support.blaming import blaming
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir.support.suggest import counted

from .placement import Choice, Choices, Layer
from .study import Effect, Point, Study
from .variants import Variant

#: Samples of the measurements.
_SAMPLES = 8
#: Samples for the order of the layers.
_SAMPLES_OF_EFFECTS = 2

Evaluate = Callable[[Any], float]
Tell = Callable[[str], object]


@dataclass(frozen=True)
class Budget:
    """Limits of a quantized model. None is no limit."""

    #: Least signal-to-noise ratio of each result, in dB.
    snr: float | None = None
    #: Largest drop of the score.
    drop: float | None = None
    evaluate: Evaluate | None = None
    #: Most bytes of constants.
    bytes: int | None = None

    def __post_init__(self) -> None:
        if (self.drop is None) != (self.evaluate is None):
            raise OptionError(
                "drop= and evaluate= belong together: the largest drop of the score that evaluate returns"
            )
        for name in ("snr", "drop", "bytes"):
            given = getattr(self, name)
            if given is not None and (isinstance(given, bool) or not math.isfinite(given)):
                raise OptionError(f"{name}={given!r}: expected a finite number")
            if given is not None and given < 0:
                raise OptionError(f"{name}={given:g}: expected a number of at least 0")

    def __bool__(self) -> bool:
        return any(number is not None for number in (self.snr, self.drop, self.bytes))


class BudgetSearch:
    """Search for a variant that holds a budget. The number of measurements grows with the logarithm of the layers."""

    def __init__(self, study: Study, budget: Budget, tell: Tell | None = None):
        self._study, self._budget = study, budget
        self._tell = tell or (lambda text: None)
        self._first = study.variant
        self._layers = {layer.place: layer for layer in self._first.layers}
        self._score: float | None = None
        self._effects: list[Effect] = []
        self._points: WeakKeyDictionary[Variant, Point] = WeakKeyDictionary()

    def run(self) -> Variant:
        variant = self._first
        if self._budget.bytes is not None:
            variant = self._fitting(variant)
        if self._budget.snr is not None or self._budget.drop is not None:
            if self._budget.evaluate is not None:
                self._score = self._evaluate(self._study.variants.module)
                self._tell(f"score in floating point: {self._score:g}")
            variant = self._holding(variant)
        if self._budget.bytes is not None and variant.bytes > self._budget.bytes:
            raise ModelError(
                f"the budgets contradict: a model that holds the error has {variant.bytes} bytes of constants, more "
                f"than {self._budget.bytes}"
            )
        if (chosen := self._points.get(variant)) is None:
            chosen = self._measure("chosen", variant)
        chosen.is_chosen = True
        return variant

    def _worst_first(self) -> list[int]:
        """Return the places of layers, the one that causes the largest error first."""
        if not self._effects:
            self._tell("measuring the effect of each layer")
            self._effects = self._study.effects(_SAMPLES_OF_EFFECTS)
        return [effect.place for effect in self._effects]

    # ---- size ----

    def _fitting(self, variant: Variant) -> Variant:
        """Return a variant within the bytes: layers of little effect get the smaller types that the recipe lists."""
        most = self._budget.bytes
        assert most is not None
        if variant.bytes <= most:
            return variant
        base = dict(variant.choices)
        smaller = {place: types for place, layer in self._layers.items() if (types := _smaller(layer)) is not None}
        if not smaller:
            raise self._too_large(variant)
        order = [place for place in reversed(self._worst_first()) if place in smaller]

        def with_smaller(count: int) -> Variant:
            made = self._study.variants.settled(
                base | {place: smaller[place] for place in order[:count]}, self._study.codegen
            )
            self._tell(f"{count} of {len(order)} layers with smaller weights: {made.bytes} bytes of constants")
            return made

        found = _least(len(order), with_smaller, lambda each: each.bytes <= most)
        if found is None:
            raise self._too_large(with_smaller(len(order)))
        self._layers = {layer.place: layer for layer in found.layers}
        return found

    def _too_large(self, variant: Variant) -> ModelError:
        return ModelError(
            f"bytes={self._budget.bytes}: the constants of the quantized model have at least {variant.bytes} bytes",
            notes=["list a smaller type of weights in the recipe, such as w=('i8@channel symmetric', 'i4@block32')"],
        )

    # ---- error ----

    def _holding(self, variant: Variant) -> Variant:
        """Return a variant within the error: more precise types first, real layers if these are not enough."""
        point = self._measure("quantized", variant)
        if self._holds(point):
            return variant
        order = self._worst_first()
        base = dict(variant.choices)
        finer = {place: types for place, layer in self._layers.items() if (types := _finer(layer)) is not None}
        if raised := [place for place in order if place in finer]:
            found = self._search(base, [(place, finer[place]) for place in raised], "more precise types")
            if found is not None:
                return found
            if self._is_better(self._study.points[-1], point):
                base |= {place: finer[place] for place in raised}
        real: list[tuple[int, Choice]] = [(place, f"stays real for {self._wish()}") for place in order]
        if (found := self._search(base, real[:-1], "floating point")) is None:
            best = max((each.snr for each in self._study.points), default=-math.inf)
            raise ModelError(
                f"no quantized model holds {self._wish()}: with one quantized layer the error is too large as well",
                notes=[f"the best measured signal-to-noise ratio is {best:.1f} dB"],
            )
        return found

    def _is_better(self, point: Point, other: Point) -> bool:
        if self._budget.snr is None:
            return (point.score or 0.0) > (other.score or 0.0)
        return point.snr > other.snr

    def _wish(self) -> str:
        snr, drop = self._budget.snr, self._budget.drop
        wishes = [f"snr={snr:g}"] if snr is not None else []
        return " and ".join([*wishes, f"drop={drop:g}"] if drop is not None else wishes)

    def _search(self, base: Choices, changes: Sequence[tuple[int, Choice]], what: str) -> Variant | None:
        """Return the variant with the fewest changes that holds the budget, or None."""
        last = math.ceil(math.log2(len(changes) + 1)) + 1
        self._tell(f"{what}: at most {last} measurements")

        def changed(count: int) -> Variant:
            return self._study.variants.settled({**base, **dict(changes[:count])}, self._study.codegen)

        def holds(variant: Variant) -> bool:
            count = sum(place in variant.choices and variant.choices[place] == each for place, each in changes)
            label = f"{count} with {what}"
            return bool(variant.layers) and self._holds(self._measure(label, variant))

        return _least(len(changes), changed, holds)

    def _holds(self, point: Point) -> bool:
        if self._budget.snr is not None and point.snr < self._budget.snr:
            return False
        if self._budget.drop is None:
            return True
        assert self._score is not None and point.score is not None
        return self._score - point.score <= self._budget.drop

    def _measure(self, label: str, variant: Variant) -> Point:
        point = self._study.point(label, variant, _SAMPLES, timed=True)
        if self._budget.evaluate is not None:
            module = variant.module.copy()
            self._study.variants.requantize(module)
            point.score = self._evaluate(module)
        self._points[variant] = point
        self._study.points.append(point)
        score = "" if point.score is None else f", score {point.score:g}"
        real = counted(point.real_layers, "layer")
        self._tell(f"{label}: {real} real, {point.snr:.1f} dB, {point.bytes} bytes{score}")
        return point

    def _evaluate(self, module: Module) -> float:
        evaluate = self._budget.evaluate
        assert evaluate is not None
        program = compile(module, self._study.target)
        with blaming("evaluate", evaluate):
            score = evaluate(program)
        try:
            number = float(score)
        except (TypeError, ValueError):
            raise OptionError(f"evaluate: expected a number, the score of the program, got {score!r:.60}") from None
        if not math.isfinite(number):
            raise OptionError(f"evaluate: expected a finite score, got {number}")
        return number


def _least(most: int, make: Callable[[int], Variant], holds: Callable[[Variant], bool]) -> Variant | None:
    """Return the variant with the least count of 1 to `most` that holds, or None. A larger count never holds less."""
    found: Variant | None = None
    low, high = 1, most
    while low <= high:
        # The whole range first: if nothing holds, one measurement shows it.
        count = high if found is None else (low + high) // 2
        variant = make(count)
        if holds(variant):
            found, high = variant, count - 1
        elif found is None:
            return None
        else:
            low = count + 1
    return found


def _finer(layer: Layer) -> Choice | None:
    """Return the layer's types with the next more precise one of each operand at run time, or None if there is none."""
    names = {name for name, _ in layer.weights()}
    return _other(layer, [name for name in layer.types if name not in names], lambda new, old: new > old)


def _smaller(layer: Layer) -> Choice | None:
    """Return the layer's types with the next smaller one of each constant operand, or None if there is none."""
    return _other(layer, [name for name, _ in layer.weights()], lambda new, old: new < old)


def _other(layer: Layer, names: Sequence[str], is_wanted: Callable[[int, int], bool]) -> Choice | None:
    operand_types: dict[str, OperandType] = dict(layer.types)
    for name in names:
        listed = layer.op.types.get(name, ())
        other = next((each for each in listed if is_wanted(each.bits, operand_types[name].bits)), None)
        if other is not None:
            operand_types[name] = other
    return None if operand_types == layer.types else operand_types
