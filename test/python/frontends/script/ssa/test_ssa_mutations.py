# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts with random changes of words and lines are read or refused with a message.

Accepted scripts can be printed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random

import pytest
from example_counts import some
from relax_mlir.dialects.script.print_script import print_script
from relax_mlir.support.errors import RelaxError
from round_trip import parse, read

_FOLDER = Path(__file__).resolve().parents[4] / "dialects" / "script"
_FILES = ("arithmetic", "buffers", "calls", "control", "functions", "nests", "operators")
_TOKEN = re.compile(r'"[^"\n]*"|\w+|[^\w\s]|\s+')
_WORDS = [*"-1 0 10**9 None True 1.5 [ ] ( ) () {} 2**70 1e400 % // :".split(), "9" * 20]


@cache
def scripts() -> list[str]:
    return [print_script(parse((_FOLDER / f"{name}.mlir").read_text()).operation) for name in _FILES]


def mutated(random: Random) -> str:
    """Return one function of a script, or several, with a few changes."""
    head, *functions = re.split(r"(?m)^(?=    @)", random.choice(scripts()))
    text = head + "".join(random.sample(functions, min(2, len(functions))))
    parts = _TOKEN.findall(text) if random.random() < 0.7 else text.splitlines(keepends=True)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        here, there = random.randrange(len(parts)), random.randrange(len(parts))
        change = random.randrange(5)
        if change == 0:
            parts[here] = random.choice(_WORDS)
        elif change == 1:
            parts[here] = ""
        elif change == 2:
            parts[here], parts[there] = parts[there], parts[here]
        else:
            parts[here] = parts[there] if change == 3 else f"{parts[here]}{parts[there]}"
    return "".join(parts)


@pytest.mark.parametrize("seed", range(4))
def test_mutations(seed: int) -> None:
    random = Random(seed)
    count, accepted = some(100), 0
    for _ in range(count):
        script = mutated(random)
        try:
            module = read(script)
        except RelaxError as error:
            assert ": " in str(error).split("\n", 1)[0], script
            continue
        accepted += 1
        assert read(print_script(module.operation)).operation.verify(), script
    assert 0 < accepted < count or count < 50
