from collections.abc import Callable

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def seal_factors(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Encrypt the secrets of authenticator apps and the seeds of recovery codes."""
    from gateway.services.factor_encryption import decrypt_text, encrypt_text

    _rewrite(apps, lambda text: encrypt_text(decrypt_text(text)))


def unseal_factors(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    from gateway.services.factor_encryption import decrypt_text

    _rewrite(apps, decrypt_text)


def _rewrite(apps: Apps, change: Callable[[str], str]) -> None:
    from gateway.services.factor_encryption import rewritten

    for factor in apps.get_model("mfa", "Authenticator").objects.all():
        factor.data = rewritten(factor.data, change)
        factor.save(update_fields=["data"])


class Migration(migrations.Migration):
    dependencies = [
        ("gateway", "0016_totals_of_longer_spans"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [migrations.RunPython(seal_factors, unseal_factors)]
