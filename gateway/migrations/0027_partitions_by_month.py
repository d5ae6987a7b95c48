"""On PostgreSQL, calls and their bodies are partitioned by month (docs/adr/0044)."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone

from gateway.partitions import TABLES, partition_by_month


def partition(apps: object, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        for table, key in TABLES.items():
            partition_by_month(cursor, table, key, timezone.now())


class Migration(migrations.Migration):

    dependencies = [
        ("gateway", "0026_leases_and_sealing_keys"),
    ]

    operations = [
        migrations.RunPython(partition, migrations.RunPython.noop),
    ]
