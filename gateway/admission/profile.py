"""Which compatibility profile a request gets. First match wins (gateway contract, section 3.1)."""

from __future__ import annotations

from gateway.admission.bearer import read_secret
from gateway.core.admission_steps import before_turn
from gateway.core.errors import InvalidKey, NotFound, RequestError
from gateway.core.profiles import BY_NAME, Profile, guess_by_prefix
from gateway.core.request import RequestHead
from gateway.snapshot.types import KeyRecord

HEADER = "X-Compat-Profile"


def choose_profile(head: RequestHead, key: KeyRecord | None, default: Profile) -> Profile:
    """Return the profile: of the header, the address, the key or its workspace, or the default.

    Without a known key it is guessed from what the presented one begins with.
    Raises RequestError for a header, and NotFound for an address, that names none of ours.
    """
    header = head.fields.get(b"x-compat-profile")
    named = "" if header is None else header.decode("latin-1").strip()
    if named and (key is None or key.may_override_profile):
        if named not in BY_NAME:
            unknown = RequestError(f"The profile {named[:64]} does not exist.", param=HEADER)
            raise before_turn(unknown, "key")
        return BY_NAME[named]
    if head.mount_profile:
        if head.mount_profile not in BY_NAME:
            absent = NotFound(f"The profile {head.mount_profile[:64]} does not exist.")
            raise before_turn(absent, "key")
        return BY_NAME[head.mount_profile]
    if key is not None:
        return BY_NAME.get(key.profile, default)
    return _guess(head, default)


def _guess(head: RequestHead, default: Profile) -> Profile:
    try:
        guessed = guess_by_prefix(read_secret(head).decode("latin-1"))
    except InvalidKey:
        return default
    return default if guessed.name == "unified" else guessed
