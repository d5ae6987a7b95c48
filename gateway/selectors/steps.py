"""Which step of a period, or which day, a row belongs to, worked out by the database.

In its own functions: Django's for SQLite are Python's, called for each row.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, ExpressionWrapper, F, Func, IntegerField
from django.db.models.expressions import Combinable
from django.db.models.sql.compiler import SQLCompiler

from gateway.selectors.periods import Period


class EpochSeconds(Func):
    """A moment as whole seconds since 1970, in the database's own arithmetic."""

    template = "CAST(EXTRACT(EPOCH FROM %(expressions)s) AS BIGINT)"
    output_field = IntegerField()
    arity = 1

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: str
    ) -> tuple[str, tuple[str | int, ...]]:
        template = "CAST(strftime('%%%%s', %(expressions)s) AS INTEGER)"
        sql, params = super().as_sql(compiler, connection, template=template, **extra)
        return sql, tuple(params)


class Day(Func):
    """The day of a moment in UTC as text: 2026-01-31."""

    template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
    output_field = CharField()
    arity = 1

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: str
    ) -> tuple[str, tuple[str | int, ...]]:
        template = "substr(%(expressions)s, 1, 10)"
        sql, params = super().as_sql(compiler, connection, template=template, **extra)
        return sql, tuple(params)


def step_number(period: Period, name: str = "starts_at") -> Combinable:
    """Return an expression for the step (from 0) that the moment in column `name` falls into."""
    since = EpochSeconds(F(name)) - int(period.starts_at.timestamp())
    return ExpressionWrapper(since / period.step_s, output_field=IntegerField())
