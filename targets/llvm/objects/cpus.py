# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPUs and their features, by LLVM's names, for the architectures that code can be made for.

They are data, which tools/dev/gen_cpus.py writes from LLVM: names can be checked, and what a CPU can do is known,
where no LLVM is installed that could tell.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ....support.errors import OptionError
from ....support.suggest import suggest

#: The name by which every architecture's plainest CPU is known.
GENERIC = "generic"


@dataclass(frozen=True)
class Architecture:
    """What LLVM knows of an architecture."""

    name: str
    #: LLVM's name of the plainest CPU.
    generic: str
    #: What every CPU has that runs Linux, and code is never made without.
    baseline: frozenset[str]
    #: Feature -> others that it brings along.
    features: Mapping[str, tuple[str, ...]]
    #: CPU -> its features, but those that these bring along.
    cpus: Mapping[str, tuple[str, ...]]

    def features_of(self, cpu: str) -> frozenset[str]:
        """All that a CPU can do. Raises RelaxError for a CPU that is not known."""
        if cpu == GENERIC:
            return self.baseline
        if cpu not in self.cpus:
            known = [GENERIC, *self.cpus]
            raise OptionError(
                f"{self.name} has no CPU '{cpu}'{suggest(cpu, known)}", notes=[f"known: {', '.join(known)}"]
            )
        return self.baseline | self.with_implied(self.cpus[cpu])

    def with_implied(self, features: Iterable[str]) -> frozenset[str]:
        """The features and all that they bring along."""
        found: set[str] = set()
        pending = list(features)
        while pending:
            feature = pending.pop()
            if feature not in found:
                found.add(feature)
                pending += self.features[feature]
        return frozenset(found)

    def without(self, features: Iterable[str], feature: str) -> frozenset[str]:
        """The features but one, and those that cannot be without it."""
        return frozenset(each for each in features if feature not in self.with_implied([each]))


@functools.cache
def architectures() -> Mapping[str, Architecture]:
    """The architectures by name. Read once, when they are first asked for."""
    content = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    return {name: _architecture(name, described) for name, described in content.items() if name != "llvm"}


@functools.cache
def llvm_version() -> str:
    """The version of LLVM whose names these are."""
    return str(json.loads(Path(__file__).with_suffix(".json").read_bytes())["llvm"])


def _architecture(name: str, described: dict[str, dict[str, str]]) -> Architecture:
    return Architecture(
        name,
        str(described["generic"]),
        frozenset(str(described["baseline"]).split()),
        {feature: tuple(implied.split()) for feature, implied in described["features"].items()},
        {cpu: tuple(features.split()) for cpu, features in described["cpus"].items()},
    )
