"""The studio's door: who may ask, what is taken, and what stays when a tab, a worker or the server ends."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest

from logiclens.studio.server import MOST_JSON, POLICY, Studio, bound_server
from logiclens.studio.work import RECORD, kept_works
from tests.cli_runs import COMMAND, ENVIRONMENT
from tests.studio.conftest import full, patients

TABLE = patients().to_csv(index=False).encode()
MANY = patients(4000).to_csv(index=False).encode()
"""More than is written at once."""


def files_below(root: Path) -> list[str]:
    # Not rglob, which fails when a folder goes while it looks.
    return sorted(name for _, _, names in os.walk(root) for name in names)


# Who may ask --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "main", "events", "studio.js", "studio.css", "report", "export/model"])
def test_nothing_is_told_without_the_token(tab, path):
    for token in ("", "x", tab.studio.token[:-1], tab.studio.token + "x", tab.studio.token.swapcase()):
        answer = tab.client.get(f"{tab.origin}/{token}/{path}")
        assert answer.status_code == 404
        assert tab.studio.token not in answer.text


def test_nothing_is_done_without_the_token(tab):
    for path in ("upload?name=a.csv", "api/example"):
        answer = tab.client.post(f"{tab.origin}/wrong/{path}", json={"revision": 0}, headers=tab.own)
        assert answer.status_code == 404
    assert tab.studio.session.stage == "start"
    assert files_below(tab.studio.session.root) == []


def test_each_start_draws_another_long_token(tmp_path):
    tokens = {Studio(tmp_path / "works").token for _ in range(20)}
    assert len(tokens) == 20
    assert min(map(len, tokens)) >= 32


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""]
)
def test_a_rebound_name_is_refused(tab, host):
    # The browser of somebody lured to another site sends that site's name, whatever address it resolves to.
    answer = tab.get("main", headers={"host": host.format(port=tab.studio.port)})
    assert answer.status_code in (400, 403)
    assert "main" not in answer.text


def test_two_hosts_in_one_request_are_refused(tab):
    request = (
        f"GET /{tab.studio.token}/main HTTP/1.1\r\nHost: 127.0.0.1:{tab.studio.port}\r\n"
        "Host: evil.example\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", tab.studio.port), timeout=10) as plain:
        plain.sendall(request.encode())
        status = plain.makefile("rb").readline()
    assert status.split()[1] in (b"400", b"403")


def test_localhost_is_the_same_address(tab):
    assert tab.get("main", headers={"host": f"localhost:{tab.studio.port}"}).status_code == 200


def cross_site_requests(tab) -> list[dict[str, str]]:
    other = f"http://127.0.0.1:{tab.studio.port + 1}"
    return [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": other},
        {"origin": tab.origin + ".evil.example"},
        {"origin": tab.origin, "sec-fetch-site": "cross-site"},
        {"origin": tab.origin, "sec-fetch-site": "same-site"},
        {},
    ]


def test_posts_of_other_sites_are_refused(tab):
    for headers in cross_site_requests(tab):
        for path in ("api/example", "upload?name=a.csv"):
            answer = tab.client.post(tab.base + path, json={"revision": 0}, headers=headers)
            assert answer.status_code == 403, headers
    assert tab.studio.session.stage == "start"
    assert files_below(tab.studio.session.root) == []


def test_a_form_of_another_type_is_refused(tab):
    # A page of another site can send these types without asking the browser first.
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = tab.own | {"content-type": kind}
        answer = tab.client.post(tab.base + "api/example", content=b'{"revision": 0}', headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (400, "the page must send JSON.")
    assert tab.studio.session.stage == "start"


def test_reads_of_other_sites_are_refused(tab):
    assert tab.get("main", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert tab.get("events", headers={"origin": "https://evil.example"}).status_code == 403


@pytest.mark.parametrize("path", ["", "main", "studio.js", "studio.css", "nothing"])
def test_every_answer_has_a_strict_policy_and_sets_no_cookie(tab, path):
    headers = tab.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    assert "set-cookie" not in headers
    assert "access-control-allow-origin" not in headers


def test_the_policy_runs_and_loads_only_own_files():
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert (rules["default-src"], rules["script-src"], rules["style-src"]) == ("'none'", "'self'", "'self'")
    assert (rules["form-action"], rules["base-uri"], rules["frame-ancestors"]) == ("'none'",) * 3
    assert "unsafe-eval" not in POLICY
    assert "http" not in POLICY


def test_the_page_asks_for_nothing_outside(tab):
    texts = tab.get("").text + tab.get("studio.js").text + tab.get("studio.css").text
    assert not re.search(r"https?://|src=\"//|@import|url\(", texts)


def test_it_listens_on_this_machine_alone(tab):
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", tab.studio.port), timeout=2):
        pass


def test_answers_are_sent_without_waiting(tmp_path):
    server, bound = bound_server(Studio(tmp_path / "works"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    with bound, httpx.Client() as client:
        assert client.get(server.studio.address).status_code == 200
        [connection] = server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        # Otherwise the text of an answer waits 40 ms until the browser has told that its head arrived.
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        server.studio.ends.set()
        server.should_exit = True
        thread.join(20)


# Uploads ------------------------------------------------------------------------------------------------------------


def test_an_upload_is_private_and_under_a_name_of_ours(tab):
    assert tab.upload(TABLE, "../../etc/../patients.csv").status_code == 200
    work = tab.studio.session.work
    assert work.record.name == "patients.csv"
    assert work.upload.name == "table.csv"
    assert work.upload.read_bytes() == TABLE
    for folder in (tab.studio.session.root, work.folder):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "name", ["../../../tmp/a.csv", "..\\..\\a.csv", "/etc/passwd.csv", "a/b/c.csv", "....//a.csv", "%2e%2e%2fa.csv"]
)
def test_a_path_in_a_name_leads_nowhere(tab, tmp_path, name):
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tab.studio.session.root)}
    assert tab.upload(TABLE, name).status_code == 200
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(tab.studio.session.root)} == before
    assert [path.name for path in tab.studio.session.root.iterdir()] == [tab.studio.session.work.key]
    assert "/" not in tab.studio.session.work.record.name


@pytest.mark.parametrize("path", ["../work.json", "..%2fwork.json", "%2e%2e/%2e%2e/etc/passwd", "model/model.json"])
def test_a_path_in_an_address_leads_nowhere(learned, path):
    for start in ("export/", ""):
        answer = learned.get(start + path)
        assert answer.status_code in (400, 404)
        assert "kind" not in answer.text


@pytest.mark.parametrize("key", ["../works", "..", "", "/etc", "0123456789abcdef"])
def test_a_work_is_opened_by_a_listed_name_alone(tab, key):
    answer = tab.act("open", work=key)
    assert (answer.status_code, answer.json()["error"]) == (
        400, "this work is not there any more: choose the file again.",
    )  # fmt: skip


def test_a_link_in_the_folder_of_works_is_no_work(tabs, learned, tmp_path):
    root = tmp_path / "linked"
    one = tabs(root)
    (root / "0123456789abcdef").symlink_to(learned.studio.session.work.folder)
    assert kept_works(root) == []
    assert one.act("open", work="0123456789abcdef").status_code == 400


def test_an_oversized_upload_is_refused_and_leaves_nothing(tabs):
    one = tabs(most_bytes=1000)
    answer = one.upload(TABLE)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("patients.csv has more than 1,000 bytes")
    assert files_below(one.studio.session.root) == []

    # Without a length in its head, the upload is counted as it comes.
    chunks = (b"a,b\n" * 1000 for _ in range(50))
    sent = one.client.post(one.base + "upload?name=a.csv&revision=0", content=chunks, headers=one.own)
    assert sent.status_code == 400
    assert files_below(one.studio.session.root) == []


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.exe", b"MZ", "'a.exe' is of no known format"),
        ("", b"a,b\n1,2\n", "'table' is of no known format"),
        ("a.csv", b"", "a.csv is empty."),
        ("a.csv", b"\xff\xfe\xfa\x00", "a.csv"),
        ("a.csv", b"a,b\n1,2\n3\n", "a.csv"),
        ("a.xlsx", b"PK\x03\x04broken", "a.xlsx"),
        ("a.parquet", b"PAR1 no more", "a.parquet"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00cut", "a.csv.gz is a damaged or cut-off gz file"),
        ("a.json", b'[{"a": 1', "a.json"),
    ],
)
def test_a_broken_upload_is_one_sentence_that_names_it(tab, name, content, sentence):
    answer = tab.upload(content, name)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert "table." not in answer.json()["error"]
    assert tab.studio.session.stage == "start"
    assert files_below(tab.studio.session.root) == []


def bomb(kind: str) -> bytes:
    """A small file that unpacks to some megabytes."""
    text = b"a,b\n" + b"1,2\n" * 1_000_000
    if kind == "csv.gz":
        return gzip.compress(text)
    if kind == "csv":
        # Whatever the name says, what is packed is unpacked; a file may have several packed parts.
        return gzip.compress(text[:40_004]) * 100
    held = io.BytesIO()
    pd.DataFrame({"a": np.zeros(1_000_000, dtype=np.int8)}).to_parquet(held, compression="gzip")
    return held.getvalue() if kind == "parquet" else gzip.compress(held.getvalue())


@pytest.mark.parametrize("kind", ["csv.gz", "csv", "parquet", "parquet.gz"])
@pytest.mark.parametrize("into", ["", "model"])
def test_an_upload_that_unpacks_to_too_much_is_refused(tab, learned, monkeypatch, kind, into):
    monkeypatch.setattr("logiclens.studio.work.MOST_UNPACKED", 1_000_000)
    content = bomb(kind)
    assert len(content) < 100_000
    if into:
        tab.studio.session.open_model(learned.studio.session.work.model)
    before = files_below(tab.studio.session.root)
    answer = tab.upload(content, f"small.{kind}", into=into)
    assert answer.status_code == 400
    assert answer.json()["error"] == (
        f"small.{kind} unpacks to more than 1,000,000 bytes, the most that are read here: take fewer rows or columns."
    )
    assert files_below(tab.studio.session.root) == before


def test_a_full_disk_is_told_in_one_sentence(tab, monkeypatch):
    monkeypatch.setattr("logiclens.studio.session.write_whole", full)
    monkeypatch.setattr("logiclens.studio.work.os.fsync", full)
    for answer in (tab.act("example"), tab.upload(TABLE)):
        assert answer.status_code == 400
        assert answer.json()["error"] == (
            f"the studio cannot write into {tab.studio.session.root}: No space left on device."
        )
    assert files_below(tab.studio.session.root) == []
    assert tab.studio.session.stage == "start"


def test_a_packed_upload_below_the_limit_is_read(tab, monkeypatch):
    monkeypatch.setattr("logiclens.studio.work.MOST_UNPACKED", len(TABLE))
    assert tab.upload(gzip.compress(TABLE), "patients.csv.gz").status_code == 200
    assert tab.upload(TABLE).status_code == 200
    monkeypatch.setattr("logiclens.studio.work.MOST_UNPACKED", len(TABLE) - 1)
    assert tab.upload(gzip.compress(TABLE), "patients.csv.gz").status_code == 400
    # What is not packed is as large as its upload.
    assert tab.upload(TABLE).status_code == 200


def test_a_broken_upload_leaves_the_open_work(learned):
    before = learned.studio.session.work
    assert learned.upload(b"", "a.csv").status_code == 400
    assert learned.studio.session.work is before
    assert learned.get("main").json()["stage"] == "rules"


def test_an_upload_that_is_cut_off_leaves_nothing(tab):
    head = (
        f"POST /{tab.studio.token}/upload?name=a.csv&revision=0 HTTP/1.1\r\nHost: 127.0.0.1:{tab.studio.port}\r\n"
        f"Origin: {tab.origin}\r\nContent-Length: 1000000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", tab.studio.port), timeout=10) as plain:
        plain.sendall(head.encode() + b"a,b\n1,2\n" * 1000)
        wait_until(lambda: files_below(tab.studio.session.root) != [])
    wait_until(lambda: files_below(tab.studio.session.root) == [])
    assert tab.studio.session.stage == "start"


def begin_upload(address: str, content: bytes) -> socket.socket:
    """Send the first half of an upload; the rest is for the caller."""
    host, token = address.split("/")[2:4]
    plain = socket.create_connection(("127.0.0.1", int(host.partition(":")[2])), timeout=20)
    head = (
        f"POST /{token}/upload?name=half.csv&revision=0 HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
        f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    )
    plain.sendall(head.encode() + content[: len(content) // 2])
    return plain


def uploaded(root: Path) -> int:
    """Return how many bytes of uploads there are."""
    return sum(path.stat().st_size for path in root.glob("*/table*"))


def test_an_upload_that_arrives_is_no_work_yet(tab, tabs):
    root = tab.studio.session.root
    with begin_upload(tab.base, MANY) as plain:
        wait_until(lambda: uploaded(root) > 0)
        [folder] = root.iterdir()
        # Neither a second tab nor another studio that starts now may take it, or take it away.
        other = tabs(root)
        assert kept_works(root) == []
        for one in (tab, other):
            assert "half.csv" not in one.get("main").json()["main"]
            answer = one.act("open", work=folder.name)
            assert answer.json()["error"] == "this work is not there any more: choose the file again."
        assert tab.studio.session.stage == "start"
        plain.sendall(MANY[len(MANY) // 2 :])
        assert b"200 OK" in plain.makefile("rb").readline()
    assert tab.studio.session.work.upload.read_bytes() == MANY
    assert [kept.name for kept in kept_works(root)] == ["half.csv"]


def test_what_a_killed_server_had_received_is_no_work(tmp_path, tabs):
    root = tmp_path / "works"
    server = subprocess.Popen(
        [COMMAND, "studio", "--no-browser", "--work", str(root)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        address = server.stdout.readline().split()[-1]
        with begin_upload(address, MANY):
            wait_until(lambda: uploaded(root) > 0)
            server.kill()
            server.wait()
    finally:
        server.kill()
    [folder] = root.iterdir()
    one = tabs(root)
    assert not folder.exists()
    assert "half.csv" not in one.get("main").json()["main"]
    assert one.act("open", work=folder.name).status_code == 400


def test_a_model_that_was_half_copied_is_no_work(learned, tabs, tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    root, model = tmp_path / "other", learned.studio.session.work.model
    studio = Studio(root)
    monkeypatch.setattr("logiclens.studio.session.write_whole", killed)
    with pytest.raises(Killed):
        studio.session.open_model(model)
    assert kept_works(root) == []


def wait_until(holds, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"null", b'"a"', b"\xff", b"[" * 10_000, b'{"revision": "0"}', b"{}"]
)
def test_a_broken_request_is_refused_in_one_sentence(tab, body):
    answer = tab.client.post(
        tab.base + "api/example", content=body, headers=tab.own | {"content-type": "application/json"}
    )
    assert answer.status_code in (400, 409)
    assert "\n" not in answer.json()["error"]
    assert tab.studio.session.stage == "start"


def test_a_large_request_is_refused(tab):
    answer = tab.act("example", padding="x" * MOST_JSON)
    assert answer.json()["error"] == f"the page sent more than {MOST_JSON:,} bytes."


def test_markup_in_names_and_cells_is_shown_as_text(tab):
    name, column = "<img src=x onerror=alert(1)>.csv", "<script>alert(2)</script>"
    frame = patients().rename(columns={"sex": column}).replace("man", "<b onclick=alert(3)>")
    assert tab.upload(frame.to_csv(index=False).encode(), name).status_code == 200
    page = tab.get("main").json()["main"] + tab.get("").text
    assert not re.search(r"<script>alert|<img src=x|<b onclick", page)
    assert "&lt;script&gt;alert(2)" in page


# Columns and learning -----------------------------------------------------------------------------------------------


def test_columns_are_shown_with_kinds_gaps_and_histograms(tab):
    page = tab.upload(TABLE).json()["main"]
    rows = re.findall(r'<tr>\s*<td data-label="Use">.*?</tr>', page, re.DOTALL)
    assert len(rows) == 4
    assert "whole numbers" in rows[0]
    assert "1 (" in rows[1]
    assert rows[2].count("<rect") == 2
    assert rows[0].count("<rect") == 16
    assert re.search(r'<option value="3"[^>]* selected>died', page)


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"target": "", "use": ["0"]}, "choose the target from the list."),
        ({"target": "99", "use": ["0"]}, "choose the target from the list."),
        ({"target": "3", "use": []}, "no column is left to learn from: tick at least one beside the target."),
        ({"target": "3", "use": "0"}, "tick the columns to use."),
        ({"target": "3", "use": ["0"], "above": "5"}, "the target 'died' holds no numbers"),
        ({"target": "1", "use": ["0"], "above": "x"}, "“Cut at” must be a number, got 'x'."),
        ({"target": "1", "use": ["0"]}, "the target 'lactate' holds numbers with decimals: cut it, for example at"),
        ({"target": "3", "use": ["0"], "by": "3"}, "'died' is the target: compare groups by another column."),
        ({"target": "3", "use": ["1"], "by": "0"}, "too many to compare"),
    ],
)
def test_bad_choices_are_one_sentence_and_the_columns_stay(tab, sent, sentence):
    tab.upload(TABLE)
    answer = tab.act("learn", **sent)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert tab.studio.session.stage == "columns"


def test_the_value_that_is_chosen_gets_the_rules(tab):
    tab.upload(patients().to_csv(index=False).encode())
    assert tab.learn(patients(), positive="no").status_code == 200
    tab.wait("rules")
    result = tab.studio.session.result()
    assert [rule.name for rule in result.rules.rules if not rule.is_complement] == ["no"]
    assert "--positive no" in result.command


def test_progress_is_told_and_learning_can_be_cancelled(tab):
    tab.upload(patients(2000).to_csv(index=False).encode())
    assert tab.learn(patients()).status_code == 200
    process = tab.studio.session.learning._process
    with tab.client.stream("GET", tab.base + "events") as events:
        for line in events.iter_lines():
            told = json.loads(line.removeprefix("data: ")) if line else {}
            if (told.get("progress") or {}).get("share"):
                break
    assert re.fullmatch(r"(cutting|training|searching|reading).*", told["progress"]["words"])
    page = tab.act("cancel").json()
    assert (page["stage"], "Learning was cancelled." in page["main"]) == ("columns", True)
    assert not process.is_alive()
    assert not (tab.studio.session.work.folder / "model").exists()


def test_learning_goes_on_when_the_tab_is_closed(tabs):
    one = tabs()
    one.upload(TABLE)
    assert one.learn(patients()).status_code == 200
    one.client.close()
    one.wait("rules")
    with httpx.Client() as other:
        assert other.get(one.base + "main").json()["stage"] == "rules"


def test_what_stops_a_worker_is_one_sentence(tab, monkeypatch):
    frame = patients().assign(died=lambda rows: ["yes" if i == 0 else "no" for i in range(len(rows))])
    tab.upload(frame.to_csv(index=False).encode())
    assert tab.learn(frame).status_code == 200
    process = tab.studio.session.learning._process
    wait_until(lambda: process.pid is not None)
    os.kill(process.pid, signal.SIGKILL)
    tab.wait("columns")
    assert "Learning ended unexpectedly" in tab.get("main").json()["main"]


def test_two_tabs_see_each_other_and_none_overwrites(learned):
    before = learned.studio.session.revision
    rule = next(f"{at}-1" for at, one in enumerate(learned.studio.session.editor().rules.rules) if one.cubes)
    told: list[int] = []
    ready = threading.Event()

    def watch() -> None:
        with httpx.Client(timeout=20) as other, other.stream("GET", learned.base + "events") as events:
            for line in events.iter_lines():
                if line:
                    told.append(json.loads(line.removeprefix("data: "))["revision"])
                    ready.set()
                    if told[-1] > before:
                        return

    other_tab = threading.Thread(target=watch)
    other_tab.start()
    assert ready.wait(20)
    assert learned.act("edit", move="pin", rule=rule).status_code == 200
    other_tab.join(20)
    assert told == [before, before + 1]
    # The other tab still shows the rules before the edit.
    late = learned.act("edit", revision=before, move="remove", rule=rule)
    assert late.status_code == 409
    assert "changed in another tab" in late.json()["error"]
    assert "pinned" in late.json()["main"]
    assert len(learned.studio.session.editor().versions) == 2


@pytest.mark.parametrize("revision", ["stale", "", "-1", "x", "1.0", "9" * 5000])
@pytest.mark.parametrize("into", ["", "model"])
def test_an_upload_of_a_tab_that_is_behind_ends_nothing(tab, revision, into):
    before = tab.studio.session.revision
    tab.upload(TABLE)
    assert tab.learn(patients()).status_code == 200
    session = tab.studio.session
    work, learning, works = session.work, session.learning, sorted(session.root.iterdir())
    answer = tab.upload(b"a,b\n1,2\n", "other.csv", revision=revision.replace("stale", str(before)), into=into)
    assert answer.status_code == 409
    assert answer.json()["error"] == "the work has changed in another tab; the page now shows it: try again."
    assert answer.json()["revision"] == session.revision
    assert "Learning from patients.csv" in answer.json()["main"]
    assert (session.work, session.learning) == (work, learning)
    assert learning._process.is_alive()
    assert sorted(session.root.iterdir()) == works


def test_an_upload_that_another_tab_overtook_is_refused(tab):
    with begin_upload(tab.base, MANY) as plain:
        wait_until(lambda: uploaded(tab.studio.session.root) > 0)
        assert tab.act("example").json()["stage"] == "columns"
        plain.sendall(MANY[len(MANY) // 2 :])
        assert b" 409 " in plain.makefile("rb").readline()
    assert tab.studio.session.work.record.name == "tumours.csv"
    assert len(list(tab.studio.session.root.iterdir())) == 1


def test_an_upload_of_an_outdated_page_is_not_received(tab):
    assert tab.act("example").status_code == 200
    works = sorted(tab.studio.session.root.iterdir())
    with begin_upload(tab.base, MANY) as plain:
        # The answer comes before the second half is sent.
        plain.settimeout(10)
        answer = plain.makefile("rb").read()
    assert b" 409 " in answer.splitlines()[0]
    assert b"the work has changed in another tab" in answer
    assert sorted(tab.studio.session.root.iterdir()) == works


# Closing, killing and restoring -------------------------------------------------------------------------------------


def test_closing_removes_the_work_with_its_upload(learned):
    folder = learned.studio.session.work.folder
    assert learned.act("close").json()["stage"] == "start"
    assert not folder.exists()


def make_old(folder: Path, days: float) -> None:
    """Let every file of a work be some days older."""
    for path in folder.rglob("*"):
        changed = path.stat().st_mtime
        os.utime(path, (changed - days * 86_400,) * 2)


def test_works_older_than_seven_days_are_removed_unless_open(learned, tmp_path):
    root, key = learned.studio.session.root, learned.studio.session.work.key
    old, young = root / "00000000000000aa", root / "00000000000000bb"
    for folder in (old, young):
        shutil.copytree(root / key, folder)
    make_old(old, 7.1)
    make_old(young, 6.9)
    make_old(root / key, 7.1)
    Studio(root)
    assert sorted(path.name for path in root.iterdir()) == sorted([young.name, key])


def test_a_work_is_as_old_as_its_last_edit(learned, tabs):
    session = learned.studio.session
    make_old(session.work.folder, 8)
    rule = next(f"{at}-1" for at, one in enumerate(session.editor().rules.rules) if one.cubes)
    assert learned.act("edit", move="pin", rule=rule).status_code == 200
    learned.ends()
    again = tabs(session.root)
    [kept] = kept_works(session.root)
    assert kept.seconds < 60
    assert again.act("open", work=kept.key).status_code == 200
    assert len(again.studio.session.editor().versions) == 2


@pytest.mark.parametrize("moment", ["shown", "begun"])
def test_works_that_age_while_the_server_runs_are_removed(learned, tabs, moment):
    root, key = learned.studio.session.root, learned.studio.session.work.key
    old = root / "00000000000000aa"
    shutil.copytree(root / key, old)
    one = tabs(root)
    for folder in (old, root / key):
        make_old(folder, 7.1)
    assert (one.get("main") if moment == "shown" else one.upload(TABLE)).status_code == 200
    assert not old.exists()
    # Another studio has it open.
    assert learned.studio.session.work.upload.read_bytes() == TABLE


def test_an_open_work_stays_where_the_system_has_no_locks(learned, monkeypatch):
    monkeypatch.setattr("logiclens.studio.work.fcntl", None)
    make_old(learned.studio.session.work.folder, 8)
    assert learned.upload(b"", "broken.csv").status_code == 400
    assert learned.studio.session.work.upload.read_bytes() == TABLE


def test_one_studio_at_a_time_has_a_work_open(learned, tabs):
    other = tabs(learned.studio.session.root)
    answer = other.act("open", work=learned.studio.session.work.key)
    assert answer.json()["error"] == "another studio has this work open: close it there first."


def test_a_folder_of_another_kind_is_no_work(tab):
    root = tab.studio.session.root
    for number, content in enumerate((b"{", b"{}", b"[]", b'{"kind": "logiclens studio work", "schema": 9}')):
        folder = root / f"{number:016x}"
        folder.mkdir()
        (folder / RECORD).write_bytes(content)
    assert kept_works(root) == []
    assert tab.get("main").status_code == 200


def test_the_work_of_a_killed_server_is_restored(tmp_path, tabs):
    table = tmp_path / "patients.csv"
    table.write_bytes(patients(1500).to_csv(index=False).encode())
    root = tmp_path / "works"
    server = subprocess.Popen(
        [COMMAND, "studio", str(table), "--no-browser", "--work", str(root)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        address = server.stdout.readline().split()[-1]
        origin = address.rsplit("/", 2)[0]
        with httpx.Client(timeout=60) as client:
            revision = client.get(address + "main").json()["revision"]
            sent = {"revision": revision, "target": "3", "use": ["0", "1", "2"]}
            learning = client.post(address + "api/learn", json=sent, headers={"origin": origin})
            assert learning.json()["stage"] == "learning"
        workers = children(server.pid)
        server.kill()
        server.wait()
    finally:
        server.kill()
    one = tabs(root)
    [kept] = kept_works(root)
    assert (kept.name, kept.stage) == ("patients.csv", "learning")
    page = one.act("open", work=kept.key).json()
    assert page["stage"] == "columns"
    assert "Learning was interrupted: start it again." in page["main"]
    assert re.search(r'<option value="3"[^>]* selected>died', page["main"])
    # The worker has nobody to report to, and ends too.
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 60)


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found]


def test_ctrl_c_ends_the_command_with_its_worker(tmp_path):
    root = tmp_path / "works"
    server = subprocess.Popen(
        [COMMAND, "studio", "--no-browser", "--work", str(root)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    address = server.stdout.readline().split()[-1]
    with httpx.Client(timeout=60) as client:
        assert client.get(address).status_code == 200
    server.send_signal(signal.SIGINT)
    _, notes = server.communicate(timeout=20)
    assert server.returncode in (0, 130)
    assert "Traceback" not in notes


@pytest.mark.parametrize("given", ["nothing.csv", "broken.csv", "folder"])
def test_the_command_refuses_what_it_cannot_open(tmp_path, given):
    (tmp_path / "broken.csv").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    run = subprocess.run(
        [COMMAND, "studio", str(tmp_path / given), "--no-browser", "--work", str(tmp_path / "works")],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("logiclens: ")
    assert run.stderr.count("\n") == 1
    assert files_below(tmp_path / "works") == []


def test_an_address_can_be_opened_before_the_server_runs(tmp_path):
    _, bound = bound_server(Studio(tmp_path / "works"))
    with bound:
        socket.create_connection(bound.getsockname(), timeout=10).close()
