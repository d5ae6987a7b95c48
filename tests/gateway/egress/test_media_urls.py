"""Pictures that a provider fetches: from where one of our own may be sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from gateway.core.errors import InvalidFile
from gateway.core.money import Price
from gateway.egress.media_urls import MediaUrls
from gateway.outbound.permitted_addresses import read_networks
from gateway.snapshot.types import TargetRecord

NAMES = {
    "public.example": ["93.184.215.14", "2606:4700::1111"],
    "inside.example": ["10.0.0.7"],
    "both.example": ["93.184.215.14", "192.168.1.1"],
    "pictures.example": ["10.9.0.1"],
}
PARAM = "messages[0].content[0].image_url.url"


def look_up(host: str, port: int) -> list[str]:
    if host not in NAMES:
        raise OSError("no such name")
    return NAMES[host]


def target(base_url: str, *, is_local: bool = False) -> TargetRecord:
    price = Price(input_pusd=0, cached_input_pusd=0, output_pusd=0)
    return TargetRecord(
        model="m",
        provider="p",
        kind="vllm",
        base_url=base_url,
        native_model="m",
        price=price,
        is_local=is_local,
    )


OURS = [
    target("http://10.9.0.1:8000/v1"),
    target("http://127.0.0.1:8000/v1"),
    target("http://[::1]:8000/v1"),
    target("http://10.0.0.7:8000/v1"),
    target("http://inside.example/v1"),
    target("http://both.example/v1"),
    target("http://unknown.example/v1"),
    target("https://public.example/v1", is_local=True),
]
INSIDE = [
    *("http://127.0.0.1/a", "http://10.0.0.1:9000/a", "http://[::1]/a", "http://192.168.0.1/a"),
    *("http://169.254.169.254/latest", "http://2130706433/", "http://0x7f.1/", "http://[fe80::1]/"),
    *("http://inside.example/a", "https://both.example/a", "http://unknown.example/a"),
    *("http://localhost/a", "http://a@public.example/", "http://[::ffff:10.0.0.1]/"),
]
OUTSIDE = [
    *("https://public.example/a.png", "http://93.184.215.14:8080/a", "https://[2606:4700::1111]/"),
    *("http://10.9.1.1/a.png", "http://pictures.example/a.png"),
]


@pytest.fixture
def media() -> Iterator[MediaUrls]:
    with closing(MediaUrls(read_networks(["10.9.0.0/16"]), look_up=look_up)) as media:
        yield media


@pytest.mark.parametrize("url", INSIDE)
@pytest.mark.parametrize("ours", OURS, ids=lambda target: target.base_url)
async def test_a_provider_of_ours_is_not_sent_inside(
    media: MediaUrls, ours: TargetRecord, url: str
) -> None:
    public = target("https://public.example/v1")
    urls = [("a", "https://public.example/"), (PARAM, url)]

    with pytest.raises(InvalidFile) as refused:
        await media.check(urls, [public, ours], "w", may_go_elsewhere=False)

    assert refused.value.param == PARAM


@pytest.mark.parametrize("url", OUTSIDE)
async def test_a_provider_of_ours_is_sent_to_public_addresses(media: MediaUrls, url: str) -> None:
    await media.check([(PARAM, url)], OURS[:1], "w", may_go_elsewhere=False)


async def test_a_companys_provider_sees_nothing_of_our_network(media: MediaUrls) -> None:
    companies = [target("https://public.example/v1"), target("simulated://local")]

    await media.check([(PARAM, url) for url in INSIDE], companies, "w", may_go_elsewhere=False)


async def test_a_call_that_may_go_elsewhere_may_go_to_one_of_ours(media: MediaUrls) -> None:
    with pytest.raises(InvalidFile):
        await media.check(
            [(PARAM, INSIDE[0])], [target("https://public.example/v1")], "w", may_go_elsewhere=True
        )
