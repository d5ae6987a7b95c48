"""The list of models as Anthropic's API has it, for callers that say they speak it.

Reference: https://platform.claude.com/docs/en/api/models/list
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.http import HttpRequest, QueryDict

from gateway.api.schemas.anthropic_models import AnthropicModelList, write_anthropic_list
from gateway.core.errors import RequestError
from gateway.core.request import RequestHead
from gateway.snapshot.types import ModelRecord

VERSION_HEADER = "anthropic-version"
DEFAULT_MODELS = 20
MOST_MODELS = 1000
LIMIT = re.compile(r"[0-9]{1,4}")
LIFECYCLES = frozenset({"active", "deprecated", "retired"})


def speaks_anthropic(request: HttpRequest) -> bool:
    """True for callers that name a version of Anthropic's API, as its SDKs always do."""
    return VERSION_HEADER in request.headers


def names_version(head: RequestHead) -> bool:
    """Do the same for a request that no view reads."""
    return bool(head.first(VERSION_HEADER.encode()))


def list_models(query: QueryDict, models: Sequence[ModelRecord]) -> AnthropicModelList:
    """Return the page that is asked for, the newest models first. Raises RequestError."""
    if not _read_lifecycles(query) >= {"active"}:
        return write_anthropic_list([], has_more=False)
    models = sorted(models, key=lambda model: (-model.created, model.name))
    names = [model.name for model in models]
    limit = read_limit(query)
    after, before = _read_cursor(query, "after_id", names), _read_cursor(query, "before_id", names)
    if after is not None and before is not None:
        message = "Only one of after_id and before_id can be set."
        raise RequestError(message, param="before_id")
    if before is not None:
        start = max(0, before - limit)
        return write_anthropic_list(models[start:before], has_more=start > 0)
    start = 0 if after is None else after + 1
    end = start + limit
    return write_anthropic_list(models[start:end], has_more=len(models) > end)


def read_limit(query: QueryDict) -> int:
    """Raises RequestError."""
    limit = read_one(query, "limit")
    if limit is None:
        return DEFAULT_MODELS
    if not LIMIT.fullmatch(limit) or not 1 <= int(limit) <= MOST_MODELS:
        raise RequestError(f"limit must be a number from 1 to {MOST_MODELS}.", param="limit")
    return int(limit)


def _read_cursor(query: QueryDict, name: str, names: Sequence[str]) -> int | None:
    """Return where the model is in the list. Raises RequestError."""
    cursor = read_one(query, name)
    if cursor is None:
        return None
    if cursor not in names:
        raise RequestError(f"{name} is not a model of this list.", param=name)
    return names.index(cursor)


def _read_lifecycles(query: QueryDict) -> set[str]:
    """Return the stages of the models that are asked for. Raises RequestError."""
    stages = {*query.getlist("lifecycle"), *query.getlist("lifecycle[]")}
    if not stages <= LIFECYCLES:
        message = f"lifecycle must be {', '.join(sorted(LIFECYCLES))}."
        raise RequestError(message, param="lifecycle")
    return stages or {"active"}


def read_one(query: QueryDict, name: str) -> str | None:
    """Raises RequestError."""
    if len(query.getlist(name)) > 1:
        raise RequestError(f"{name} was sent twice.", param=name)
    return query.get(name)
