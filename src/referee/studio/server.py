"""Serves the Studio: where it listens, and who may come in."""

from __future__ import annotations

import gc
import ipaddress
import os
import secrets
import socket

from referee.errors import MissingExtraError, OptionError
from referee.storage.store import Store

#: Holds the token, where it is not to be a new one at every start.
TOKEN_VARIABLE = "REFEREE_STUDIO_TOKEN"  # noqa: S105
_SHORTEST_TOKEN = 16


def serve(store: Store, *, host: str = "127.0.0.1", port: int = 8484, read_only: bool = False) -> None:
    """Serve the Studio until it is interrupted.

    Args:
        store: The store that is shown.
        host: The address to listen on. Any other than this machine's own demands a token of its visitors.
        port: The port; 0 for any free one.
        read_only: Show only; refuse labels, changes of data sets, and jobs.

    Raises:
        MissingExtraError: The extra `studio` is not installed.
        OptionError: The address can't be listened on, or the token is too short.
    """
    try:
        import uvicorn

        from referee.studio.app import create_app
        from referee.studio.workers import Workers
    except ImportError as error:
        raise MissingExtraError("the Studio", package=error.name or "starlette", extra="studio") from None
    token = None if is_loopback(host) else _token()
    names = frozenset({"localhost", host.lower(), socket.gethostname().lower()})
    workers = Workers(store.database.url.render_as_string(hide_password=False))
    app = create_app(store, names=names, token=token, workers=workers, read_only=read_only)
    listener = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    print(f"Referee Studio: http://{shown}:{listener.getsockname()[1]}/", flush=True)  # noqa: T201
    if token is not None and TOKEN_VARIABLE not in os.environ:
        print(f"token: {token}", flush=True)  # noqa: T201
    settings = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        h11_max_incomplete_event_size=65_536,
    )
    gc.freeze()  # what is loaded by now stays: the collector need not look at it again with every page
    gc.enable()
    try:
        with listener:
            uvicorn.Server(settings).run(sockets=[listener])
    finally:
        workers.close()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _token() -> str:
    given = os.environ.get(TOKEN_VARIABLE)
    if given is None:
        return secrets.token_urlsafe(24)
    if len(given) < _SHORTEST_TOKEN:
        raise OptionError(f"{TOKEN_VARIABLE}: a token has at least {_SHORTEST_TOKEN} characters")
    return given


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise OptionError(f"can't listen on {host} port {port}: {error}; choose another --port or --host") from None
