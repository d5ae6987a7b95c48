"""A token is renewed ahead of its end, by one request whoever waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from gateway.providers.credentials import refreshed_token
from gateway.providers.credentials.refreshed_token import NoToken, RefreshedToken
from gateway.providers.credentials.token import Token, TokenError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes minutes takes milliseconds."""
    monkeypatch.setattr(refreshed_token, "MARGIN_S", 0.0)
    monkeypatch.setattr(refreshed_token, "PAUSE_S", 0.02)
    monkeypatch.setattr(refreshed_token, "WAIT_S", 0.2)
    monkeypatch.setattr(refreshed_token, "REPLACE_EVERY_S", 60.0)


class Issuer:
    """Gives out numbered tokens, or raises."""

    def __init__(self, life_s: float = 3600.0) -> None:
        self.life_s = life_s
        self.asked = 0
        self.delay_s = 0.0
        self.error: Exception | None = None
        self.notes: list[str] = []
        self.token = RefreshedToken("credential c1", self.fetch, self.notes.append)

    async def fetch(self) -> Token:
        self.asked += 1
        await asyncio.sleep(self.delay_s)
        if self.error is not None:
            raise self.error
        return Token(f"token-{self.asked}", self.life_s)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.token.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)


async def test_all_who_wait_share_one_request(issuer: Issuer) -> None:
    issuer.delay_s = 0.02

    found = await asyncio.gather(*(issuer.token.wait() for _ in range(20)))

    assert found == ["token-1"] * 20
    assert issuer.asked == 1


async def test_it_is_renewed_while_the_one_before_still_holds(issuer: Issuer) -> None:
    issuer.life_s = 0.4
    await issuer.token.wait()
    values = set()

    def has_been_renewed() -> bool:
        values.add(issuer.token.value)
        return issuer.asked == 3

    await until(has_been_renewed)
    assert "" not in values


async def test_a_renewal_that_fails_is_tried_again_and_the_one_before_serves(
    issuer: Issuer,
) -> None:
    issuer.life_s = 2.0
    await issuer.token.wait()
    issuer.error = TokenError("the token endpoint answered 500")
    await until(lambda: bool(issuer.notes))
    assert issuer.token.value == "token-1"

    issuer.error = None

    await until(lambda: issuer.token.value not in ("", "token-1"))
    assert issuer.notes == ["the token endpoint answered 500", ""]


async def test_calls_do_not_wait_longer_than_they_may(issuer: Issuer) -> None:
    issuer.delay_s = 30.0

    with pytest.raises(NoToken, match="does not answer in time"):
        await issuer.token.wait()


async def test_while_there_is_none_to_be_had_nobody_waits(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshed_token, "PAUSE_S", 60.0)
    issuer.token = RefreshedToken("credential c1", issuer.fetch, issuer.notes.append)
    issuer.error = TokenError("the token endpoint answered 401 (invalid_grant)")

    for _ in range(5):
        with pytest.raises(NoToken, match=r"answered 401 \(invalid_grant\)"):
            await issuer.token.wait()

    assert issuer.asked == 1


async def test_what_goes_wrong_unforeseen_says_nothing_of_itself(issuer: Issuer) -> None:
    issuer.error = RuntimeError("the key is hunter2")

    with pytest.raises(NoToken, match="making the token failed"):
        await issuer.token.wait()

    assert "hunter2" not in str(issuer.notes)


async def test_a_refused_token_is_replaced_once_for_all_who_had_it(issuer: Issuer) -> None:
    await issuer.token.wait()
    issuer.delay_s = 0.02

    found = await asyncio.gather(*(issuer.token.replace("token-1") for _ in range(10)))

    assert found == ["token-2"] * 10
    # Once it is refused, too, the provider refuses them all.
    assert await issuer.token.replace("token-2") == ""
    assert issuer.asked == 2
