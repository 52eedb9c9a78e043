# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Program calls with poisoned memory, to detect unwritten outputs, reads of uninitialized memory, and changed
inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping

from ...runtime import Executable
from ...runtime.foreign_types import Array
from ...runtime.guard_pages import guarded_results
from ...runtime.manifest import PassedValue, Signature, Site
from ...runtime.poisoning import PATTERNS, change_of, problem_of
from ...runtime.watching import each_call_watched
from ...support.errors import OptionError
from .inputs import Given, spread_values

#: Function that calls a program with inputs, and returns results by name and notes.
Call = Callable[[Mapping[str, Given], Executable], tuple[Mapping[str, Array], list[str]]]


def poison_problems(executable: Executable, signature: Signature, inputs: Mapping[str, Given], call: Call) -> list[str]:
    """Return the problems, one line each. A fresh copy of the program is called with each of two patterns."""
    if executable.device != "cpu":
        raise OptionError(f"--poison fills memory of the CPU, and the program is for {executable.device}")
    found = []
    for pattern in PATTERNS:
        # fresh copies, as an arena persists between calls
        fresh, given = copy.copy(executable), copy.deepcopy(dict(inputs))
        fresh.threads = executable.threads
        with each_call_watched(), guarded_results(pattern):
            found.append({name: array.copy() for name, array in call(given, fresh)[0].items()})
    problems = list(_yield_changed(signature, inputs, given))
    outputs = {output.name or f"result{index}": output for index, output in enumerate(signature.outputs)}
    for name, first in found[0].items():
        problem = problem_of(first, found[1][name]) if name in found[1] else "is not there each time"
        if problem:
            problems.append(f"output '{name}' {problem}{_kernels('written', outputs.get(name), signature)}")
    return problems


def _yield_changed(signature: Signature, before: Mapping[str, Given], after: Mapping[str, Given]) -> Iterator[str]:
    import numpy

    arrays = dict(spread_values(after))
    for described in signature.inputs:
        own = {} if described.written else {described.name: before[described.name]}
        for name, value in spread_values(own):
            if place := change_of(numpy.asarray(value), numpy.asarray(arrays[name])):
                kernels = _kernels("read", described, signature)
                yield f"input '{name}' is the caller's, and is written to, from element {place} on{kernels}"


def _kernels(verb: str, described: PassedValue | None, signature: Signature) -> str:
    """Return a text with the kernels and parts that read (or have written) a tensor of this type, as suspects."""
    type_ = "" if described is None else _type_text(described)
    sites = [site for site in signature.sites or () if type_ in (site.inputs if verb == "read" else site.outputs)]
    names = ", ".join(dict.fromkeys(map(_site_text, sites)))
    return f"; {type_} is {verb} by {names}" if names else ""


def _site_text(site: Site) -> str:
    return f"{site.name} ({', '.join(site.nodes)})" if site.nodes else site.name


def _type_text(described: PassedValue) -> str:
    """Format a tensor type as in call sites: f32[n,4]."""
    sizes = ",".join("?" if size is None else str(size) for size in described.shape)
    dtype = (described.holds or described.dtype).replace("bool", "i1").replace("float", "f")
    return f"{dtype.replace('uint', 'ui').replace('int', 'i')}[{sizes}]"
