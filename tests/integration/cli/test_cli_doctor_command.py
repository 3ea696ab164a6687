"""``oddish doctor`` with a server named: a real examination, a small server."""

import json
import time
from typing import Any

import pytest

from .conftest import FakeServer, Invoke


def findings(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {finding["subject"]: finding for finding in document["findings"]}


def test_a_server_that_is_well_is_all_that_is_needed(server: FakeServer, invoke: Invoke) -> None:
    result = invoke("doctor", "--json")
    document = json.loads(result.output)
    found = findings(document)
    assert (result.exit_code, document["ok"]) == (0, True)
    assert found["Server"]["level"] == "warning"
    assert "9.9.9" in found["Server"]["found"]
    assert found["Key"]["level"] == found["Workers"]["level"] == "ok"
    assert found["Key"]["found"] == "that of ODDISH_API_KEY is accepted"
    assert found["Clock skew"]["level"] == "warning"
    assert found["Trials"]["found"] == "run where the server's workers are"


def test_a_key_that_the_server_does_not_know_is_a_problem(
    server: FakeServer, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODDISH_API_KEY", "ok_ffffffffffffffffffffffffffffffff")
    result = invoke("doctor", "--json")
    assert result.exit_code == 1
    key = findings(json.loads(result.output))["Key"]
    assert (key["level"], key["found"]) == ("problem", f"{server.url} does not know the key of ODDISH_API_KEY.")
    assert "ok_ffff" not in result.output


def test_a_server_that_nobody_serves_is_a_problem(server: FakeServer, invoke: Invoke) -> None:
    result = invoke("doctor", "--api", "http://127.0.0.1:1")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert any(line.startswith("problem  Server ") and "127.0.0.1:1" in line for line in lines)
    assert lines[-1].startswith("problem  Trials ")
    assert "Server" in lines[-1]


def test_a_server_without_workers_is_a_warning(server: FakeServer, invoke: Invoke) -> None:
    server.workers = 0
    result = invoke("doctor")
    assert result.exit_code == 0
    assert "warning  Workers" in result.output
    assert "  Fix: " in result.output


def test_an_examination_that_cannot_start_is_an_error(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oddish.cli.doctor.sys.executable", "/bin/false")
    result = invoke("doctor", "--json")
    assert (result.exit_code, json.loads(result.output)["code"]) == (1, "unavailable")


def test_an_examination_is_short(server: FakeServer, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDISH_STORAGE_URL", "s3://nowhere")
    began = time.monotonic()
    result = invoke("doctor", "--json")
    assert findings(json.loads(result.output))["Object store"]["level"] == "warning"
    assert time.monotonic() - began < 10
