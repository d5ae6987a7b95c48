from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0028_budgets_of_keys'),
    ]

    operations = [
        migrations.RemoveConstraint('keybudget', 'gateway_keybudget_not_negative'),
        migrations.RemoveConstraint('keyallotment', 'gateway_keyallotment_one_per_process'),
        migrations.RemoveConstraint('keyallotment', 'gateway_keyallotment_not_negative'),
        migrations.RenameModel('KeyBudget', 'Budget'),
        migrations.RenameModel('KeyAllotment', 'Allotment'),
        migrations.RenameField('budget', 'key_id', 'owner_id'),
        migrations.RemoveField('budget', 'version'),
        migrations.AddField('budget', 'workspace_id', models.UUIDField(blank=True, null=True)),
        migrations.AddField('budget', 'member_id', models.BigIntegerField(blank=True, null=True)),
        migrations.AddConstraint('budget', models.CheckConstraint(condition=Q(('drawn_nusd__gte', 0)), name='gateway_budget_not_negative')),
        migrations.AddConstraint('budget', models.UniqueConstraint(condition=Q(('member_id__isnull', False)), fields=('workspace_id', 'member_id'), name='gateway_budget_one_per_member')),
        migrations.AddConstraint('allotment', models.UniqueConstraint(fields=('budget', 'process_id'), name='gateway_allotment_one_per_process')),
        migrations.AddConstraint('allotment', models.CheckConstraint(condition=Q(('amount_nusd__gte', 0)), name='gateway_allotment_not_negative')),
    ]
