"""What people say of themselves. What is written is checked by accounts.services."""

from __future__ import annotations

from django import forms


class PersonForm(forms.Form):
    name = forms.CharField(
        max_length=120,
        required=False,
        label="Your name",
        help_text="Other members see it next to your email.",
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
