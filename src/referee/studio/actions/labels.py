"""Labels: added and removed."""

from __future__ import annotations

from referee.errors import OptionError
from referee.storage.label_rows import Label
from referee.studio.query import Query, address
from referee.studio.screen import NUMBER, TEXT, WHOLE, Action, Desk, Done, Parameter


def add_label(desk: Desk, query: Query) -> Done:
    """Label a score, or a run."""
    value = query.number("value")
    if value is None:
        raise OptionError("give value=, the label: a number on the scorer's scale")
    label = desk.store.labels.add(
        value,
        author=query.needed("author"),
        score=query.whole("score"),
        run=query.whole("run"),
        name=query.text("name"),
        turn=query.whole("turn", most=2**31 - 1),
        comment=query.text("comment"),
    )
    return Done(address("/run", {"number": label.run}), {"label": label})


def remove_label(desk: Desk, query: Query) -> Done:
    """Remove a label."""
    number = query.needed_whole("number")
    desk.store.labels.remove(number)
    return Done("/labels", {"removed": number})


ADD = Action(
    "/labels/add",
    "Label a score, or a run. An earlier label of the same author on the same thing is replaced.",
    add_label,
    (
        Parameter("value", "The label, on the scorer's scale.", NUMBER, is_needed=True),
        Parameter("author", "Who says it.", is_needed=True),
        Parameter("score", "The score's number.", WHOLE),
        Parameter("run", "The run's number, for a label on the run itself.", WHOLE),
        Parameter("name", "What was judged of the run."),
        Parameter("turn", "The turn of the run, from 0.", {**WHOLE, "maximum": 2**31 - 1}),
        Parameter("comment", "Why.", {**TEXT, "maxLength": 20_000}),
    ),
    {"label": Label},
)
REMOVE = Action(
    "/labels/remove",
    "Remove a label.",
    remove_label,
    (Parameter("number", "The label's number.", WHOLE, is_needed=True),),
    {"removed": int},
)
