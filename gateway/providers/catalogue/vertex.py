"""What kinds of provider on Google Cloud's Vertex AI have in common: project, location, addresses.

Reference: https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations
"""

from __future__ import annotations

import re

from gateway.providers.catalogue.setting import ProviderSetting

VERTEX_SETTINGS = (
    ProviderSetting(
        "project",
        "Project ID",
        required=True,
        # Older ones have the name of a domain before them: example.com:project.
        pattern=re.compile(r"([a-z0-9.-]{1,63}:)?[a-z0-9][a-z0-9-]{3,28}[a-z0-9]"),
        help="The Google Cloud project that is billed.",
        example="my-project-123456",
        env_var="GOOGLE_CLOUD_PROJECT",
    ),
    ProviderSetting(
        "location",
        "Location",
        default="global",
        pattern=re.compile(r"[a-z]+(-[a-z]+[0-9]+)?"),
        help="A region, us, eu or global.",
        example="europe-west1",
        env_var="GOOGLE_CLOUD_LOCATION",
    ),
)
_PATH = "/v1/projects/{project}/locations/{location}"
VERTEX_ADDRESS = "https://{location}-aiplatform.googleapis.com" + _PATH
# Where a location is no part of the host's name, or another part of it.
VERTEX_ADDRESSES = (
    ("location", "global", "https://aiplatform.googleapis.com" + _PATH),
    ("location", "us", "https://aiplatform.us.rep.googleapis.com" + _PATH),
    ("location", "eu", "https://aiplatform.eu.rep.googleapis.com" + _PATH),
)
