"""On PostgreSQL, calls and their bodies are partitioned by time (docs/adr/0044)."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone

from gateway.database.partitions import TABLES, turn_into_partitioned


def partition(apps: object, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for table in TABLES:
            turn_into_partitioned(cursor, table, timezone.now())


class Migration(migrations.Migration):

    dependencies = [
        ("gateway", "0026_leases_and_sealing_keys"),
    ]

    operations = [
        migrations.RunPython(partition, migrations.RunPython.noop),
    ]
