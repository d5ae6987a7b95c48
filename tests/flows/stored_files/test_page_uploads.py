"""An upload by the page Files: nothing of it is ever on a disk in plain text."""

from __future__ import annotations

import re
import threading
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from gateway.core.forms import FormPart, write_form
from tests.flows.site import Site, running_site
from tests.flows.stored_files.asking import SCOPES, get
from tests.flows.test_sessions import PASSWORD, Visitor
from tests.support.small_disk import mounted
from tests.support.waiting import wait_until

MB = 1024 * 1024
MARK = b"the secret recipe of the bakery"
CONTENT = b"".join(b"%b, line %07d\n" % (MARK, number) for number in range(6 * MB // 46))
EMAIL = "baker@example.com"


class OpenFiles:
    """The regular files that a process has open in a folder, those without a name among them."""

    def __init__(self, pid: int, folder: Path) -> None:
        self._links = Path(f"/proc/{pid}/fd")
        self._folder = f"{folder}/"
        self.largest_bytes = 0
        self.has_plain_text = False

    def look(self) -> int:
        """Look at all of them. Returns the size of the largest that was ever there."""
        for link in list(self._links.iterdir()):
            try:
                if str(link.readlink()).startswith(self._folder):
                    content = link.read_bytes()
                    self.largest_bytes = max(self.largest_bytes, len(content))
                    self.has_plain_text = self.has_plain_text or MARK in content
            except OSError:
                continue  # it was closed meanwhile
        return self.largest_bytes

    def watch(self, over: threading.Event) -> None:
        while not over.wait(0.01):
            self.look()


def test_a_page_writes_no_plain_text(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    with running_site(home, {"TMPDIR": str(folder)}) as site:
        files = OpenFiles(site.gateway.process.pid, folder)
        caller = site.caller(scopes=SCOPES)
        person = {"email": EMAIL, "password": PASSWORD, "role": "developer"}
        site.office.do("person", workspace_id=caller.workspace_id, **person)

        status = upload_by_page(site, files)
        [file] = get(caller).json["data"]
        content = get(caller, f"/{file['id']}/content").body
        left = [path for path in folder.rglob("*") if path.is_file()]

    assert status == 302
    assert (file["filename"], content) == ("recipes.txt", CONTENT)
    assert files.largest_bytes > len(CONTENT) // 2
    assert not files.has_plain_text
    assert left == []
    assert not any(MARK in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_full_disk_is_said(home: Path, tmp_path: Path) -> None:
    """The body does not fit, or what is in it beside the body."""
    with mounted(tmp_path / "small", 6) as disk, running_site(home, {"TMPDIR": str(disk)}) as site:
        caller = site.caller(scopes=SCOPES)
        person = {"email": EMAIL, "password": PASSWORD, "role": "developer"}
        site.office.do("person", workspace_id=caller.workspace_id, **person)
        visitor = Visitor(site.gateway.port)
        assert visitor.sign_in(EMAIL)

        answers = [send_form(visitor, site.gateway.port, b"x" * size) for size in (8 * MB, 4 * MB)]
        fits = send_form(visitor, site.gateway.port, b"x" * MB)

    assert [status for status, _ in answers] == [503, 503]
    assert all("The disk of the server is full." in text for _, text in answers)
    assert fits[0] == 302


def send_form(visitor: Visitor, port: int, content: bytes) -> tuple[int, str]:
    path, headers, body = form_of_page(visitor, content)
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def form_of_page(visitor: Visitor, content: bytes) -> tuple[str, dict[str, str], bytes]:
    """Return address, headers and body of an upload by the page."""
    path = f"{visitor.workspace}/files/upload"
    visitor.get(path)
    tokens = re.findall(r'name="(csrfmiddlewaretoken|token)" value="([^"]+)"', visitor.text)
    hidden = [FormPart(name, text.encode()) for name, text in dict(tokens).items()]
    kind, body = write_form(
        [
            *hidden,
            FormPart("purpose", b"user_data"),
            FormPart("file", content, "recipes.txt", "text/plain"),
        ]
    )
    cookies = "; ".join(f"{name}={text}" for name, text in visitor.cookies.items())
    headers = {"cookie": cookies, "content-type": kind, "content-length": str(len(body))}
    return path, headers, body


def upload_by_page(site: Site, files: OpenFiles) -> int:
    """Upload it, looking at the files of the server half-way and until it has answered."""
    visitor = Visitor(site.gateway.port)
    assert visitor.sign_in(EMAIL)
    path, headers, body = form_of_page(visitor, CONTENT)
    most = len(body) - MB
    over = threading.Event()
    with closing(HTTPConnection("127.0.0.1", site.gateway.port, timeout=60)) as connection:
        connection.putrequest("POST", path)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body[:most])
        wait_until(lambda: files.look() > most // 2, what="the body to be in a file")
        watching = threading.Thread(target=files.watch, args=[over])
        watching.start()
        try:
            connection.send(body[most:])
            status = connection.getresponse().status
        finally:
            over.set()
            watching.join()
    return status
