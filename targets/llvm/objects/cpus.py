# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPUs and their features, by LLVM's names, for the supported architectures.

tools/dev/gen_cpus.py writes the data from LLVM. Names can therefore be checked, and features looked up, without an
installed LLVM.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....support.errors import OptionError
from ....support.suggest import suggest

#: Name of the plainest CPU of every architecture.
GENERIC = "generic"


@dataclass(frozen=True)
class Architecture:
    """CPUs and features of an architecture."""

    name: str
    #: LLVM's name of the plainest CPU.
    generic: str
    #: Features of every CPU that runs Linux. Generated code always requires them.
    baseline: frozenset[str]
    #: Implied features, by feature.
    features: Mapping[str, tuple[str, ...]]
    #: Features of each CPU, without the implied ones.
    cpus: Mapping[str, tuple[str, ...]]

    def features_of(self, cpu: str) -> frozenset[str]:
        """Return all features of a CPU. Raise RelaxError for an unknown CPU."""
        if cpu == GENERIC:
            return self.baseline
        if cpu not in self.cpus:
            known = [GENERIC, *self.cpus]
            raise OptionError(
                f"{self.name} has no CPU '{cpu}'{suggest(cpu, known)}", notes=[f"known: {', '.join(known)}"]
            )
        return self.baseline | self.with_implied(self.cpus[cpu])

    def with_implied(self, features: Iterable[str]) -> frozenset[str]:
        """Return the features together with all features that they imply."""
        found: set[str] = set()
        pending = list(features)
        while pending:
            if (feature := pending.pop()) not in found:
                found.add(feature)
                pending += self.features[feature]
        return frozenset(found)

    def without(self, features: Iterable[str], feature: str) -> frozenset[str]:
        """Return the features without one, and without the features that imply it."""
        return frozenset(name for name in features if feature not in self.with_implied([name]))


@functools.cache
def architectures() -> Mapping[str, Architecture]:
    """Return the architectures by name. The file is read once, on first use."""
    content = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    return {name: _architecture(name, described) for name, described in content.items() if name != "llvm"}


@functools.cache
def llvm_version() -> str:
    """Return the version of LLVM that defines these names."""
    return str(json.loads(Path(__file__).with_suffix(".json").read_bytes())["llvm"])


def _architecture(name: str, described: dict[str, dict[str, str]]) -> Architecture:
    return Architecture(
        name,
        str(described["generic"]),
        frozenset(str(described["baseline"]).split()),
        {feature: tuple(implied.split()) for feature, implied in described["features"].items()},
        {cpu: tuple(features.split()) for cpu, features in described["cpus"].items()},
    )
