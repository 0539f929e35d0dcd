"""The server of the studio: one page and one JSON interface under a random token, for this machine's browser alone.

Every request must name the token, come to the address that the server printed (`Host`), and, if a page sent it, come
from the studio's own page (`Origin`). No cookie is set, no path that the browser names is opened, and the policy of
the page lets it load and run nothing but the studio's own files.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from logiclens.errors import LogicLensError, quoted, require_extra
from logiclens.report.page import render as render_report
from logiclens.studio import pages
from logiclens.studio.choices import MOST_TEXT, Choices, sent_text
from logiclens.studio.editing import Editor
from logiclens.studio.session import OutOfDate, Session
from logiclens.studio.work import Work, default_root

with require_extra("studio", "the studio"):
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
MOST_BYTES = 2**29
"""The largest upload, in bytes."""
MOST_JSON = 2**16
"""The largest request that is not an upload, in bytes."""
EVERY = 0.15
"""Seconds between two looks at the session for a tab."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load and run; the bars of the report have their width in an attribute."""
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-modals"
)
"""The report has its own policy, which names its script; beyond that it gets an origin of its own."""
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Doorkeeper:
    """Refuse requests that do not come from the studio's own page, and give every answer its headers.

    Args:
        app: what answers.
        hosts: the addresses under which the server is reached, `127.0.0.1:8765`.
    """

    def __init__(self, app: ASGIApp, hosts: Callable[[], tuple[str, ...]]) -> None:
        """Store both."""
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check Host, Origin and Sec-Fetch-Site before anything is done."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                added = HEADERS | {"Content-Security-Policy": POLICY}
                message["headers"] = [
                    *message["headers"],
                    *((n.lower().encode(), v.encode()) for n, v in added.items() if n.lower().encode() not in given),
                ]
            await send(message)

        refusal = self._refusal(scope)
        answer = self._app if refusal is None else PlainTextResponse(refusal, 403)
        await answer(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused; None if it is not."""
        named: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            named.setdefault(name, []).append(value)
        hosts = self._hosts()
        # A page of another site whose name was made to point to this machine sends the other name (DNS rebinding).
        if [host.decode("latin-1").lower() for host in named.get(b"host", [])] not in [[host] for host in hosts]:
            return "The studio answers only under the address that it printed."
        origins = [origin.decode("latin-1").lower() for origin in named.get(b"origin", [])]
        if any(origin not in [f"http://{host}" for host in hosts] for origin in origins):
            return "The studio answers only to its own page."
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return "The studio takes changes only from its own page."
        # A link in a mail or a chat may open the page itself, and nothing else.
        if any(site not in (b"same-origin", b"none") for site in named.get(b"sec-fetch-site", [])):
            return "The studio answers only to its own page."
        return None


class Studio:
    """The application: its session, its token, and the answers to the browser.

    Args:
        root: the folder of all works. Default: None, in the state folder of this user.
        token: the secret part of the address. Default: None, drawn at random.
        most_bytes: the largest upload. Default: 512 MiB.
    """

    def __init__(self, root: Path | None = None, *, token: str | None = None, most_bytes: int = MOST_BYTES) -> None:
        """Open the folder of works."""
        self.session = Session(default_root() if root is None else root)
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.most_bytes, self.port, self.ends = most_bytes, 0, threading.Event()
        answers = Starlette(
            routes=[
                Route("/{token}/", self.page),
                Route("/{token}/studio.js", self.script),
                Route("/{token}/studio.css", self.style),
                Route("/{token}/main", self.main),
                Route("/{token}/events", self.events),
                Route("/{token}/report", self.report),
                Route("/{token}/export/{name}", self.export),
                Route("/{token}/upload", self.upload, methods=["POST"]),
                Route("/{token}/api/{verb}", self.act, methods=["POST"]),
            ],
            lifespan=self._lifespan,
        )
        answers.router.redirect_slashes = False
        self.app = Doorkeeper(answers, lambda: (f"{HOST}:{self.port}", f"localhost:{self.port}"))
        self._verbs: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
            "example": lambda sent: self.session.example(),
            "open": lambda sent: self.session.open_kept(sent_text(sent, "work")),
            "close": lambda sent: self.session.close(),
            "learn": lambda sent: self.session.learn(read_choices(sent, self.session)),
            "cancel": lambda sent: self.session.cancel(),
            "back": lambda sent: self.session.back(),
            "forth": lambda sent: self.session.forth(),
            "edit": self._edit,
            "undo": lambda sent: self._edited(lambda editor: editor.undo()),
            "redo": lambda sent: self._edited(lambda editor: editor.redo()),
            "show": lambda sent: self._edited(lambda editor: editor.show(place(sent, "version"))),
            "comment": lambda sent: self._edited(
                lambda editor: editor.comment(place(sent, "version"), sent_text(sent, "why"))
            ),
            "look": lambda sent: self._edited(lambda editor: editor.look()),
            "compare": lambda sent: pages.render(
                "compared.html", told=self.session.editor().compare(place(sent, "one"), place(sent, "two"))
            ),
            "try": lambda sent: pages.render("tried.html", why=self.session.try_row(sent)),
        }

    def _edit(self, sent: Mapping[str, Any]) -> None:
        self._edited(lambda editor: editor.edit(sent))

    def _edited(self, move: Callable[[Editor], object]) -> None:
        move(self.session.editor())
        self.session.changed()

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.ends.set()
        await run_in_threadpool(self.session.end)

    def _check_token(self, request: Request) -> None:
        given = str(request.path_params["token"])
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            raise NoSuchPage

    # What is read ----------------------------------------------------------------------------------------------------

    async def page(self, request: Request) -> Response:
        """Return the page."""
        return await self._told(request, lambda: HTMLResponse(pages.shell(self.session)))

    async def script(self, request: Request) -> Response:
        """Return the script."""
        return await self._told(request, lambda: Response(pages.script(), media_type="text/javascript"))

    async def style(self, request: Request) -> Response:
        """Return the style sheet."""
        return await self._told(request, lambda: Response(pages.style(), media_type="text/css"))

    async def main(self, request: Request) -> Response:
        """Return the part of the page that the stage decides."""
        return await self._told(request, lambda: JSONResponse(self._shown()))

    async def report(self, request: Request) -> Response:
        """Return the report as a page of its own, to read and to print."""

        def made() -> Response:
            return HTMLResponse(
                render_report(self.session.report()), headers={"Content-Security-Policy": REPORT_POLICY}
            )

        return await self._told(request, made)

    async def export(self, request: Request) -> Response:
        """Return the rules as a file to save."""

        def made() -> Response:
            file = self.session.export(str(request.path_params["name"]))
            saved = {"Content-Disposition": f'attachment; filename="{file.name}"'}
            return Response(file.content, media_type=file.media_type, headers=saved)

        return await self._told(request, made)

    async def events(self, request: Request) -> Response:
        """Tell a tab when the work changes, and how far learning is."""
        try:
            self._check_token(request)
        except NoSuchPage:
            return not_found()
        return StreamingResponse(self._events(request), media_type="text/event-stream")

    async def _events(self, request: Request) -> AsyncIterator[str]:
        before, quiet = "", 0.0
        while not self.ends.is_set() and not await request.is_disconnected():
            now = json.dumps({"revision": self.session.revision, "progress": self._progress()})
            # A line now and then shows either side that the other is still there.
            if now != before or quiet > 10:
                yield f"data: {now}\n\n"
                before, quiet = now, 0.0
            await asyncio.sleep(EVERY)
            quiet += EVERY

    def _progress(self) -> dict[str, Any] | None:
        return pages.progress_words(self.session) if self.session.learning is not None else None

    async def _told(self, request: Request, made: Callable[[], Response]) -> Response:
        """Return what a function makes, one request at a time; a refusal is one sentence."""

        def guarded() -> Response:
            with self.session.guard:
                return made()

        try:
            self._check_token(request)
            return await run_in_threadpool(guarded)
        except NoSuchPage:
            return not_found()
        except LogicLensError as error:
            return PlainTextResponse(str(error), 400)
        except OSError as error:
            return PlainTextResponse(self.session.cannot_write(error), 400)

    # What is changed -------------------------------------------------------------------------------------------------

    async def act(self, request: Request) -> Response:
        """Do what the page asks, and return what it then shows."""
        verb = self._verbs.get(str(request.path_params["verb"]))

        def done(sent: Mapping[str, Any]) -> dict[str, Any]:
            with self.session.guard:
                if verb is None:
                    raise LogicLensError(f"there is nothing called {quoted(request.path_params['verb'])} to do.")
                self.session.check_revision(sent.get("revision"))
                part = verb(sent)
                return self._shown() if part is None else {"revision": self.session.revision, "part": part}

        return await self._changed(request, lambda: self._json(request), done)

    async def _json(self, request: Request) -> Mapping[str, Any]:
        """Return what the page sent; a page of another site cannot send this type without being asked first."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise LogicLensError("the page must send JSON.")
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_JSON:
                raise LogicLensError(f"the page sent more than {MOST_JSON:,} bytes.")
        try:
            sent = json.loads(body)
            # Halves of surrogate pairs can be written in JSON, but in no file.
            json.dumps(sent, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise LogicLensError("the page sent something that is not JSON.") from None
        if not isinstance(sent, dict):
            raise LogicLensError("the page must send an object.")
        return sent

    async def upload(self, request: Request) -> Response:
        """Take a file, chunk by chunk, into a private folder, and open it."""
        name = request.query_params.get("name", "")[:MOST_TEXT].replace("\\", "/").rpartition("/")[2] or "table"

        seen = request.query_params.get("revision", "")
        revision = int(seen) if seen.isdecimal() and len(seen) < 16 else None

        def begun() -> Work:
            with self.session.guard:
                # A large file is not received in vain.
                self.session.check_revision(revision)
            return self.session.begin(name)

        async def taken() -> Work:
            work = await run_in_threadpool(begun)
            with work.removed_on_failure():
                n_bytes = 0
                with work.upload.open("xb") as file:
                    async for chunk in request.stream():
                        n_bytes += len(chunk)
                        if n_bytes > self.most_bytes:
                            raise LogicLensError(
                                f"{name} has more than {self.most_bytes:,} bytes, the most that the studio takes: use "
                                "logiclens explain, or fewer rows."
                            )
                        await run_in_threadpool(file.write, chunk)
            return work

        def opened(work: Work) -> dict[str, Any]:
            with work.removed_on_failure(), self.session.guard:
                # Again, because another tab may have changed the work while the file arrived.
                self.session.check_revision(revision)
                if request.query_params.get("into") == "model":
                    self.session.attach(work)
                else:
                    self.session.take(work)
            with self.session.guard:
                return self._shown()

        return await self._changed(request, taken, opened)

    async def _changed(
        self, request: Request, received: Callable[[], Any], done: Callable[[Any], dict[str, Any]]
    ) -> Response:
        """Receive a request and do what it asks; a refusal is one sentence, and what was there stays."""
        try:
            self._check_token(request)
            return JSONResponse(await run_in_threadpool(done, await received()))
        except NoSuchPage:
            return not_found()
        except OutOfDate as error:
            # Here and below, what is left of an upload is not read.
            told = {"error": str(error), **await run_in_threadpool(self._shown)}
            return JSONResponse(told, 409, {"Connection": "close"})
        except LogicLensError as error:
            return JSONResponse({"error": str(error)}, 400, {"Connection": "close"})
        except OSError as error:
            return JSONResponse({"error": self.session.cannot_write(error)}, 400, {"Connection": "close"})
        except ClientDisconnect:
            return Response(status_code=400)

    def _shown(self) -> dict[str, Any]:
        with self.session.guard:
            return {
                "revision": self.session.revision,
                "stage": self.session.stage,
                "main": pages.main(self.session),
            }


class NoSuchPage(Exception):
    """The token is not that of this server."""


def not_found() -> Response:
    """Say nothing about what there is."""
    return PlainTextResponse("There is no such page. Open the address that logiclens studio printed.", 404)


# What the page sends -------------------------------------------------------------------------------------------------


def place(sent: Mapping[str, Any], name: str) -> int:
    """Return the number of a version, counted from 0, that the page sent as a text."""
    given = sent_text(sent, name)
    if not given.isdecimal() or len(given) > 6:
        raise LogicLensError(f"{quoted(name)} is none of the versions that the page shows.")
    return int(given)


def number(sent: Mapping[str, Any], name: str, called: str) -> float | None:
    """Return a number that the page sent as a text; None if the field is empty."""
    given = sent_text(sent, name)
    if not given:
        return None
    try:
        value = float(given)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise LogicLensError(f"{called} must be a number, got {quoted(given)}.")
    return value


def read_choices(sent: Mapping[str, Any], session: Session) -> Choices:
    """Return the choices about the columns, which the page names by their places."""
    columns = [column.name for column in session.view().columns]

    def column(given: Any, what: str) -> str:
        if not (isinstance(given, str) and given.isdecimal() and len(given) < 9 and int(given) < len(columns)):
            raise LogicLensError(f"choose {what} from the list.")
        return columns[int(given)]

    target = column(sent.get("target"), "the target")
    used = sent.get("use", [])
    if not isinstance(used, list):
        raise LogicLensError("tick the columns to use.")
    kept = {column(given, "the columns to use") for given in used}
    by = sent_text(sent, "by")
    return Choices(
        target,
        tuple(name for name in columns if name not in kept and name != target),
        number(sent, "above", "“Cut at”"),
        column(by, "the groups") if by else None,
        sent_text(sent, "positive") or None,
    )


# Running -------------------------------------------------------------------------------------------------------------


def serve(studio: Studio, *, port: int = 0, ready: Callable[[str], object] = print) -> None:
    """Serve until Ctrl-C.

    Args:
        studio: the application.
        port: of 127.0.0.1. Default: 0, a free one.
        ready: is called with the address.
    """
    server, bound = bound_server(studio, port)
    with bound:
        ready(studio.address)
        server.run(sockets=[bound])


def bound_server(studio: Studio, port: int = 0) -> tuple[uvicorn.Server, socket.socket]:
    """Return a server that has not begun, and the socket on which it listens."""
    # Only if TCP is named does asyncio send the parts of an answer at once; else the second waits 40 ms for the first.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((HOST, port))
        # Who opens the printed address before the server has begun waits, and is not turned away.
        bound.listen(100)
    except OSError as error:
        bound.close()
        raise LogicLensError(f"port {port} cannot be used ({error.strerror}): name another one.") from None
    studio.port = bound.getsockname()[1]
    config = uvicorn.Config(
        studio.app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    return _StudioServer(config, studio), bound


class _StudioServer(uvicorn.Server):
    """A server whose event streams end when it is told to stop, so that nothing waits for them."""

    def __init__(self, config: uvicorn.Config, studio: Studio) -> None:
        super().__init__(config)
        self.studio = studio

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.studio.ends.set()
        super().handle_exit(sig, frame)
