"""How the reference reads docstrings: a section `Example:` is code, as `Examples:` is."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Shows doctests as code, and not as quotations."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rename the section of one object."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("\nExample:\n", "\nExamples:\n")
