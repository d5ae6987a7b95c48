"""Calls to paste into a shell or a program, with a key that was just made."""

from __future__ import annotations

import json

from django.conf import settings
from django.http import HttpRequest


def curl_line(request: HttpRequest, secret: str, model: str) -> str:
    """Return a call to paste into a shell: one line each for address, key and question."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello!"}]})
    quoted = body.replace("'", "'\\''")
    return (
        f"curl {base_url(request)}/v1/chat/completions \\\n"
        f"  -H 'Authorization: Bearer {secret}' \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d '{quoted}'"
    )


def python_lines(request: HttpRequest, secret: str, model: str) -> str:
    """Return the same call with the official SDK."""
    return (
        "from openai import OpenAI\n\n"
        f'client = OpenAI(base_url="{base_url(request)}/v1", api_key="{secret}")\n'
        "answer = client.chat.completions.create(\n"
        f"    model={json.dumps(model)},\n"
        '    messages=[{"role": "user", "content": "Hello!"}],\n'
        ")\n"
        "print(answer.choices[0].message.content)"
    )


def base_url(request: HttpRequest) -> str:
    """Return where callers reach us: the public address, or the one this page came from."""
    public: str = settings.PUBLIC_URL
    return (public or f"{request.scheme}://{request.get_host()}").rstrip("/")
