"""What a row of the proof is: an endpoint at a kind of provider."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.flows.charges.planned import Means, Plan
from tests.flows.site import CREDENTIAL

TEXT = frozenset({"prompt", "completion"})
# Prompts of embeddings and moderations.
PROMPT = Means(frozenset({"prompt"}))


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A kind of provider, and a model there."""

    kind: str
    # Behind the fake upstream's origin.
    path: str
    native_model: str
    means: Means
    credential: str = CREDENTIAL
    settings: dict[str, str] = field(default_factory=dict)
    # What tells it from another row of its kind, where the first letters of the model do not.
    place: str = ""


@dataclass(frozen=True)
class Row:
    """An endpoint at a provider. operation: what the endpoint's calls ask for."""

    endpoint: str
    operation: str
    plan: Plan
    provider: Provider

    @property
    def name(self) -> str:
        """The public name of the model, and the name of its provider."""
        place = self.provider.place or self.provider.native_model[:9]
        name = f"charges-{self.endpoint}-{self.provider.kind}-{place}"
        return "".join(char if char.isalnum() else "-" for char in name)


def like_openai(
    kind: str, native_model: str, means: Means, *, path: str = "", place: str = ""
) -> Provider:
    path = path or f"/{kind}/v1"
    return Provider(kind=kind, path=path, native_model=native_model, means=means, place=place)
