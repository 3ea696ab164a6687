from pathlib import Path

import pytest

from oddish.cli.session import connect
from oddish.client.endpoint import Endpoint
from oddish.client.errors import ApiError

HERE = Endpoint("http://127.0.0.1:1", "ok_0123456789abcdef0123456789abcdef", "this machine")
ELSEWHERE = Endpoint(HERE.url, HERE.key, "ODDISH_API_URL")


@pytest.fixture(autouse=True)
def worker_log(oddish_home: Path) -> None:
    (oddish_home / "logs").mkdir(parents=True)
    (oddish_home / "logs" / "worker.log").write_text("".join(f"line {number}\n" for number in range(100)))


def refused(endpoint: Endpoint, code: str) -> ApiError:
    with pytest.raises(ApiError) as caught, connect(endpoint):
        raise ApiError({"detail": "No worker has said what it can run.", "code": code, "fix": "Start one."}, 503)
    return caught.value


def test_the_end_of_the_log_of_a_local_worker_that_is_missing_is_shown() -> None:
    error = refused(HERE, "no_worker")
    assert error.message.startswith("No worker has said what it can run.\nThe log of the worker ends with:\n")
    assert error.message.endswith("line 98\nline 99")
    assert "line 50" not in error.message
    assert (error.problem_code, error.http_status, error.fix) == ("no_worker", 503, "Start one.")


@pytest.mark.parametrize(("endpoint", "code"), [(ELSEWHERE, "no_worker"), (HERE, "not_found")])
def test_other_refusals_are_as_they_came(endpoint: Endpoint, code: str) -> None:
    assert refused(endpoint, code).message == "No worker has said what it can run."


def test_a_worker_without_a_log_has_nothing_to_show(oddish_home: Path) -> None:
    (oddish_home / "logs" / "worker.log").unlink()
    assert refused(HERE, "no_worker").message == "No worker has said what it can run."
