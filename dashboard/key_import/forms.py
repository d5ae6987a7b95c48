"""A file of keys issued elsewhere, chosen or pasted. keys.import_rows reads what is in it."""

from __future__ import annotations

from django import forms

from dashboard.forms.unrepeated import UnrepeatedTextarea
from dashboard.forms.values import FormValues
from keys.import_rows import MAX_BYTES


class KeyImportForm(forms.Form):
    file = forms.FileField(
        required=False,
        allow_empty_file=True,
        label="CSV file",
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv,text/plain"}),
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label="Or paste the content",
        widget=UnrepeatedTextarea(
            attrs={"rows": 6, "spellcheck": "false", "autocomplete": "off", "class": "mono"}
        ),
    )

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        file, text = cleaned.get("file"), cleaned.get("text")
        if bool(file) == bool(text) and not self.errors:
            raise forms.ValidationError(
                "Choose a file or paste its content, not both."
                if file
                else "Choose a file, or paste its content."
            )
        if file and file.size > MAX_BYTES:
            self.add_error("file", f"The maximum file size is {MAX_BYTES // 1024} KB.")
        return cleaned

    def content(self) -> bytes:
        """Return what the file says, from a valid form."""
        file = self.cleaned_data["file"]
        if file:
            read: bytes = file.read()
            return read
        return str(self.cleaned_data["text"]).encode("utf-8", "surrogatepass")
