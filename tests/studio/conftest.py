"""A studio with a client, and one that has learned rules once for all tests."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

from logiclens.studio.server import Studio, bound_server


def patients(n_rows: int = 240) -> pd.DataFrame:
    """Rows whose outcome is decided by two columns, with some noise, a gap and a group."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 95, n_rows), "lactate": rng.normal(3, 1, n_rows).round(1)})
    frame["sex"] = rng.choice(["man", "woman"], n_rows)
    risk = (frame.age >= 70).to_numpy() | ((frame.lactate >= 4).to_numpy() & (frame.sex == "man").to_numpy())
    frame["died"] = np.where(risk ^ (rng.random(n_rows) < 0.05), "yes", "no")
    frame.loc[3, "lactate"] = np.nan
    return frame


def full(*_: object, **__: object) -> None:
    """What every function that writes does where the disk is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@dataclass
class Tab:
    """A client of a studio that is served on a real port: it sends what the page would send."""

    studio: Studio
    client: httpx.Client
    ends: Callable[[], None]

    @classmethod
    def of(cls, studio: Studio) -> Tab:
        server, bound = bound_server(studio)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()

        def ends() -> None:
            studio.ends.set()
            server.should_exit = True
            thread.join(20)
            bound.close()
            assert not thread.is_alive()

        return cls(studio, httpx.Client(timeout=60), ends)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.studio.port}"

    @property
    def base(self) -> str:
        return f"{self.origin}/{self.studio.token}/"

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(self.base + path, **more)

    def upload(self, content: bytes, name: str = "patients.csv", **params: str) -> Any:
        sent = {"name": name, "revision": str(self.studio.session.revision), **params}
        return self.client.post(self.base + "upload", params=sent, content=content, headers=self.own)

    def act(self, verb: str, *, revision: int | None = None, **sent: Any) -> Any:
        known = self.studio.session.revision if revision is None else revision
        return self.client.post(self.base + f"api/{verb}", json={"revision": known, **sent}, headers=self.own)

    @property
    def own(self) -> dict[str, str]:
        return {"origin": self.origin}

    def learn(self, frame: pd.DataFrame, target: str = "died", **more: Any) -> Any:
        columns = list(frame.columns)
        use = [str(place) for place, name in enumerate(columns) if name != target]
        return self.act("learn", target=str(columns.index(target)), use=use, **more)

    def wait(self, stage: str, seconds: float = 90) -> None:
        end = time.monotonic() + seconds
        while self.studio.session.stage != stage:
            assert time.monotonic() < end, self.studio.session.stage
            time.sleep(0.05)


@pytest.fixture
def tabs(tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """Make a studio with a client; each ends with the test."""
    made: list[Tab] = []

    def tab(root: Path | None = None, **more: Any) -> Tab:
        made.append(Tab.of(Studio(root or tmp_path / "works", **more)))
        return made[-1]

    yield tab
    for one in made:
        one.ends()


@pytest.fixture
def tab(tabs: Callable[..., Tab]) -> Tab:
    return tabs()


@pytest.fixture(scope="session")
def learned_works(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a studio that has learned the rules of the patients, by sex."""
    root = tmp_path_factory.mktemp("learned") / "works"
    one = Tab.of(Studio(root))
    frame = patients()
    assert one.upload(frame.to_csv(index=False).encode()).status_code == 200
    assert one.learn(frame, by=str(list(frame.columns).index("sex"))).status_code == 200
    one.wait("rules")
    one.ends()
    return root


@pytest.fixture
def learned(tabs: Callable[..., Tab], learned_works: Path, tmp_path: Path) -> Tab:
    """A studio that has just learned."""
    root = tmp_path / "learned"
    shutil.copytree(learned_works, root)
    one = tabs(root)
    [key] = [path.name for path in root.iterdir()]
    assert one.act("open", work=key).status_code == 200
    return one
