"""The list of files as Anthropic's API has it, for callers that say they speak it.

Reference: https://platform.claude.com/docs/en/api/beta/files/list
Its SDKs go on by `page`, older ones by `after_id` and `before_id`.
"""

from __future__ import annotations

from uuid import UUID

from django.http import QueryDict

from gateway.api.anthropic_models import read_limit, read_one
from gateway.api.schemas.anthropic_files import PAGE, AnthropicFileList, write_anthropic_files
from gateway.core.errors import RequestError
from gateway.selectors.files import find_cursor, find_files, list_files

CURSORS = ("after_id", "before_id", "page")
MOST_IDS = 100


def list_anthropic_files(query: QueryDict, workspace_id: UUID) -> AnthropicFileList:
    """Return the files that are asked for, the newest first. Raises RequestError."""
    ids = list(dict.fromkeys([*query.getlist("ids"), *query.getlist("ids[]")]))
    given = {name: value for name in CURSORS if (value := read_one(query, name)) is not None}
    if ids:
        return _list_named(query, ids, workspace_id, given)
    limit = read_limit(query)
    if len(given) > 1:
        raise RequestError(f"Only one of {' and '.join(given)} can be set.", param=list(given)[1])
    [(name, cursor)] = given.items() or [("", "")]
    place = _find_place(name, cursor, workspace_id)
    page = list_files(workspace_id, limit=limit, after=place, ascending=name == "before_id")
    if name == "before_id":
        # What the page was asked for with is older than it.
        return write_anthropic_files(page.files[::-1], has_more=page.has_more, goes_on=True)
    return write_anthropic_files(page.files, has_more=page.has_more, goes_on=page.has_more)


def _list_named(
    query: QueryDict, ids: list[str], workspace_id: UUID, given: dict[str, str]
) -> AnthropicFileList:
    others = [*given, *(["limit"] if "limit" in query else [])]
    if others:
        raise RequestError(f"Only one of ids and {others[0]} can be set.", param=others[0])
    if len(ids) > MOST_IDS:
        raise RequestError(f"ids can have at most {MOST_IDS} IDs.", param="ids")
    return write_anthropic_files(find_files(workspace_id, ids), has_more=False, goes_on=False)


def _find_place(name: str, cursor: str, workspace_id: UUID) -> UUID | None:
    """Return the file that the page begins behind; None for the first page."""
    if not name:
        return None
    place = find_cursor(workspace_id, cursor.removeprefix(PAGE) if name == "page" else cursor)
    if place is None:
        raise RequestError(f"{name} is not a file of this list.", param=name)
    return place
