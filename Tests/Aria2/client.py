"""client.py URL TOKEN FILE GONE: speaks to a service with the unmodified client aria2p.

FILE is a URL whose answer is the body `hello`, and GONE one that answers 404. Ends with a traceback when the client is
answered in a way that it does not take.
"""
import sys
import time
import urllib.parse

import aria2p
from loguru import logger


def refused(call, text):
    try:
        call()
    except aria2p.ClientException as error:
        assert error.message == text and error.code == 1, error
    else:
        raise AssertionError(f"is not refused: {text}")


def ended(api, download):
    for _ in range(600):
        download.update()
        if download.is_complete or download.has_failed:
            return download
        time.sleep(0.1)
    raise AssertionError(f"does not end: {download.status}")


def speak(base, token, file, gone):
    logger.remove()
    url = urllib.parse.urlsplit(base)
    client = aria2p.Client(f"{url.scheme}://{url.hostname}", url.port, token)
    api = aria2p.API(client)
    assert client.get_version()["version"] == "1.36.0"
    assert "aria2.addUri" in client.list_methods() and len(client.list_notifications()) == 5
    assert len(client.get_session_info()["sessionId"]) == 40

    held = api.add_uris(["https://a.example/held.bin", "https://b.example/held.bin"],
                        {"pause": "true", "dir": "/data", "out": "held.bin", "gid": "00c0ffee00c0ffee"})
    assert held.gid == "00c0ffee00c0ffee" and held.is_paused and str(held.dir) == "/data", held
    assert held.name == "held.bin" and len(held.files[0].uris) == 2, held.files
    assert [one["uri"] for one in client.get_uris(held.gid)] == [one["uri"] for one in held.files[0].uris]
    assert client.get_peers(held.gid) == []
    refused(lambda: client.get_servers(held.gid), f"No active download for GID#{held.gid}")
    refused(lambda: client.pause(held.gid), f"GID#{held.gid} cannot be paused now")
    refused(lambda: client.tell_status("fedcba9876543210"), "GID fedcba9876543210 is not found")
    options = api.get_options([held])[0]
    assert options.max_tries == 5 and options.out == "held.bin", options
    options.max_download_limit = "1M"
    assert api.get_options([held])[0].max_download_limit == 1 << 20
    assert client.tell_waiting(0, 10, ["gid"]) == [{"gid": held.gid}]

    done = ended(api, api.add(file, {"out": "done.txt", "max-tries": "1"})[0])
    assert done.is_complete and done.total_length == done.completed_length == 5, done.status
    assert done.error_code == "0" and done.name == "done.txt" and done.progress == 100.0, done.error_code
    failed = ended(api, api.add_uris([gone], {"max-tries": "1"}))
    assert failed.has_failed and failed.error_code == "3", (failed.error_code, failed.error_message)
    assert {one.gid for one in api.get_downloads()} == {held.gid, done.gid, failed.gid}
    stats = api.get_stats()
    assert (stats.num_active, stats.num_waiting, stats.num_stopped) == (0, 1, 2), stats
    several = client.multicall2([("aria2.tellStatus", [done.gid, ["gid"]]), ("aria2.tellStatus", ["0" * 15 + "1"])])
    assert several[0] == [{"gid": done.gid}] and several[1]["code"] == 1, several

    assert api.pause_all() and api.resume_all() and api.pause_all()
    assert api.get_download(held.gid).is_paused
    globally = api.get_global_options()
    globally.max_concurrent_downloads = 3
    assert api.get_global_options().max_concurrent_downloads == 3
    assert client.save_session() == "OK"
    refused(client.shutdown, "aria2.shutdown is not supported by Fetchd")
    refused(lambda: client.add_uri(["magnet:?xt=urn:btih:00"]), "magnet is not supported by Fetchd")
    assert api.remove([failed], clean=False) == [True] and api.remove([held], clean=False) == [True]
    # What runs when it is removed ends a moment later, and stays in the list until it is purged.
    left = {one.gid for one in api.get_downloads()} - {held.gid}
    assert left == {done.gid}, left
    for _ in range(100):
        assert api.purge()
        if not api.get_downloads():
            break
        time.sleep(0.1)
    else:
        raise AssertionError("is not purged")
    wrong = aria2p.Client(f"{url.scheme}://{url.hostname}", url.port, "fk_wrong")
    refused(wrong.get_version, "Unauthorized")


speak(*sys.argv[1:])
