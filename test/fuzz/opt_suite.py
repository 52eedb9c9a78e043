# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutated modules, bytecode and command lines for relax-opt."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from random import Random

import corpus
from case import INPUT, RELAX_OPT, Case, Outcome, run_cases, run_guarded_case
from mutate_command import harmless_arguments, mutated_arguments
from mutate_ops import mutate_operation
from mutate_text import mutate_bytes, mutate_element_type, mutate_tokens

from relax_mlir import Module, RelaxError

#: The name of a script's file.
SCRIPT = f"{INPUT}.py"


def make_case(random: Random) -> Case:
    """Draw a case of any kind."""
    kind = random.choices(list(_MAKERS), [weight for _, weight in _MAKERS.values()])[0]
    return _MAKERS[kind][0](random)


def _operation(random: Random) -> Case:
    op = random.choice(corpus.load().operations)
    text = mutate_operation(random, op, corpus.load().operations)
    return Case("operation", text.encode(), harmless_arguments(random))


def _tokens(random: Random) -> Case:
    texts = corpus.load().texts if random.random() < 0.5 else corpus.load().modules
    text = mutate_tokens(random, random.choice(texts), texts)
    return Case("tokens", text.encode(), harmless_arguments(random))


def _element_type(random: Random) -> Case:
    texts = corpus.load().texts if random.random() < 0.2 else corpus.load().modules
    return Case("element type", mutate_element_type(random, random.choice(texts)).encode(), harmless_arguments(random))


def _bytes(random: Random) -> Case:
    return Case("bytes", mutate_bytes(random, random.choice(corpus.load().texts).encode()), harmless_arguments(random))


def _bytecode(random: Random) -> Case:
    while True:
        with contextlib.suppress(RelaxError):  # some functions need their neighbours
            data = Module.parse(random.choice(corpus.load().modules)).bytecode()
            return Case("bytecode", mutate_bytes(random, data), harmless_arguments(random))


def _script(random: Random) -> Case:
    text = mutate_tokens(random, random.choice(corpus.scripts()), corpus.scripts())
    arguments = (SCRIPT if argument == INPUT else argument for argument in harmless_arguments(random))
    return Case("script", text.encode(), tuple(arguments), SCRIPT)


def _command(random: Random) -> Case:
    return Case("command", random.choice(corpus.load().modules).encode(), mutated_arguments(random))


_MAKERS = {
    "operation": (_operation, 8),
    "tokens": (_tokens, 5),
    "element type": (_element_type, 3),
    "bytes": (_bytes, 2),
    "bytecode": (_bytecode, 3),
    "command": (_command, 3),
    "script": (_script, 3),
}


def preload() -> None:
    """Load the modules of cases once: cases run in forks of this process."""
    from relax_mlir.tools.opt import driver

    driver.is_pass("")
    corpus.load()
    corpus.scripts()


def run(cases: Sequence[Case]) -> list[Outcome]:
    """Return the cases' outcomes, in order."""
    groups: dict[str, list[int]] = {"text": [], "bytecode": [], "command": []}
    for index, case in enumerate(cases):
        groups[case.kind if case.kind in groups else "text"].append(index)
    found: dict[int, Outcome] = {}
    # Malformed bytecode can corrupt MLIR's memory, which other cases would seem to die of.
    for kind in ("text", "bytecode"):
        found |= zip(groups[kind], run_cases([cases[index] for index in groups[kind]], RELAX_OPT), strict=True)
    # The guard process also handles options of the command line.
    found |= {index: run_guarded_case(cases[index], RELAX_OPT) for index in groups["command"]}
    return [found[index] for index in range(len(cases))]


def run_alone(case: Case) -> Outcome:
    """Run a case like the command."""
    return run_guarded_case(case, RELAX_OPT)


def text_of(case: Case) -> str:
    """Return the input in readable form."""
    return case.data.decode("utf-8", "backslashreplace")
