"""`referee studio`: pages that show what a store holds."""

from __future__ import annotations

from pathlib import Path

import click

from referee.errors import OptionError


@click.command()
@click.argument("store")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen. Other machines need a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8484, show_default=True, help="0 for any free port.")
@click.option("--read-only", is_flag=True, help="Show only: refuse labels, changes of data sets, and jobs.")
def studio(store: str, host: str, port: int, read_only: bool) -> None:
    """Show the experiments and scores of STORE in the browser.

    STORE is a file, or postgresql://user@host/name. Nothing leaves this machine. With another --host than this
    machine's own, visitors give the token that is printed, or that REFEREE_STUDIO_TOKEN holds.

    \b
    Example:
      referee studio scores.db
    """
    from referee.storage.store import Store
    from referee.studio.server import serve

    if "://" not in store and not Path(store).is_file():
        raise OptionError(f"there is no store {store}: score runs into one with `referee score ... --store {store}`")
    with Store(store) as opened:
        serve(opened, host=host, port=port, read_only=read_only)
