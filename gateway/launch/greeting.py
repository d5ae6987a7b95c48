"""What `up` says when everything runs."""

from __future__ import annotations

import json
import shlex

from gateway import __version__
from gateway.launch.quickstart import Quickstart


def greeting(quickstart: Quickstart, *, origin: str, file: str, key_is_usable: bool) -> str:
    """Return the lines to print. `file` is where quickstart.json lies."""
    password = quickstart.password or "(the password you chose)"
    key = quickstart.api_key if key_is_usable else "(revoked or expired: create a new key)"
    return f"""
Tollhouse {__version__} is running.

  Sign in    {origin}/sign-in
  Email      {quickstart.email}
  Password   {password}

  API        {quickstart.base_url}
  Key        {key}
  Model      {quickstart.model}

Try it:

{curl_line(quickstart)}

These values are also in {file}. Press Ctrl-C to stop.
"""


def curl_line(quickstart: Quickstart) -> str:
    """Return a command that makes a first call when it is pasted into a shell."""
    body = {
        "model": quickstart.model,
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 64,
    }
    words = [
        *("curl", f"{quickstart.base_url}/chat/completions"),
        *("-H", f"Authorization: Bearer {quickstart.api_key}"),
        *("-H", "Content-Type: application/json"),
        *("-d", json.dumps(body)),
    ]
    return shlex.join(words)
