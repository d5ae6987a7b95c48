"""Every kind of provider, a row each: facts that both sides need, no behaviour.

The data plane finds the dialect's adapter by `dialect` (gateway.providers.registry); the control
plane checks what people enter. Adding a look-alike is adding a row.
"""

from __future__ import annotations

from gateway.providers.catalogue import (
    anthropic,
    aws,
    azure,
    cohere,
    embedders,
    google,
    openai,
    openai_like,
    self_hosted,
    simulated,
    xai,
)
from gateway.providers.catalogue.kind import ModelFamily, ProviderKind
from gateway.providers.catalogue.setting import ProviderSetting
from gateway.providers.catalogue.simulated import SIMULATED

__all__ = ["ALL", "BY_NAME", "SIMULATED", "ModelFamily", "ProviderKind", "ProviderSetting"]

# In the order in which forms offer them.
ALL: tuple[ProviderKind, ...] = (
    *openai.KINDS,
    *azure.KINDS,
    *anthropic.KINDS,
    *google.KINDS,
    *aws.KINDS,
    *cohere.KINDS,
    *embedders.KINDS,
    *openai_like.KINDS,
    *xai.KINDS,
    *self_hosted.KINDS,
    *simulated.KINDS,
)
BY_NAME: dict[str, ProviderKind] = {kind.name: kind for kind in ALL}
