"""The tool image: a picture, made by an image model of the installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from gateway.core.server_tools import ToolResult
from gateway.tools.arguments import read_arguments, schema_of
from gateway.tools.base import ServerTool, ToolContext, ToolFailed

Size = Annotated[str, Meta(pattern=r"^(\d{2,4}x\d{2,4}|auto)?$", description="Such as 1024x1024.")]


class Arguments(Struct):
    prompt: Annotated[str, Meta(min_length=1, max_length=4_000, description="What to show.")]
    size: Size = ""


class Options(Struct, forbid_unknown_fields=True):
    # Whatever the model asks for.
    size: Size | None = None


class Image(ServerTool):
    name = "image"
    description = "Generates an image from a description. The user sees it next to your answer."
    unit = "image"
    max_runs = 4
    options = Options
    needs_model = True

    @property
    def parameters(self) -> Mapping[str, object]:
        return schema_of(Arguments)

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        asked = read_arguments(arguments, Arguments)
        size = context.options.size or asked.size
        images = await context.services.make_images(context.record.model, asked.prompt, size)
        if not images:
            raise ToolFailed("No image was generated.")
        said: dict[str, object] = {"note": "The image was generated, and the user sees it."}
        addresses = [one for one in images if one.startswith("http")]
        if addresses:
            said["url"] = addresses[0]
        return ToolResult(
            content=said,
            units=len(images),
            images=tuple(images),
            preview=addresses[0] if addresses else "An image",
        )
