"""How far a key reaches: what is within another's reach, drawn at random and tried out."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from keys.policy import Reach, find_wider
from keys.rules import read_network

NETWORKS = [None, [], ["203.0.113.0/24"], ["203.0.113.7"], ["2001:db8::/32"], ["203.0.112.0/23"]]
ADDRESSES = ["203.0.113.7", "203.0.113.9", "203.0.112.1", "2001:db8::7", "198.51.100.1"]
reaches = st.builds(
    Reach,
    scopes=st.none() | st.frozensets(st.sampled_from("abc")),
    models=st.none() | st.frozensets(st.sampled_from("mno"), min_size=1),
    networks=st.sampled_from(NETWORKS).map(
        lambda rules: None if rules is None else tuple(read_network(rule) for rule in rules)
    ),
    limits=st.fixed_dictionaries(
        {
            "max_requests_per_minute": st.none() | st.integers(1, 3),
            "burst": st.none() | st.integers(1, 3),
            "daily_limit_nusd": st.none() | st.integers(1, 3),
        }
    ),
    allows_chat_template=st.booleans(),
    expires_at=st.none(),
    fixed_profile=st.none(),
)


@settings(max_examples=200)
@given(inner=reaches, outer=reaches)
def test_one_reach_is_within_another_when_all_that_it_lets_through_is(
    inner: Reach, outer: Reach
) -> None:
    assert (not find_wider(inner, outer)) == (set(_let_through(inner)) <= set(_let_through(outer)))


def _let_through(reach: Reach) -> set[tuple[str, object]]:
    """Return samples of what a key of this reach may do."""
    through: set[tuple[str, object]] = set()
    through |= {("scope", x) for x in "abcd" if reach.scopes is None or x in reach.scopes}
    through |= {("model", x) for x in "mnop" if reach.models is None or x in reach.models}
    for text in ADDRESSES:
        address = read_network(text)
        inside = reach.networks is None or any(
            address.version == each.version and address.subnet_of(each)  # type: ignore[arg-type]
            for each in reach.networks
        )
        through |= {("from", text)} if inside else set()
    for name, most in reach.limits.items():
        through |= {(name, n) for n in range(1, 5) if most is None or n <= most}
    return through | ({("chat template", True)} if reach.allows_chat_template else set())
