# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Building blocks of messages: suggestions for misspelt names, counted nouns, shortened text."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most similar to `word`, or None if no candidate is similar enough."""
    import difflib  # only errors need it

    by_spelling: dict[str, str] = {}
    for candidate in candidates:
        by_spelling.setdefault(_spelling(candidate), candidate)
    spelling = _spelling(word)
    # Abbreviations first: "nearest" means nearest_neighbor, not linear; "conv2d" means relax.nn.conv2d.
    longer = [candidate for candidate in by_spelling if len(spelling) >= 4 and candidate.startswith(spelling)]
    longer = longer or [candidate for candidate in by_spelling if candidate.endswith(f".{spelling}")]
    if longer:
        return by_spelling[min(longer, key=len)]
    # "half_away_from_zero" means half_away, not half_to_zero. A lost letter of a long name counts for the long name.
    shorter = [candidate for candidate in by_spelling if spelling.startswith(f"{candidate}-")]
    if shorter and not difflib.get_close_matches(spelling, by_spelling, n=1, cutoff=0.94):
        return by_spelling[max(shorter, key=len)]
    matches = difflib.get_close_matches(spelling, by_spelling, n=3)

    def likeness(candidate: str) -> tuple[float, int]:
        ratio = difflib.SequenceMatcher(None, candidate, spelling).ratio()
        pairs = enumerate(zip(f"{candidate}\0", spelling, strict=False))
        return ratio, next((place for place, (one, other) in pairs if one != other), len(spelling))

    return by_spelling[max(matches, key=likeness)] if matches else None


def suggest(word: str, candidates: Iterable[str]) -> str:
    """Return the end of an error message, "; did you mean 'x'?", or an empty string."""
    match = nearest(word, candidates)
    return "" if match is None else f"; did you mean '{match}'?"


def counted(count: int | str, noun: str) -> str:
    """Return a count with its noun, "1 argument" or "2 arguments". Plurals end in s, or in es for nouns in is."""
    if str(count) == "1":
        return f"{count} {noun}"
    return f"{count} {noun[:-2]}es" if noun.endswith("is") else f"{count} {noun}s"


def shortened(text: str, most: int = 80) -> str:
    """Return the text, cut to `most` characters with "..." in place of its end."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _spelling(name: str) -> str:
    """Normalize a name for comparison: lower case, and `-` for `_`."""
    return name.lower().replace("_", "-")
