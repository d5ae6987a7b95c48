"""The list of files as a table."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from accounts.models import Workspace
from dashboard.http.page_urls import page_address
from dashboard.ui.tables import Column, Empty, Layout, Pager, Shown, Table
from gateway.models import StoredFile

_LAYOUT = Layout[StoredFile](
    name="file",
    label="Files",
    cells="dashboard/files/_cells.html",
    columns=(
        Column("filename", "File", grows=True),
        Column("purpose", "Purpose", shown=Shown.WIDE),
        Column("type", "Type", shown=Shown.WIDER),
        Column("size", "Size", is_number=True),
        Column("created", "Uploaded", shown=Shown.WIDE),
        Column("expires", "Expires", shown=Shown.WIDER),
        Column("actions", "Actions", is_head_hidden=True, cell_css="num"),
    ),
    row_id=lambda row: row.public_id,
    opens=False,
)


def file_table(
    files: Sequence[StoredFile],
    workspace: Workspace,
    *,
    purpose: str,
    is_first: bool,
    has_more: bool,
    may_manage: bool,
) -> Table[StoredFile]:
    return _LAYOUT.fill(
        files,
        without=() if may_manage else ("actions",),
        empty=_empty(workspace, purpose, may_manage=may_manage),
        pager=_pager(files, workspace, purpose, is_first=is_first, has_more=has_more),
    )


def _pager(
    files: Sequence[StoredFile],
    workspace: Workspace,
    purpose: str,
    *,
    is_first: bool,
    has_more: bool,
) -> Pager | None:
    if is_first and not has_more:
        return None
    here = page_address(workspace, "file-list")
    asked = {"purpose": purpose} if purpose else {}
    older = {**asked, "after": files[-1].public_id} if has_more else {}
    return Pager(
        f"{len(files)} files",
        label="Pages of files",
        newest_url="" if is_first else f"{here}?{urlencode(asked)}".rstrip("?"),
        older_url=f"{here}?{urlencode(older)}" if older else "",
    )


def _empty(workspace: Workspace, purpose: str, *, may_manage: bool) -> Empty:
    if purpose:
        return Empty(
            icon="search-x",
            title="No matching files",
            text=f"No file has the purpose {purpose}.",
            href=page_address(workspace, "file-list"),
            action="View all files",
        )
    text = "Upload files here or with POST /v1/files. Requests refer to a file by its ID."
    if not may_manage:
        return Empty(icon="files", title="No files", text="No files have been uploaded yet.")
    return Empty(
        icon="files",
        title="No files",
        text=text,
    )
