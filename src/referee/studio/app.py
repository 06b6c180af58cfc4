"""The application: the screens and actions, and what stands around each of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from referee import __version__
from referee.errors import OptionError, RefereeError, StoreError
from referee.storage.store import Store
from referee.studio import actions, pages, rendering
from referee.studio.page import Page, Rows
from referee.studio.query import Query
from referee.studio.screen import Desk
from referee.studio.security import (
    FORM_COOKIE,
    LOGIN_PATH,
    MOST_BODY_BYTES,
    TOKEN_COOKIE,
    Forms,
    Guard,
    SendingError,
    cookie,
    is_json,
    same,
    session_of,
)
from referee.studio.workers import Workers

_STATIC = {"studio.css": "text/css", "studio.js": "text/javascript", "icon.svg": "image/svg+xml"}
_MEDIA_TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}
#: Of an answer to a program, the parameter that a form has besides.
_BACK = "back"


@dataclass(frozen=True, slots=True)
class Studio:
    """What the endpoints of one application share."""

    desk: Desk
    forms: Forms
    is_writable: bool


def create_app(
    store: Store,
    *,
    names: frozenset[str] = frozenset({"localhost"}),
    token: str | None = None,
    workers: Workers | None = None,
    read_only: bool = False,
) -> Starlette:
    """The Studio of a store, as an ASGI application.

    Args:
        store: The store whose content is shown.
        names: Host names under which it is asked for. IP addresses always may be.
        token: What people must give before they see anything; needed when others than this machine can reach it.
        workers: Work at jobs; made when they are not given, and then end with the program.
        read_only: Show only; refuse labels, changes of data sets, and jobs.
    """
    rendering.environment()  # a broken template is found at the start, and the first page is quick
    workers = workers or Workers(store.database.url.render_as_string(hide_password=False))
    studio = Studio(Desk(store, workers), Forms(), not read_only)
    sent = () if read_only else actions.PATHS
    routes = [Route(path, _endpoint(studio, path)) for path in pages.PATHS]
    routes += [Route(path, _action(studio, path), methods=["POST"]) for path in sent]
    routes += [Route(f"/static/{name}", _static(name, media_type)) for name, media_type in _STATIC.items()]
    routes += [Route("/raw", _raw(store)), Route("/openapi.json", _description(sent))]
    if token is not None:
        routes.append(Route(LOGIN_PATH, _login(studio, token), methods=["GET", "POST"]))
    takes = frozenset(sent) | ({LOGIN_PATH} if token is not None else frozenset())
    guard = Middleware(Guard, names=names, takes=takes, token=token)
    return Starlette(
        routes=routes,
        middleware=[guard, Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)],
        exception_handlers={404: _not_found},
    )


def _endpoint(studio: Studio, path: str) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        wanted = "html"
        try:
            query = Query(request.url.path, request.query_params.multi_items())
            wanted = rendering.format_of(query)
            screen = pages.screen(path)
            query.allow(*(parameter.name for parameter in screen.parameters))
            page = screen.make(studio.desk.store, query)
        except RefereeError as error:
            return _problem(str(error), _status(error), request, wanted)
        return _response(page, query, wanted) if wanted != "html" else _html(studio, page, query, request)

    return endpoint


def _html(studio: Studio, page: Page, query: Query, request: Request, status: int = 200) -> Response:
    """A page with forms that count only from the browser that it is given to."""
    secret = cookie(request.headers, FORM_COOKIE)
    kept = secret or secrets.token_urlsafe(32)
    view = {"seal": studio.forms.seal(kept), "is_writable": studio.is_writable}
    response = _response(page, query, "html", status, **view)
    if not secret:
        _keep(response, FORM_COOKIE, kept, request)
    return response


def _action(studio: Studio, path: str) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        wanted = "json" if is_json(request.headers) else "html"
        try:
            action = actions.action(path)
            query = Query(path, await studio.forms.read(request), longest=MOST_BODY_BYTES)
            query.allow(*(parameter.name for parameter in action.parameters), _BACK)
            done = await run_in_threadpool(action.do, studio.desk, query)
            back = _own_address(query.text(_BACK))
        except RefereeError as error:
            return _problem(str(error), _status(error), request, wanted)
        if wanted == "html":
            return RedirectResponse(back or done.address, 303)
        return Response(msgspec.json.encode({**done.answer, "address": done.address}), media_type="application/json")

    return endpoint


def _own_address(back: str | None) -> str | None:
    """The page to go back to, when it is one of ours."""
    if back is None or not back.startswith("/") or back.startswith(("//", "/\\")) or not back.isprintable():
        return None
    return back


def _status(error: RefereeError) -> int:
    if isinstance(error, SendingError):
        return error.status
    if isinstance(error, StoreError):
        return 503 if error.__cause__ is not None else 404
    return 400 if isinstance(error, OptionError) else 500


def _response(page: Page, query: Query, format: str, status: int = 200, **view: Any) -> Response:
    if format == "json":
        body = rendering.as_json(page)
    elif format == "csv":
        body = rendering.as_csv(page)
    else:
        body = rendering.as_html(page, query, version=__version__, **view)
    response = Response(body, status, media_type=_MEDIA_TYPES[format])
    if page.next is not None and format != "html":
        response.headers["Link"] = f'<{page.next}>; rel="next"'
    return response


def _problem(words: str, status: int, request: Request, format: str = "html") -> Response:
    title = (
        "Not found" if status == 404 else "This can't be done" if request.method == "POST" else "This can't be shown"
    )
    page = Page("problem.html", title, {"problem": words}, Rows(["problem"], [[words]]))
    return _response(page, Query(request.url.path), format, status)


def _not_found(request: Request, _error: Exception) -> Response:
    return _problem("there is no such page", 404, request)


def _static(name: str, media_type: str) -> Callable[[Request], Response]:
    body = files("referee.studio").joinpath("static", name).read_bytes()

    def endpoint(_request: Request) -> Response:
        return Response(body, media_type=media_type, headers={"Cache-Control": "max-age=3600"})

    return endpoint


def _description(sent: Sequence[str]) -> Callable[[Request], Response]:
    def endpoint(_request: Request) -> Response:
        from referee.studio.openapi import description

        screens, known = [pages.screen(path) for path in pages.PATHS], [actions.action(path) for path in sent]
        body = msgspec.json.encode(description(screens, known, version=__version__))
        return Response(body, media_type="application/json")

    return endpoint


def _raw(store: Store) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        from referee.studio.pages.raw import raw_text

        try:
            text = raw_text(store, Query(request.url.path, request.query_params.multi_items()))
        except RefereeError as error:
            return _problem(str(error), _status(error), request)
        # As plain text, in a sandbox: whatever it holds, a browser only shows it.
        headers = {"Content-Security-Policy": "default-src 'none'; sandbox"}
        return Response(text.encode("utf-8", "replace"), media_type="text/plain", headers=headers)

    return endpoint


def _login(studio: Studio, token: str) -> Callable[[Request], object]:
    """The page that asks for the token, and the answer to its form."""

    async def endpoint(request: Request) -> Response:
        problem = ""
        if request.method == "POST":
            try:
                fields = dict(await studio.forms.read(request))
            except SendingError as error:
                problem = str(error)
            else:
                if same(fields.get("token", ""), token):
                    response: Response = RedirectResponse("/", 303)
                    _keep(response, TOKEN_COOKIE, session_of(token), request)
                    return response
                problem = "this is not the token: it is printed where `referee studio` was started"
        page = Page("login.html", "Token", {"problem": problem}, Rows(["problem"], []))
        return _html(studio, page, Query(LOGIN_PATH), request, 403 if problem else 200)

    return endpoint


def _keep(response: Response, name: str, value: str, request: Request) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, httponly=True, samesite="strict", secure=secure)
