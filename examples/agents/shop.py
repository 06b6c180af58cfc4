"""A small shop: two tools, and what a model would say and do. Every agent in this folder has these tools and this mind."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

INSTRUCTIONS = "You help customers of a shop. Look an order up before you cancel it. Sent orders can't be cancelled."
ORDERS = {"17": {"state": "packed", "total": 30}, "18": {"state": "sent", "total": 12}}


def order_status(order: str) -> dict[str, Any]:
    """Look up an order: its state and its total in euros."""
    return {"order": order, **ORDERS[order]} if order in ORDERS else {"order": order, "state": "unknown"}


def cancel_order(order: str) -> dict[str, Any]:
    """Cancel an order that is not sent yet."""
    return {"order": order, "cancelled": True}


class Call(NamedTuple):
    """A tool call that the model wants."""

    name: str
    args: dict[str, str]


def next_step(question: str, results: list[dict[str, Any]]) -> Call | str:
    """Stands in for a language model: what it does next, after these results of tools.

    Put a real model in its place and nothing else changes.
    """
    order = next(iter(re.findall(r"\d+", question)), None)
    if order is None:
        return "You are welcome."
    if not results:
        return Call("order_status", {"order": order})
    state = results[0]["state"]
    if "cancel" not in question.lower():
        return f"Order {order} is {state}."
    if state != "packed":
        return f"Order {order} can't be cancelled: it is {state}."
    return f"Order {order} is cancelled." if len(results) > 1 else Call("cancel_order", {"order": order})
