"""GET /key: what an API key is, and what it and those around it may still spend."""

from __future__ import annotations

import time

from django.db import Error as DatabaseError
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.schemas.key import KeyReport, KeyResponse, write_budget, write_key
from gateway.api.views import KeyView, answers
from gateway.core.budget_owner import Level
from gateway.core.errors import DatabaseUnavailable
from gateway.core.processor_rules import NO_RULES
from gateway.selectors.budget_lines import budget_lines, holders_over, owner_of
from gateway.selectors.mcp_servers import default_plugins
from gateway.snapshot.caller import Caller
from keys.models import ApiKey, Scope


class KeyInfoView(KeyView):
    """Get the API key itself, the budgets that its calls are charged to, the processors that they
    go through, and the plugins that they have by default.

    What a workspace has spent is shown to API keys with the scope usage.workspace.
    """

    scope = Scope.USAGE.value
    wider_scope = Scope.USAGE_WORKSPACE.value

    @answers(KeyResponse, operation_id="getKey", tags=["usage"])
    def get(self, request: Request) -> Response:
        caller: Caller = request.auth  # type: ignore[assignment]
        try:
            report = read_key(caller)
        except DatabaseError as error:
            raise DatabaseUnavailable(detail=repr(error), retry_after_s=1) from error
        return Response(KeyResponse(report))


def read_key(caller: Caller) -> KeyReport:
    """Return what the key reads about itself, by the ledger as it is now."""
    key = ApiKey.objects.select_related("workspace").get(pk=caller.key.key_id)
    now, reads_all = time.time(), Scope.USAGE_WORKSPACE in caller.key.scopes
    found = []
    for holder in holders_over(key):
        level = owner_of(holder).level
        shows_spent = reads_all or level is not Level.WORKSPACE
        lines = budget_lines(holder, now)
        found += [write_budget(level, line, shows_spent=shows_spent) for line in lines]
    budgets = [budget for budget in found if budget is not None]
    rules = caller.key.processors or NO_RULES
    plugins = default_plugins(key.workspace)
    return write_key(key, sorted(caller.key.scopes), budgets, rules, plugins)
