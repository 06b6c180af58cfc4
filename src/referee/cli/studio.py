"""`referee studio`: pages that show what a store holds."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from referee.errors import MissingExtraError, OptionError

if TYPE_CHECKING:
    from referee.storage.store import Store


@click.command()
@click.argument("store")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen. Other machines need a token.")
@click.option("--port", type=click.IntRange(0, 65535), default=8484, show_default=True, help="0 for any free port.")
@click.option(
    "--export",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write pages into a new folder instead, to share them; with --experiment or --compare.",
)
@click.option("--experiment", metavar="KEY", help="Export this experiment.")
@click.option("--compare", nargs=2, metavar="FIRST SECOND", help="Export the comparison of these two experiments.")
@click.option("--read-only", is_flag=True, help="Show only: refuse labels, changes of data sets, and jobs.")
def studio(
    store: str,
    host: str,
    port: int,
    export: Path | None,
    experiment: str | None,
    compare: tuple[str, str] | None,
    read_only: bool,
) -> None:
    """Show the experiments and scores of STORE in the browser.

    STORE is a file, or postgresql://user@host/name. Nothing leaves this machine. With another --host than this
    machine's own, visitors give the token that is printed, or that REFEREE_STUDIO_TOKEN holds.

    \b
    Example:
      referee studio scores.db
      referee studio scores.db --export report --compare nightly-1 nightly-2
    """
    if (export is None) != (experiment is None and compare is None) or (experiment and compare):
        raise OptionError("--export goes with either --experiment KEY or --compare FIRST SECOND")
    if "://" not in store and not Path(store).is_file():
        raise OptionError(f"there is no store {store}: score runs into one with `referee score ... --store {store}`")
    if export is not None:
        from referee.storage.store import Store

        with Store(store) as opened:
            _export(opened, export, experiment, compare)
    else:
        _serve(store, host, port, read_only=read_only)


def _serve(store: str, host: str, port: int, *, read_only: bool) -> None:
    # What is loaded here stays, and looking for garbage in it takes a tenth of the time to the first page. `serve` turns
    # the collector on again.
    gc.disable()
    try:
        from referee.storage.store import Store
        from referee.studio.server import serve

        with Store(store) as opened:
            serve(opened, host=host, port=port, read_only=read_only)
    finally:
        gc.enable()


def _export(store: Store, folder: Path, experiment: str | None, compare: tuple[str, str] | None) -> None:
    try:
        from referee.studio.export import Export
    except ImportError as error:
        raise MissingExtraError("the Studio", package=error.name or "jinja2", extra="studio") from None

    def told(count: int) -> None:
        if count % 100 == 0 and sys.stderr.isatty():
            click.echo(f"\r{count:,} pages", nl=False, err=True)

    writing = Export(store, folder, told)
    count = writing.experiment(experiment) if experiment else writing.comparison(*(compare or ("", "")))
    click.echo(f"{count:,} pages: open {folder / 'index.html'}")
