"""Pages that are no text, or that are made to cost: the model is told, and the next is read."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.tools.asking import FETCH, ask, script, statuses, tool_events, upstream_nusd
from tests.support.web_pages import WebPages

MB = 2**20
NO_TEXT = "This URL has no text."
# What a page of harm comes to: the XML is shown as it is, with none of its entities followed.
PREVIEW = re.compile(
    r"The page has no readable text\.|The page takes too long to read\."
    r"|The response is larger than 20 MB\.|http://\S+: \d{1,3} characters"
)


def entities() -> bytes:
    """Return entities that multiply to a thousand million words, if anybody follows them."""
    names = "abcdefghij"
    lines = ['<!ENTITY a "boom boom boom boom">']
    for one, other in pairwise(names):
        lines.append(f'<!ENTITY {other} "{f"&{one};" * 10}">')
    return "".join(lines).encode()


NO_TEXTS: dict[str, bytes] = {
    "a film": b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41" + bytes(range(256)) * 4_000,
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100,
    "an archive": b"PK\3\4\x14\0\0\0\x08\0" + bytes(range(256)) * 100,
}
HOSTILE: dict[str, bytes] = {
    "21 MB": b"<html><body>" + b"<p>more</p>" * (21 * MB // 11),
    "many short paragraphs": b"<html><body>" + b"<p>more</p>" * (4 * MB // 11),
    "a million tags inside each other": b"<html><body>" + b"<div>" * 1_000_000 + b"deep",
    "a million open tags of text": b"<html><body>" + b"<b>x" * 1_000_000,
    "tables inside each other": b"<html><body>" + b"<table><tr><td>x" * 100_000,
    "a tag of a million attributes": b"<html><p " + b" ".join(b"a%d=1" % n for n in range(10**5)),
    "HTML with entities": b"<!DOCTYPE html [%b]><html><body><p>&j;&j;&j;</p></body></html>"
    % entities(),
    "XML with entities": b"<?xml version='1.0'?><!DOCTYPE x [%b]><x>&j;</x>" % entities(),
}


def run_of(caller: Caller, url: str) -> tuple[str, Any]:
    """Return what a fetch came to, and its call."""
    answer = ask(caller, script({"url": url}), FETCH | {"events": True})
    assert answer.status == 200, answer.body
    return str(tool_events(answer)[-1]["preview"]), answer


@pytest.mark.parametrize("case", NO_TEXTS)
def test_what_is_no_text_is_told_and_costs_nothing(
    tools_site: Site, caller: Caller, pages: WebPages, case: str
) -> None:
    pages.files["/no-text"] = NO_TEXTS[case]

    preview, answer = run_of(caller, pages.url("no-text"))

    record = tools_site.record(answer.call_id)
    assert (preview, statuses(record)) == (NO_TEXT, ["failed"])
    assert record["charge_nusd"] == upstream_nusd(tools_site, answer.call_id)


@pytest.mark.parametrize("case", HOSTILE)
def test_a_page_that_would_do_harm_is_read_within_bounds_or_refused(
    caller: Caller, pages: WebPages, case: str
) -> None:
    pages.files["/hostile"] = HOSTILE[case]

    preview, _ = run_of(caller, pages.url("hostile"))

    assert PREVIEW.fullmatch(preview), preview
    assert run_of(caller, pages.url("page"))[0].startswith("The lighthouse: ")
