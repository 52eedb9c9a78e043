# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers of --compare: a model in onnxruntime, LiteRT or torch, or the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping

from ...frontends.front_end import front_end_named
from ..common.models import MODULE_KINDS, ONNX, kind_of
from .compare import Reference
from .inputs import Given
from .options import REFERENCE
from .peer import COMPARISONS, CalledPeer, Compared, Peer


def peer_of(other: str, program: Compared, inputs: Mapping[str, Given], *, trust: bool) -> Peer:
    """Return the peer that --compare names, with its results for these inputs. Raise RelaxError if it fails."""
    threads = program.executable.threads
    kind = None if other == REFERENCE else kind_of(other)
    if kind == ONNX:
        return Reference(other, inputs, threads)
    front_end = None if kind is None or kind in MODULE_KINDS else front_end_named(kind)
    if front_end is None or front_end.peer is None:
        peer: Peer = COMPARISONS.get(REFERENCE)(other, program, inputs)
        return peer
    with front_end.guarded():
        name, run = front_end.peer(other, inputs, threads, trust)
        return CalledPeer(name, threads, run, run())
