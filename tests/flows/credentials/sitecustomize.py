"""Registers kinds of provider that speak OpenAI's dialect and have accounts as credentials, in
every process whose PYTHONPATH has this folder."""

from __future__ import annotations

from gateway.providers.catalogue import BY_NAME, ProviderKind, ProviderSetting

REGION = ProviderSetting("region", "Region", default="eu-west-1")

for credential in ("google", "aws", "entra"):
    BY_NAME[f"with_{credential}"] = ProviderKind(
        f"with_{credential}",
        f"With {credential}",
        credential=credential,
        needs_credential=False,
        settings=(REGION,),
    )
