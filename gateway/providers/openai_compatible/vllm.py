"""vLLM's guided decoding in its two spellings, either from either.

vLLM 0.12 removed guided_json and its siblings for one object, structured_outputs; the backend
has no place there any more. Which spelling a server wants is a setting of its
provider, or follows from the version that it reports (gateway.services.vllm_versions).
Reference: https://docs.vllm.ai/en/latest/features/structured_outputs.html
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

SPELLINGS: Mapping[str, str] = {
    "json": "guided_json",
    "regex": "guided_regex",
    "choice": "guided_choice",
    "grammar": "guided_grammar",
    "structural_tag": "structural_tag",
    "whitespace_pattern": "guided_whitespace_pattern",
}
GUIDED = frozenset({*SPELLINGS.values(), "guided_decoding_backend", "structured_outputs"})


def dropped(fields: Mapping[str, bytes], dialect: str) -> set[str]:
    """Return the names that the dialect has no word for."""
    backend = fields.get("guided_decoding_backend", b"null")
    if dialect == "structured_outputs" and backend != b"null":
        return {"guided_decoding_backend"}
    return set()


def respell(fields: Mapping[str, bytes], dialect: str) -> dict[str, bytes | None]:
    """Return the fields that say the caller's constraints in the dialect (guided or
    structured_outputs); None leaves one out. Empty when there are none."""
    given = GUIDED.intersection(fields)
    if not given:
        return {}
    constraints = read_constraints(fields)
    said: dict[str, bytes | None] = dict.fromkeys(given)
    if dialect == "structured_outputs":
        if constraints:
            said["structured_outputs"] = msgspec.json.encode(constraints)
        return said
    for name, value in constraints.items():
        if name == "structural_tag" and not isinstance(value, str):
            value = msgspec.json.encode(value).decode()
        said[SPELLINGS[name]] = msgspec.json.encode(value)
    if fields.get("guided_decoding_backend", b"null") != b"null":
        said["guided_decoding_backend"] = fields["guided_decoding_backend"]
    return said


def read_constraints(fields: Mapping[str, bytes]) -> dict[str, object]:
    """Return what the answer is held to, by the names inside structured_outputs."""
    constraints: dict[str, object] = msgspec.json.decode(fields.get("structured_outputs") or b"{}")
    constraints = {name: value for name, value in (constraints or {}).items() if value is not None}
    for name, spelling in SPELLINGS.items():
        if (value := msgspec.json.decode(fields.get(spelling, b"null"))) is not None:
            constraints[name] = value
    return constraints
