"""From the arguments of a submission to the document that the service takes."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ._requests import camel
from .parameters import CONFIGURATION_MEMBERS, Request, RequestBody, RequestHeader

Headers = Mapping[str, str] | Sequence[RequestHeader]


def job_spec(request: str | Request, method: str | None, headers: Headers | None, body: RequestBody | None,
             options: Mapping[str, Any]) -> dict[str, Any]:
    """A `JobSpec`: members of the configuration go there, and the parts of the request into it."""
    spec: dict[str, Any] = {"request": request_of(request, method, headers, body)}
    configuration = dict(options.get("configuration", {}))
    for name, value in options.items():
        member = camel(name)
        if member in CONFIGURATION_MEMBERS:
            configuration[member] = value
        elif member != "configuration":
            spec[member] = value
    if configuration:
        spec["configuration"] = configuration
    return spec


def request_of(request: str | Request, method: str | None, headers: Headers | None,
               body: RequestBody | None) -> str | dict[str, Any]:
    if method is None and headers is None and body is None:
        return request if isinstance(request, str) else cast(dict[str, Any], request)
    whole: dict[str, Any] = {"url": request} if isinstance(request, str) else {**request}
    if method is not None:
        whole["method"] = method
    if headers is not None:
        pairs = headers.items() if isinstance(headers, Mapping) else None
        whole["headers"] = headers if pairs is None else [{"name": name, "value": value} for name, value in pairs]
    if body is not None:
        whole["body"] = body
    return whole
