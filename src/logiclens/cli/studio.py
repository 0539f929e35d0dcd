"""`logiclens studio`: start the server and open the page."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

from logiclens.errors import LogicLensError, named
from logiclens.studio.server import Studio, serve


def run_studio(data: str | None, *, port: int, work: Path | None, browser: bool) -> None:
    """Open a table or a model if one is named, serve the page, and print its address."""
    studio = Studio(work)
    if data is not None:
        path = Path(data)
        if not path.exists():
            raise LogicLensError(f"there is no file or folder {named(path)}.")
        if path.is_dir():
            studio.session.open_model(path)
        else:
            studio.session.open_table(path)

    def ready(address: str) -> None:
        typer.echo(f"The studio is open at {address}")
        typer.echo("Only this computer reaches it. Ctrl-C ends it; the work is kept for seven days.", err=True)
        if browser:
            webbrowser.open(address)

    serve(studio, port=port, ready=ready)
