"""Which episode a call belongs to, by its body and its headers."""

from __future__ import annotations

from uuid import UUID

import pytest

from gateway.core.errors import RequestError
from gateway.http.headers import read_episode
from tests.fuzz.targets import head_of

ONE, OTHER = str(UUID(int=1)), str(UUID(int=2))


@pytest.mark.parametrize(
    ("header", "body", "episode"),
    [(ONE, None, ONE), ("", ONE, ONE), (ONE, OTHER, OTHER), (f"{{{ONE}}}", None, ONE)],
)
def test_the_body_is_preferred(header: str, body: str | None, episode: str) -> None:
    assert read_episode(head_of((b"x-episode-id", header.encode())), body) == episode


def test_a_call_that_names_none_gets_a_fresh_one() -> None:
    assert UUID(read_episode(head_of(), None)).version == 7


@pytest.mark.parametrize(
    ("header", "body", "param"),
    [
        ("QJ|", None, "x-episode-id"),
        ("QJ|", ONE, "x-episode-id"),
        ("", "QJ|", "tensorzero::episode_id"),
        ("ffffffff-ffff-7fff-bfff-ffffffffffff", None, "x-episode-id"),
    ],
)
def test_what_is_no_episode_is_refused(header: str, body: str | None, param: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_episode(head_of((b"x-episode-id", header.encode())), body)

    assert caught.value.param == param
