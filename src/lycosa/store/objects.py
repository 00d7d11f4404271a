"""The object store (S3 and those that speak like it) that a crawl's files may be kept in.

Its own errors end here: what the operator must mend is a `SettingsError`, whatever may pass a `BackendLost`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lycosa.errors import BackendLost, SettingsError

_PLACE = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(.*))?", re.DOTALL)
# A file is sent in pieces of this size, one after the other: that much memory, and 10,000 pieces make 320 GB.
PIECE_BYTES = 32 * 1024 * 1024
# What no retry mends.
_REFUSALS = frozenset(
    {"NoSuchBucket", "InvalidBucketName", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "403"}
)


class ObjectPlace(NamedTuple):
    """A crawl's place in an object store."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def key(self, name: str) -> str:
        """What a file of the crawl is called in the bucket."""
        return f"{self.prefix}/{name}" if self.prefix else name


def parse_place(text: str) -> Path | ObjectPlace:
    """Where a crawl is kept, as people write it: a folder, or s3://bucket/prefix."""
    if not text.startswith("s3:"):
        return Path(text)
    match = _PLACE.fullmatch(text)
    parts = (match[2] or "").strip("/").split("/") if match else [".."]
    # Below a prefix lie folders of this machine: it must not lead out of them.
    if not match or any(part in (".", "..") for part in parts) or (len(parts) > 1 and "" in parts):
        raise ValueError(f"{text!r} is no place in an object store; expected s3://BUCKET or s3://BUCKET/PREFIX")
    return ObjectPlace(match[1], "/".join(parts))


class Objects:
    """The files of a crawl in an object store. Every method may raise `BackendLost` or `SettingsError`.

    Credentials, region and endpoint come from the usual places: environment (AWS_ENDPOINT_URL too), ~/.aws, the
    machine's role.
    """

    def __init__(self, place: ObjectPlace) -> None:
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            raise SettingsError(f"{place}: object stores need boto3: pip install 'lycosa[s3]'") from None
        self.place = place
        with _translated(place):
            config = Config(connect_timeout=10, read_timeout=60, retries={"mode": "standard", "max_attempts": 3})
            self._client: Any = boto3.client("s3", config=config)

    def sizes(self, under: str = "") -> dict[str, int]:
        """The files there, or those whose names begin in a way, with their sizes."""
        found: dict[str, int] = {}
        skipped = len(self.place.key(""))
        with _translated(self.place):
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.place.bucket, Prefix=self.place.key(under)):
                found |= {each["Key"][skipped:]: each["Size"] for each in page.get("Contents", ())}
        return found

    def size(self, name: str) -> int | None:
        """How many bytes a file has there, or None if there is none."""
        from botocore.exceptions import ClientError

        with _translated(self.place):
            try:
                head = self._client.head_object(Bucket=self.place.bucket, Key=self.place.key(name))
            except ClientError as error:
                if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
                    return None
                raise
        size: int = head["ContentLength"]
        return size

    def put_file(self, path: Path, name: str) -> None:
        """Bring a file there: it appears whole, its checksum (CRC-32) confirmed by the store, or not at all."""
        from boto3.s3.transfer import TransferConfig

        pieces = TransferConfig(multipart_threshold=PIECE_BYTES, multipart_chunksize=PIECE_BYTES, use_threads=False)
        with _translated(self.place):
            self._client.upload_file(str(path), self.place.bucket, self.place.key(name), Config=pieces)

    def put_text(self, name: str, text: str) -> None:
        """Write a small file, or write it anew."""
        with _translated(self.place):
            self._client.put_object(
                Bucket=self.place.bucket, Key=self.place.key(name), Body=text.encode("utf-8", "replace")
            )

    def get_file(self, name: str, path: Path) -> None:
        """Bring a file here, whole or not at all; raises `FileNotFoundError` if there is none."""
        from botocore.exceptions import ClientError

        fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
        with _translated(self.place):
            try:
                self._client.download_file(self.place.bucket, self.place.key(name), str(fresh))
            except ClientError as error:
                if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
                    raise FileNotFoundError(f"{self.place}/{name}") from None
                raise
        fresh.replace(path)

    def forget_unfinished(self, mark: str) -> int:
        """Let go of the pieces that uploads left that a crash ended, by a mark in their names; returns how many."""
        forgotten = 0
        with _translated(self.place):
            pages = self._client.get_paginator("list_multipart_uploads")
            for page in pages.paginate(Bucket=self.place.bucket, Prefix=self.place.key("")):
                for upload in page.get("Uploads", ()):
                    if mark in upload["Key"]:
                        self._client.abort_multipart_upload(
                            Bucket=self.place.bucket, Key=upload["Key"], UploadId=upload["UploadId"]
                        )
                        forgotten += 1
        return forgotten


@contextmanager
def _translated(place: ObjectPlace) -> Iterator[None]:
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

    try:
        yield
    except (NoCredentialsError, NoRegionError) as error:
        raise SettingsError(f"{place}: {error}") from error
    except ClientError as error:
        kind = SettingsError if error.response["Error"]["Code"] in _REFUSALS else BackendLost
        raise kind(f"{place}: {error}") from error
    except (BotoCoreError, Boto3Error) as error:
        raise BackendLost(f"{place}: {error}") from error
