# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forms of kernels, and the choice of a form."""

from __future__ import annotations

from .block_form import BlockForm
from .form import Form, Group, Limits
from .loop_forms import BlocksForm, ThreadsForm, WrittenForm
from .part_forms import PointPartsForm, RowPartsForm
from .points_form import PointsForm
from .rows_form import RowsForm
from .several_form import SeveralForm
from .tiles_form import TilesForm
from .turned_form import TurnedForm

#: The forms by name. A group has the first one that takes it.
FORMS: dict[str, type[Form]] = {
    each.name: each
    for each in (
        TilesForm,
        SeveralForm,
        RowPartsForm,
        PointPartsForm,
        WrittenForm,
        RowsForm,
        TurnedForm,
        PointsForm,
        BlocksForm,
        ThreadsForm,
        BlockForm,
    )
}


def form_of(group: Group, limits: Limits) -> Form:
    """Return a group in its form. This may collapse the loops of its operations."""
    return next(form for each in FORMS.values() if (form := each.of(group, limits)) is not None)
