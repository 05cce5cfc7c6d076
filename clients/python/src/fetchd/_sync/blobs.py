# Made by clients/generate from _async/. Do not edit.
"""Blobs: bytes for jobs to send, and files that they downloaded."""
from __future__ import annotations

import hashlib
import os
from typing import BinaryIO

from .. import models
from .._requests import Call, backoff, decoded, digest_field, idempotency_key, query, segment, sha256_of, upload_target
from .._waiting import sleep
from ..errors import ConnectionFailed, DigestMismatch, NotFound, Problem
from .transport import Transport

# A part of an upload; what is smaller goes in one request.
PART = 8 << 20


class Blobs:
    """The blobs of the tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, data: bytes, content_type: str = "application/octet-stream", *,
                     expires_after: int | None = None, key: str | None = None) -> models.Blob:
        """Stores bytes, and has the service compare their checksum."""
        response = self._transport.send(Call(
            method="POST", target="/v1/blobs" + query({"expires_after": expires_after}), body=bytes(data),
            is_repeatable=True, headers={
                "Content-Type": content_type, "Content-Digest": digest_field(hashlib.sha256(data).digest()),
                "Idempotency-Key": idempotency_key(key)}))
        return models.Blob.from_json(decoded(response.content))

    def upload(self, file: str | os.PathLike[str] | BinaryIO, content_type: str = "application/octet-stream", *,
                     expires_after: int | None = None) -> models.Blob:
        """Stores a file of any size in parts, and goes on where it was when a connection breaks.

        What is given open must be seekable, and is read from where it stands. When the very last answer is lost the
        service has the blob and nobody knows its id: `ConnectionFailed` is raised, and the upload is to be made again.
        """
        if isinstance(file, str | os.PathLike):
            with open(file, "rb") as opened:
                return self._upload(opened, content_type, expires_after)
        return self._upload(file, content_type, expires_after)

    def _upload(self, file: BinaryIO, content_type: str, expires_after: int | None) -> models.Blob:
        start = file.tell()
        part = file.read(PART)
        if len(part) < PART:
            return self.create(part, content_type, expires_after=expires_after)
        # An upload that was begun twice is forgotten after a week.
        response = self._transport.send(Call(
            method="POST", target="/v1/blobs" + query({"expires_after": expires_after}), is_repeatable=True,
            headers={"Content-Type": content_type, "Upload-Complete": "?0"}))
        target = upload_target(response.headers.get("location"))
        blob = self._append(file, start, target)
        file.seek(start)
        sha256 = hashlib.sha256()
        while part := file.read(PART):
            sha256.update(part)
        if sha256_of(blob.digest) not in (None, sha256.digest()):
            raise DigestMismatch(f"blob {blob.id} is not what the file has")
        return blob

    def _append(self, file: BinaryIO, start: int, target: str) -> models.Blob:
        offset, failures = 0, 0
        while True:
            file.seek(start + offset)
            part = file.read(PART)
            is_last = len(part) < PART
            headers = {"Content-Type": "application/partial-upload", "Upload-Offset": str(offset),
                       "Upload-Complete": "?1" if is_last else "?0"}
            try:
                response = self._transport.send(Call(method="PATCH", target=target, body=part, headers=headers))
            except (ConnectionFailed, Problem) as failure:
                failures += 1
                is_over = isinstance(failure, Problem) and failure.code != "uploadOffsetMismatch"
                if is_over or failures > self._transport.retries:
                    raise
                sleep(backoff(failures))
                try:
                    offset = self._offset(target)
                except NotFound:
                    # It is complete, and the answer that named the blob was lost.
                    raise failure from None
                continue
            if is_last:
                return models.Blob.from_json(decoded(response.content))
            offset, failures = offset + len(part), 0

    def _offset(self, target: str) -> int:
        response = self._transport.send(Call(method="HEAD", target=target, is_repeatable=True))
        return int(response.headers["upload-offset"])

    def read(self, blob: str) -> bytes:
        """The bytes of a blob, compared with its checksum."""
        response = self._transport.send(Call(method="GET", target=_of(blob), is_repeatable=True))
        digest = sha256_of(response.headers.get("repr-digest"))
        if digest is not None and digest != hashlib.sha256(response.content).digest():
            raise DigestMismatch(f"the bytes of blob {blob} are not those that were stored")
        return response.content

    def delete(self, blob: str) -> None:
        """Removes a blob, unless a job that is not final sends it."""
        self._transport.delete(_of(blob))


def _of(blob: str) -> str:
    return f"/v1/blobs/{segment(blob)}"
