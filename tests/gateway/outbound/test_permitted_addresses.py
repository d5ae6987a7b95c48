"""Which addresses are public, as data: every special range, its edges, and every disguise."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from gateway.outbound.permitted_addresses import is_metadata, is_public, may_connect, read_networks

PUBLIC = [
    *(
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
    ),
    *(
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
    ),
    *(
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
    ),
    *(
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
    ),
    *(
        "2606:4700:4700::1111",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2001:db7::1",
        "2001:db9::1",
        "2003::1",
        "2a00::1",
    ),
    *("3ffe::1", "3fff:1000::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2606:4700::5eff:808:808"),
]
NOT_PUBLIC = [
    *(
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.1.2.3",
        "10.255.255.255",
        "100.64.0.0",
        "100.100.100.200",
    ),
    *(
        "100.127.255.255",
        "127.0.0.0",
        "127.0.0.1",
        "127.255.255.255",
        "168.63.129.16",
        "169.254.0.0",
        "169.254.169.254",
    ),
    *(
        "169.254.170.2",
        "169.254.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.0",
        "192.0.0.192",
        "192.0.0.255",
    ),
    *(
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.1",
    ),
    *(
        "203.0.113.1",
        "224.0.0.0",
        "224.0.0.251",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.254",
        "255.255.255.255",
    ),
    *(
        "::",
        "::1",
        "::2",
        "::127.0.0.1",
        "::8.8.8.8",
        "100::1",
        "100:0:0:1::1",
        "fc00::1",
        "fd00:ec2::254",
        "fdff::1",
        "fe80::1",
    ),
    *(
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
        "4000::1",
        "5f00::1",
        "64:ff9a::1",
        "64:ff9b:1::8.8.8.8",
    ),
    *(
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0.0.0.0",
        "::ffff:7f00:1",
    ),
    *("::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1"),
    *("64:ff9b::169.254.169.254", "2002::1", "2002:7f00:1::1", "2002:a00:1::1", "2002:808:808::1"),
    *(
        "2001::1",
        "2001:0:7f00:1::1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
    ),
    *("2001:1ff:ffff::1", "2001:db8::1", "2001:db8:ffff::1", "3fff::1", "3fff:fff::1"),
    *("2606:4700::5efe:127.0.0.1", "2606:4700::200:5efe:10.0.0.1", "2606:4700::5efe:8.8.8.8"),
]


@pytest.mark.parametrize("text", PUBLIC)
def test_hosts_of_the_internet_may_be_asked(text: str) -> None:
    assert is_public(ip_address(text))
    assert may_connect(ip_address(text), 443, ())
    assert may_connect(ip_address(text), 80, ())


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_everything_else_may_not(text: str) -> None:
    assert not is_public(ip_address(text))
    assert not may_connect(ip_address(text), 443, ())


@pytest.mark.parametrize("port", [0, 1, 22, 25, 53, 3306, 5432, 6379, 8000, 8080, 9200, 65535])
def test_ports_that_are_not_the_webs_are_nobodys(port: int) -> None:
    assert not may_connect(ip_address("8.8.8.8"), port, ())


def test_networks_that_an_operator_allows_are_open_at_any_port_and_nothing_else_is() -> None:
    allowed = read_networks(["10.1.0.0/16", "fd00:1::/32"])

    for text in ("10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd00:1::5"):
        assert may_connect(ip_address(text), 9000, allowed)
    for text in ("10.2.0.1", "127.0.0.1", "fd00:2::1", "::1", "169.254.169.254"):
        assert not may_connect(ip_address(text), 80, allowed)
    assert may_connect(ip_address("8.8.8.8"), 443, allowed)
    assert not may_connect(ip_address("8.8.8.8"), 9000, allowed)


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="does not appear to be"):
        read_networks(["somewhere"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in ("169.254.169.254", "169.254.0.0", "fe80::1", "febf::1")),
        *((text, True) for text in ("fd00:ec2::254", "fd20:ce::254", "100.100.100.200")),
        *((text, True) for text in ("168.63.129.16", "::ffff:169.254.169.254", "fe80::1%eth0")),
        *((text, True) for text in ("64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::a9fe:a9fe")),
        *((text, True) for text in ("2001:db8::5efe:169.254.169.254",)),
        *((text, False) for text in ("127.0.0.1", "10.0.0.1", "192.168.1.1", "8.8.8.8", "::1")),
        *((text, False) for text in ("fd00::1", "169.253.0.1", "100.100.100.201", "2002:a00::")),
    ],
)
def test_where_a_machine_learns_its_credentials(text: str, expected: bool) -> None:
    assert is_metadata(ip_address(text)) is expected
