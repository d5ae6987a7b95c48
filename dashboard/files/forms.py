"""The forms about files. What an upload holds is checked by gateway.services.files."""

from __future__ import annotations

from django import forms

from gateway.models.file import UPLOAD_PURPOSES
from gateway.services.files.limits import MOST_FILE_BYTES, MOST_FILES, MOST_STORAGE_BYTES

# Of a page's form; larger files go by the API, which reads them as they arrive.
MAX_UPLOAD_BYTES = 32 * 1024 * 1024
MB = 1024 * 1024
_EXPIRY = {
    "": "Never",
    "86400": "After 1 day",
    "604800": "After 7 days",
    "2592000": "After 30 days",
}


class UploadForm(forms.Form):
    file = forms.FileField(
        max_length=1000,
        allow_empty_file=True,
        help_text=f"At most {MAX_UPLOAD_BYTES // MB} MB. Larger files: POST /v1/files.",
    )
    purpose = forms.ChoiceField(
        choices=[(name, name) for name in UPLOAD_PURPOSES],
        initial="user_data",
        help_text="batch: JSONL for batches. vision: images.",
    )
    expires_after_s = forms.ChoiceField(
        choices=list(_EXPIRY.items()), required=False, label="Expires"
    )


class StorageForm(forms.Form):
    """Limits in the units that people think in. Empty: the installation's."""

    max_file_mb = forms.IntegerField(
        required=False, min_value=0, max_value=MOST_FILE_BYTES // MB, label="Maximum file size (MB)"
    )
    max_files = forms.IntegerField(
        required=False, min_value=0, max_value=MOST_FILES, label="Maximum number of files"
    )
    max_storage_mb = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MOST_STORAGE_BYTES // MB,
        label="Maximum total size (MB)",
    )

    def limits(self) -> dict[str, int | None]:
        """Return the limits by field of WorkspaceStorage, from a valid form."""
        file_mb, storage_mb = self.cleaned_data["max_file_mb"], self.cleaned_data["max_storage_mb"]
        return {
            "max_file_bytes": None if file_mb is None else file_mb * MB,
            "max_files": self.cleaned_data["max_files"],
            "max_storage_bytes": None if storage_mb is None else storage_mb * MB,
        }
