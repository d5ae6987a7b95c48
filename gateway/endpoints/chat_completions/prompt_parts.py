"""A call's prompt taken apart for counting. For calls whose provider does not say what it counted:
bytes are decoded here, so call it in a thread."""

from __future__ import annotations

from gateway.core.attachment_tokens import Picture
from gateway.core.chat import ChatCall
from gateway.core.files import Attachment, ReadyFile
from gateway.core.prompt_parts import PromptParts
from gateway.endpoints.chat_completions import schema
from gateway.endpoints.chat_completions.content_parts import read_inline, read_picture
from gateway.endpoints.chat_completions.read import texts_of
from gateway.media.inline_data import read_inline_data
from gateway.media.media_types import sniff
from gateway.media.picture_size import size_of


def read_prompt(call: ChatCall) -> PromptParts:
    """Return everything of the call that its model reads."""
    texts: list[str] = []
    pictures: list[Picture] = []
    files: list[ReadyFile] = []
    for message in call.payload.messages:
        texts += texts_of(message)
        name = getattr(message, "name", None)
        if name:
            texts.append(name)
        if not isinstance(message, schema.UserMessage) or isinstance(message.content, str):
            continue
        for part in message.content:
            if isinstance(part, schema.ImagePart):
                pictures.append(read_picture(part, "")[0])
            elif isinstance(part, schema.AudioPart):
                content = read_inline_data(part.input_audio.data, "").content
                files.append(ReadyFile(content, sniff(content) or "audio/pcm", ""))
            elif isinstance(part, schema.FilePart):
                _add_file(part, pictures, files)
    fields = call.payload.fields
    tools = b"".join(fields[name] for name in ("tools", "functions") if call.payload.has(name))
    return PromptParts(
        messages=len(call.payload.messages),
        texts=texts,
        tools=tools,
        schema=fields["response_format"] if call.payload.has("response_format") else b"",
        pictures=pictures,
        files=files,
    )


def _add_file(part: schema.FilePart, pictures: list[Picture], files: list[ReadyFile]) -> None:
    source = part.file or schema.FileSource()
    data = source.file_data or source.data or part.data
    if not data:
        return
    declared = (source.mime_type or part.mime_type or "").lower()
    ready = read_inline(
        Attachment(
            row=0,
            column=0,
            param="",
            filename="",
            declared=declared,
            address="",
            data=data,
            bound_tokens=0,
        )
    )
    if ready.kind.startswith("image/"):
        pictures.append(Picture(*size_of(ready.content)))
    else:
        files.append(ready)
