# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Help on options of passes: each is explained, in groups and in one alphabet."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.options import option_fields
from relax_mlir.passes.core.registry import all_passes
from relax_mlir.tools.opt import listing
from relax_mlir.tools.opt.option_docs import option_doc

from relax_mlir import targets  # noqa: F401  # whose passes are among them


def test_every_option_of_our_passes_is_explained() -> None:
    """Check --help and --help-list, with the options' defaults."""
    found = {
        (name, key): (option_doc(cls, field), field)
        for name, cls in all_passes().items()
        if cls.__module__.startswith("relax_mlir.")
        for key, field in option_fields(cls).items()
    }
    assert len(found) > 90
    assert [place for place, (doc, _) in found.items() if len(doc.split()) < 3] == []
    assert [place for place, (doc, _) in found.items() if not doc.endswith(".")] == []
    for text in (listing.help_text(), listing.help_list()):
        shown = " ".join(text.split())
        for (_, key), (doc, option) in found.items():
            assert f"{key}=" in shown
            assert " ".join(doc.split()) in shown, key
            if isinstance(option.default, int) and not isinstance(option.default, bool):
                assert f"{key}={option.default}" in shown


def test_the_docs_of_options_of_others() -> None:
    @dataclass(frozen=True)
    class Base(Pass):
        """Pass without an effect."""

        #: Of the base:
        #: in two lines.
        one: int = 1

    @dataclass(frozen=True)
    class Own(Base):
        """Pass that adds options to those of its base."""

        two: int = field(default=2, metadata={"help": "Told by metadata."})
        three: int = 3

    docs = {each.name: option_doc(Own, each) for each in fields(Own)}
    assert docs == {"one": "Of the base: in two lines.", "two": "Told by metadata.", "three": ""}


def test_the_list_of_options_is_one_alphabet() -> None:
    names = [line.split()[0] for line in listing.help_list().splitlines() if line.startswith("  -")]
    plain = [name.partition("=")[0].partition("[")[0].rstrip(",") for name in names]
    long = [name for name in plain if name.startswith("--")]
    assert long == sorted(long) and len(long) > 300
    assert {"--cse", "--relax-inline", "--mlir-timing", "--color"} <= set(long)
