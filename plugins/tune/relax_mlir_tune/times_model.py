# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model of the times of plans: the weighted mean of similar plans' measured times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import ndarray

#: Fewest measured plans.
_FEWEST = 8
#: Logarithm of the ratio that a plan without times counts as.
_REFUSED = 1.5


@dataclass(frozen=True)
class TimesModel:
    """Measured plans as numbers, and the logarithms of their ratios."""

    features: ndarray
    targets: ndarray
    mean: ndarray
    scale: ndarray
    width: float

    @classmethod
    def of(cls, measured: Sequence[tuple[Sequence[float], float]]) -> TimesModel | None:
        """Return a model of pairs of features and ratios, or None if these are few."""
        import numpy

        if len(measured) < _FEWEST:
            return None
        features = numpy.array([each for each, _ in measured], float)
        targets = numpy.minimum(numpy.log(numpy.array([ratio for _, ratio in measured])), _REFUSED)
        mean, scale = features.mean(0), features.std(0)
        scale[scale == 0] = 1
        scaled = (features - mean) / scale
        distances = ((scaled[:, None] - scaled[None]) ** 2).sum(-1)
        width = float(numpy.median(distances[distances > 0])) if (distances > 0).any() else 1.0
        return cls(scaled, targets, mean, scale, width / 4)

    def predicted(self, features: Sequence[float]) -> float:
        """Return the expected logarithm of the ratio of a plan's time to the default's."""
        import numpy

        place = (numpy.array(features) - self.mean) / self.scale
        weights = numpy.exp(-((self.features - place) ** 2).sum(1) / self.width) + 1e-12
        return float((weights * self.targets).sum() / weights.sum())
