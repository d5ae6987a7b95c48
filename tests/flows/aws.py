"""Providers of Amazon Web Services, as operators enter them."""

from __future__ import annotations

import json

from tests.fakes.bedrock.serving import REGION
from tests.fakes.bedrock.signatures import ACCESS_KEY_ID, SECRET_ACCESS_KEY

__all__ = ["AWS_KEYS", "HOSTED_OPENAI", "HOSTED_TGI", "REGION"]
# A credential that signs requests.
AWS_KEYS = json.dumps(
    {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET_ACCESS_KEY},
    separators=(",", ":"),
)
# Settings of SageMaker, by what serves behind an endpoint.
HOSTED_OPENAI = {"region": REGION, "hosted_provider": "openai"}
HOSTED_TGI = {"region": REGION, "hosted_provider": "tgi"}
