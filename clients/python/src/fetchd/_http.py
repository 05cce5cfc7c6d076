"""What httpx raises, in our words."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from .errors import CallTimedOut, ConnectionFailed, InvalidAnswer


@contextmanager
def translated() -> Iterator[None]:
    """Raises what is ours for what httpx raises meanwhile."""
    try:
        yield
    except (httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        raise CallTimedOut("the service does not accept a connection in time", was_sent=False) from error
    except httpx.TimeoutException as error:
        raise CallTimedOut("the service does not answer in time") from error
    except httpx.ConnectError as error:
        raise ConnectionFailed(f"no connection to the service: {error}", was_sent=False) from error
    except httpx.TransportError as error:
        raise ConnectionFailed(f"the connection broke: {error or type(error).__name__}") from error
    except httpx.DecodingError as error:
        raise InvalidAnswer(f"the answer is malformed: {error}") from error
