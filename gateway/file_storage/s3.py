"""Files in a bucket of storage that speaks S3's API, through django-storages (extra `s3`).

What a file is opened with is django-storages' own: its credentials, its retries. Files are written
in parts as they arrive, and read by ranges: nothing is spooled to this host's disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings

from gateway.core.errors import StorageUnavailable
from gateway.file_storage.stores import AWAY, MARK_NAME, Missing, StoredName, unavailable

T = TypeVar("T")

# S3 takes at most 10,000 parts of a file, of at least 5 MB: 8 MB are enough for 64 GB and more.
PART_BYTES = 8 * 1024 * 1024
# Read at once from the bucket, and so in memory for each file that is read.
RANGE_BYTES = 1024 * 1024
# A thread of uploads waits so long for a storage that is away, with all attempts.
CONNECT_S, READ_S, ATTEMPTS = 3, 15, 2
CONNECTIONS = 32


class S3Store:
    def __init__(self) -> None:
        try:
            from botocore.config import Config
            from storages.backends.s3 import S3Storage
        except ImportError as error:
            raise StorageUnavailable(
                AWAY, detail="TOLLHOUSE_FILES_S3_BUCKET needs the packages of deploy/s3.lock"
            ) from error
        storage: Any = S3Storage(
            bucket_name=settings.FILES_S3_BUCKET,
            endpoint_url=settings.FILES_S3_ENDPOINT or None,
            region_name=settings.FILES_S3_REGION or None,
            access_key=settings.FILES_S3_ACCESS_KEY or None,
            secret_key=settings.FILES_S3_SECRET_KEY or None,
            client_config=Config(
                connect_timeout=CONNECT_S,
                read_timeout=READ_S,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                max_pool_connections=CONNECTIONS,
            ),
        )
        self.place = f"s3://{settings.FILES_S3_BUCKET}/{settings.FILES_S3_PREFIX}"
        self._prefix = f"{settings.FILES_S3_PREFIX.strip('/')}/".lstrip("/")
        self._bucket_name = settings.FILES_S3_BUCKET
        # Clients may be used from several threads; what django-storages keeps beside them not.
        self._client: Any = asking(lambda: storage.bucket.meta.client)

    def read_mark(self) -> str:
        try:
            return self._get(self._prefix + MARK_NAME, "").decode().strip()
        except Missing:
            return ""

    def write_mark(self, mark: str) -> None:
        if not self.read_mark():
            asking(
                self._client.put_object,
                Bucket=self._bucket_name,
                Key=self._prefix + MARK_NAME,
                Body=f"{mark}\n".encode(),
            )

    def create(self, name: str) -> S3Writer:
        return S3Writer(self._client, self._bucket_name, self._key(name))

    def open(self, name: str) -> S3Source:
        key = self._key(name)
        source = S3Source(lambda wanted: self._get(key, wanted))
        source.read_at(0, 1)
        return source

    def delete(self, name: str) -> None:
        asking(self._client.delete_object, Bucket=self._bucket_name, Key=self._key(name))

    def names(self) -> Iterator[StoredName]:
        prefix = f"{self._prefix}files/"
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket_name, Prefix=prefix
        )
        for page in each_page(pages):
            for each in page.get("Contents", ()):
                yield StoredName(each["Key"].rpartition("/")[2], each["LastModified"])

    def delete_unfinished(self, before: datetime) -> int:
        """Give up uploads in parts that were begun before: their parts are stored, and not
        listed."""
        pages = self._client.get_paginator("list_multipart_uploads").paginate(
            Bucket=self._bucket_name, Prefix=f"{self._prefix}files/"
        )
        old = [
            {"Bucket": self._bucket_name, "Key": each["Key"], "UploadId": each["UploadId"]}
            for page in each_page(pages)
            for each in page.get("Uploads", ())
            if each["Initiated"] < before
        ]
        for upload in old:
            # One that was finished or given up meanwhile is not there any more.
            with suppress(Missing):
                asking(self._client.abort_multipart_upload, **upload)
        return len(old)

    def _key(self, name: str) -> str:
        return f"{self._prefix}files/{name[:2]}/{name}"

    def _get(self, key: str, wanted: str) -> bytes:
        """Return an object, or a range of it: nothing behind its end. Raises Missing."""
        ranged = {"Range": wanted} if wanted else {}

        def get() -> bytes:
            answer = self._client.get_object(Bucket=self._bucket_name, Key=key, **ranged)
            return bytes(answer["Body"].read())

        try:
            return asking(get)
        except OutOfRange:
            return b""


class S3Writer:
    """An object, written in parts. What is shorter than a part is written at once."""

    def __init__(self, client: Any, bucket: str, key: str) -> None:
        self._client = client
        self._at = {"Bucket": bucket, "Key": key}
        self._buffer = bytearray()
        self._upload: dict[str, str] | None = None
        self._parts: list[dict[str, object]] = []

    def write(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= PART_BYTES:
            with memoryview(self._buffer) as view:
                part = bytes(view[:PART_BYTES])
            del self._buffer[:PART_BYTES]
            self._send(part)

    def finish(self) -> None:
        if self._upload is None:
            asking(self._client.put_object, **self._at, Body=bytes(self._buffer))
            return
        if self._buffer:
            self._send(bytes(self._buffer))
        asking(
            self._client.complete_multipart_upload,
            **self._upload,
            MultipartUpload={"Parts": self._parts},
        )

    def abort(self) -> None:
        """What is left where the storage is away, the cleanup gives up."""
        self._buffer.clear()
        if self._upload is not None:
            with suppress(Missing, StorageUnavailable):
                asking(self._client.abort_multipart_upload, **self._upload)

    def _send(self, part: bytes) -> None:
        if self._upload is None:
            made = asking(self._client.create_multipart_upload, **self._at)
            self._upload = {**self._at, "UploadId": made["UploadId"]}
        number = len(self._parts) + 1
        answer = asking(self._client.upload_part, **self._upload, PartNumber=number, Body=part)
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})


class S3Source:
    """Reads an object by ranges. get: returns what an HTTP Range names."""

    def __init__(self, get: Callable[[str], bytes]) -> None:
        self._get = get
        self._start, self._content = 0, b""
        # Whether the object has nothing behind what was read.
        self._is_last = False

    def read_at(self, offset: int, size: int) -> bytes:
        begin = offset - self._start
        is_here = begin >= 0 and (self._is_last or begin <= len(self._content) - size)
        if not is_here:
            wanted = max(size, RANGE_BYTES)
            self._content = self._get(f"bytes={offset}-{offset + wanted - 1}")
            self._is_last = len(self._content) < wanted
            self._start, begin = offset, 0
        return self._content[begin : begin + size]

    def close(self) -> None:
        self._content = b""


class OutOfRange(Exception):
    """The range of an object that was asked for begins behind its end."""


def each_page(pages: Iterable[Any]) -> Iterator[Any]:
    """Yield the pages of a list. Raises StorageUnavailable."""
    found = iter(pages)
    while (page := asking(lambda: next(found, None))) is not None:
        yield page


def asking(ask: Callable[..., T], **named: Any) -> T:
    """Return what the storage answers. Raises Missing, OutOfRange and StorageUnavailable."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return ask(**named)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code")
        if code in ("NoSuchKey", "NoSuchUpload", "404"):
            raise Missing from None
        if code in ("InvalidRange", "416"):
            raise OutOfRange from None
        raise unavailable(error) from error
    except (BotoCoreError, Boto3Error, OSError) as error:
        raise unavailable(error) from error
