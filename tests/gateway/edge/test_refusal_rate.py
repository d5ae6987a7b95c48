"""Refusals of one client are spread over time; nobody else's answer waits."""

from __future__ import annotations

from ipaddress import ip_network

from gateway.edge.refusal_rate import MAX_DELAY_S, MAX_SUBNETS, RefusalRate

CLIENT = {"client": ("203.0.113.7", 1), "headers": []}
OTHER = {"client": ("203.0.113.8", 1), "headers": []}


def test_refusals_within_the_rate_do_not_wait() -> None:
    rate = RefusalRate(10, ())

    delays = [rate.delay_s(404, CLIENT, now=100.0 + number / 10) for number in range(100)]

    assert delays == [0.0] * 100


def test_refusals_beyond_the_rate_wait_longer_and_longer_up_to_a_bound() -> None:
    rate = RefusalRate(10, ())

    delays = [rate.delay_s(401, CLIENT, now=100.0) for _ in range(200)]

    assert delays[:3] == [0.0] * 3
    assert delays == sorted(delays)
    assert round(delays[13], 3) == 1.05
    assert delays[-1] == MAX_DELAY_S
    assert rate.delay_s(404, CLIENT, now=110.0) == 0.0


def test_nobody_else_and_no_other_answer_waits() -> None:
    rate = RefusalRate(10, ())
    for _ in range(200):
        rate.delay_s(400, CLIENT, now=100.0)

    assert rate.delay_s(400, OTHER, now=100.0) == 0.0
    assert rate.delay_s(200, CLIENT, now=100.0) == 0.0
    assert rate.delay_s(502, CLIENT, now=100.0) == 0.0


def test_callers_behind_a_proxy_are_told_apart() -> None:
    rate = RefusalRate(10, (ip_network("10.0.0.0/8"),))
    flooding = {"client": ("10.0.0.1", 1), "headers": [(b"x-forwarded-for", b"203.0.113.7")]}
    calm = {"client": ("10.0.0.1", 1), "headers": [(b"x-forwarded-for", b"203.0.113.8")]}
    for _ in range(200):
        rate.delay_s(400, flooding, now=100.0)

    assert rate.delay_s(400, flooding, now=100.0) == MAX_DELAY_S
    assert rate.delay_s(400, calm, now=100.0) == 0.0


def test_only_so_many_clients_are_remembered() -> None:
    rate = RefusalRate(10, ())

    for number in range(MAX_SUBNETS + 10):
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        rate.delay_s(404, {"client": (address, 1), "headers": []}, now=100.0)

    assert len(rate._empty_at) == MAX_SUBNETS
