"""The application: the list of pages, and what stands around each of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from importlib.resources import files
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from referee import __version__
from referee.errors import OptionError, RefereeError, StoreError
from referee.storage.store import Store
from referee.studio import rendering
from referee.studio.page import Page, Rows
from referee.studio.pages.compare import compare_page
from referee.studio.pages.experiment import experiment_page
from referee.studio.pages.overview import overview_page
from referee.studio.pages.raw import raw_text
from referee.studio.pages.score import score_page
from referee.studio.pages.scores import scores_page
from referee.studio.query import Query
from referee.studio.security import FORM_COOKIE, LOGIN_PATH, TOKEN_COOKIE, Forms, Guard, cookie, same, session_of

PageFunction: TypeAlias = Callable[[Store, Query], Page]

#: Every page by its path.
PAGES: dict[str, PageFunction] = {
    "/": overview_page,
    "/experiment": experiment_page,
    "/scores": scores_page,
    "/score": score_page,
    "/compare": compare_page,
}

_STATIC = {"studio.css": "text/css", "studio.js": "text/javascript", "icon.svg": "image/svg+xml"}
_MEDIA_TYPES = {"html": "text/html", "json": "application/json", "csv": "text/csv"}


def create_app(
    store: Store, *, names: frozenset[str] = frozenset({"localhost"}), token: str | None = None
) -> Starlette:
    """The Studio of a store, as an ASGI application.

    Args:
        store: The store whose content is shown.
        names: Host names under which it is asked for. IP addresses always may be.
        token: What people must give before they see anything; needed when others than this machine can reach it.
    """
    rendering.environment()  # a broken template is found at the start, and the first page is quick
    routes = [Route(path, _endpoint(store, page)) for path, page in PAGES.items()]
    routes += [Route(f"/static/{name}", _static(name, media_type)) for name, media_type in _STATIC.items()]
    routes.append(Route("/raw", _raw(store)))
    if token is not None:
        routes.append(Route(LOGIN_PATH, _login(token), methods=["GET", "POST"]))
    guard = Middleware(Guard, names=names, token=token)
    return Starlette(
        routes=routes,
        middleware=[guard, Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)],
        exception_handlers={404: _not_found},
    )


def _endpoint(store: Store, page_function: PageFunction) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        wanted = "html"
        try:
            query = Query(request.url.path, request.query_params.multi_items())
            wanted = rendering.format_of(query)
            return _response(page_function(store, query), query, wanted)
        except RefereeError as error:
            return _problem(str(error), _status(error), request, wanted)

    return endpoint


def _status(error: RefereeError) -> int:
    if isinstance(error, StoreError):
        return 503 if error.__cause__ is not None else 404
    return 400 if isinstance(error, OptionError) else 500


def _response(page: Page, query: Query, format: str, status: int = 200) -> Response:
    if format == "json":
        body = rendering.as_json(page)
    elif format == "csv":
        body = rendering.as_csv(page)
    else:
        body = rendering.as_html(page, query, version=__version__)
    response = Response(body, status, media_type=_MEDIA_TYPES[format])
    if page.next is not None and format != "html":
        response.headers["Link"] = f'<{page.next}>; rel="next"'
    return response


def _problem(words: str, status: int, request: Request, format: str = "html") -> Response:
    title = "Not found" if status == 404 else "This can't be shown"
    page = Page("problem.html", title, {"problem": words}, Rows(["problem"], [[words]]))
    return _response(page, Query(request.url.path), format, status)


def _not_found(request: Request, _error: Exception) -> Response:
    return _problem("there is no such page", 404, request)


def _static(name: str, media_type: str) -> Callable[[Request], Response]:
    body = files("referee.studio").joinpath("static", name).read_bytes()

    def endpoint(_request: Request) -> Response:
        return Response(body, media_type=media_type, headers={"Cache-Control": "max-age=3600"})

    return endpoint


def _raw(store: Store) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        try:
            text = raw_text(store, Query(request.url.path, request.query_params.multi_items()))
        except RefereeError as error:
            return _problem(str(error), _status(error), request)
        # As plain text, in a sandbox: whatever it holds, a browser only shows it.
        headers = {"Content-Security-Policy": "default-src 'none'; sandbox"}
        return Response(text.encode("utf-8", "replace"), media_type="text/plain", headers=headers)

    return endpoint


def _login(token: str) -> Callable[[Request], object]:
    """The page that asks for the token, and the answer to its form."""
    forms = Forms()

    async def endpoint(request: Request) -> Response:
        problem = ""
        if request.method == "POST":
            fields = await forms.read(request)
            if fields is None:
                problem = "this form is no longer valid: send it again"
            elif same(fields.get("token", ""), token):
                response: Response = RedirectResponse("/", 303)
                _keep(response, TOKEN_COOKIE, session_of(token), request)
                return response
            else:
                problem = "this is not the token: it is printed where `referee studio` was started"
        secret = cookie(request.headers, FORM_COOKIE) or secrets.token_urlsafe(32)
        page = Page("login.html", "Token", {"problem": problem}, Rows(["problem"], []), {"seal": forms.seal(secret)})
        response = _response(page, Query(LOGIN_PATH), "html", 403 if problem else 200)
        _keep(response, FORM_COOKIE, secret, request)
        return response

    return endpoint


def _keep(response: Response, name: str, value: str, request: Request) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, httponly=True, samesite="strict", secure=secure)
