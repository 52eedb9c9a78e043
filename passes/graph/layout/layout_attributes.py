# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with layout attributes in their rows: convolutions, pools, resizing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....dialects.core.attributes import AttributeProblem
from ....dialects.core.opdef import OpDef
from ....dialects.relax.infer.layouts import Layout, LayoutProblem, blocked_dimensions, layouts_of, parse_layout
from ....support.errors import RelaxError
from ....support.suggest import counted
from .call import LayoutCall, Placement
from .relations import behind, between


def layout_attributes(definition: OpDef) -> dict[str, str]:
    """Map the layout attributes to their dimensions, in the order in which users state the layouts."""
    found: dict[str, str] = {}
    for fact in definition.layouts.values():
        found.setdefault(fact.attribute, fact.dimensions.replace("?", ""))
    return found


def check_asked(definition: OpDef, texts: Sequence[str]) -> None:
    """Raise RelaxError if no use of an operator can have the requested layouts."""
    if not (attributes := layout_attributes(definition)):
        raise RelaxError(f"{definition.full_name} has no layout: none of its attributes is a layout")
    if not 1 <= len(texts) <= len(attributes):
        expected = f"1 to {len(attributes)} layouts" if len(attributes) > 1 else "1 layout"
        example = ":".join(list(attributes.values()))
        raise RelaxError(
            f"{definition.full_name} takes {expected} ({', '.join(attributes)}), such as '{example}', "
            f"got {counted(len(texts), 'layout')}"
        )
    for name, fact in definition.layouts.items():
        if (text := dict(zip(attributes, texts, strict=False)).get(fact.attribute)) is None:
            continue
        dimensions = fact.dimensions_in(text)
        try:
            parse_layout(text, dimensions)
            definition.attrs[fact.attribute].normalize(text)
        except AttributeProblem as problem:
            raise RelaxError(f"layout of {definition.full_name} ({name}): {problem}") from None
        except LayoutProblem as problem:
            raise RelaxError(
                f"layout '{text}' of {definition.full_name} ({name}) {problem} (expects the dimensions "
                f"{', '.join(dimensions)} in any order, such as '{dimensions}')"
            ) from None


def as_asked(call: LayoutCall, texts: Sequence[str]) -> Placement | None:
    """Place an operation in the requested layouts.

    Return None if no layout of the tensors' axes expresses one of them.
    """
    definition = call.definition
    asked = dict(zip(layout_attributes(definition), texts, strict=False))
    layouts: dict[str, Layout] = {}
    for name, current in layouts_of(call.inferred).items():
        fact = definition.layouts[name]
        text = asked.get(fact.attribute)
        first = next(iter(layouts.values()), current)
        if text is not None:
            layouts[name] = parse_layout(text, fact.dimensions_in(text))
        else:
            follows = name in _result_names(definition) and first.dimensions == current.dimensions
            layouts[name] = first if follows else current
    return _place_in_layouts(call, layouts)


def in_its_layouts(call: LayoutCall, layout: Layout) -> Placement | None:
    """Apply a layout to the first tensor and to results of the same layout. Kernels keep theirs.

    Blocked data is declined if another tensor keeps its layout: the operator's rule would remove the blocks again.
    """
    layouts = layouts_of(call.inferred)
    first, current = next(iter(layouts.items()))
    new, following = behind(current, layout), {first, *_result_names(call.definition)}
    if new is None or blocked_dimensions(layout) and not following.issuperset(layouts):
        return None
    return _place_in_layouts(
        call, {name: new if name in following and each.axes == current.axes else each for name, each in layouts.items()}
    )


def _result_names(definition: OpDef) -> list[str]:
    return [result.name for result in definition.results]


def _place_in_layouts(call: LayoutCall, layouts: Mapping[str, Layout]) -> Placement | None:
    """Place an operation with each tensor in its wanted layout, or return None."""
    definition = call.definition
    changes: dict[str, Layout] = {}
    attributes: dict[str, str | None] = {}
    for name, current in layouts_of(call.inferred).items():
        if (change := between(current, layouts[name])) is None:
            return None
        changes[name] = change
        attribute = definition.layouts[name].attribute
        # An optional attribute without a value takes the first tensor's layout.
        kind, text = definition.attrs[attribute], layouts[name].text
        is_said = kind.default is not None or text != next(iter(layouts.values())).text
        try:
            attributes[attribute] = kind.normalize(text) if is_said else None
        except AttributeProblem:
            return None
    return call.placed(changes, [changes.get(name) for name in _result_names(definition)], **attributes)
