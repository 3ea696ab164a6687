"""The examples of docs/gateway.md, one after the other, against a fresh stack of this machine."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oddish.sandbox.support import support
from oddish.stack.layout import Layout
from oddish.stack.state import read_state
from support.archive_host import ArchiveHost, archive_host, zipped
from support.command_line import Cli

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not support().usable, reason=str(support().reason)),
    pytest.mark.timeout(400),
]

PAGE = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text()
STORAGE = "https://storage.example"
KEY = "dev-local-key"
REPORT = {
    "results": {
        "tool": {"name": "sh"},
        "summary": {"tests": 1, "passed": 1, "failed": 0, "skipped": 0, "pending": 0, "other": 0},
        "tests": [{"name": "answer", "status": "passed", "duration": 1}],
    }
}
JUDGE = f"""[ "$(cat /workspace/answer)" = 42 ]; code=$?
echo '{json.dumps(REPORT)}' > /logs/verifier/ctrf.json
echo $((1 - code)) > /logs/verifier/reward.txt
exit $code"""


class Reader:
    """Somebody who types what the page shows, with archives of their own."""

    def __init__(self, cli: Cli, host: ArchiveHost) -> None:
        self.cli = cli
        self._host = host

    def shell(self, *words: str) -> str:
        """What the next block of the page with all of ``words`` prints."""
        [block] = [block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if all(map(block.count, words))]
        done = subprocess.run(
            ["bash", "-euc", self.own(block)], env=self.cli.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def curl(self, *words: str) -> Any:
        return json.loads(self.shell("curl", *words))

    def own(self, text: str) -> str:
        return text.replace(STORAGE, self._host.url)

    def follow(self, job: Any) -> Any:
        """The job at its end, followed as the page says."""
        self.cli.environ["JOB_ID"] = job["job_id"]
        assert "event: job.finished\n" in self.shell("-N", "/events")
        return self.curl('jobs/$JOB_ID"\n')


@pytest.fixture
def reader(tmp_path: Path, make_task: Callable[..., Path]) -> Iterator[Reader]:
    task = make_task("my-task", solve="mkdir -p /workspace; echo 42 > /workspace/answer", test=JUDGE)
    raising = make_task("raising", solve="true", test="true")
    (tmp_path / "fixture").mkdir()
    (tmp_path / "fixture" / "answer").write_text("42\n")
    cli = Cli(tmp_path / "home")
    cli.environ |= {"PATH": f"{Path(sys.executable).parent}:{cli.environ['PATH']}", "ODDISH_PORT": "0"}
    with archive_host() as host:
        host.put("tasks/my-task.zip", zipped(task, wrapper="my-task/"))
        host.put("tasks/raising.zip", zipped(raising))
        host.put("fixtures/my-workspace.zip", zipped(tmp_path / "fixture"))
        try:
            yield Reader(cli, host)
        finally:
            cli("down")


def test_the_examples_do_what_the_page_says(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.shell("oddish up")
    state = read_state(Layout(Path(reader.cli.environ["ODDISH_HOME"])))
    assert state is not None
    gateway = {"SANDBOX_GATEWAY_URL": f"http://localhost:{state.port}", "SANDBOX_API_KEY": KEY}
    reader.cli.environ |= gateway

    code, told = reader.cli.answer("up", "--dev-key", "another-key")
    assert (code, "was running already, and does not accept this key" in told) == (1, True), told

    job = reader.follow(reader.curl("my-eval-run-42"))
    assert (job["status"], job["outcome"]["valid_for_scoring"], job["correlation_id"]) == (
        *("succeeded", True),
        "my-eval-run-42",
    )
    assert job["result"]["agent_results"][0]["result"]["verifier_result"]["rewards"] == {"reward": 1.0}
    files = {entry["path"].rpartition("/")[2] for entry in reader.curl('/artifacts"\n')["files"]}
    assert {"ctrf.json", "result.json"} <= files
    archive = reader.curl("/artifacts/archive")
    fetched = subprocess.run(["curl", "-sSf", archive["url"]], capture_output=True, check=True).stdout
    assert len(fetched) == archive["size"]

    assert reader.curl("run/datapoint")["outcome"]["status"] == "scored"

    verified = reader.follow(reader.curl("verify-task"))
    assert (verified["result"]["verifier"]["exit_code"], verified["outcome"]["valid_for_scoring"]) == (0, False)

    raising = f"gateway run {STORAGE}/tasks/raising.zip -a oracle -k 2 --ae MY_TOKEN=s3cr3tvalue"
    code, told = reader.cli.answer(*reader.own(raising).split())
    assert (code, "2 errored" in told) == (1, True), told
    [parent, *_] = reader.cli.json("gateway", "list")["jobs"]
    document = reader.follow(parent)
    outcome = document["outcome"]
    [results, *_] = [entry["result"] for entry in document["result"]["agent_results"]]
    assert results["config"]["agent"]["env"] == {"MY_TOKEN": "[REDACTED]"}
    assert "is replaced by this machine's own system" in outcome["environment_notes"][0]
    assert [detail["status"] for detail in outcome["trials_detail"]] == ["errored", "errored"]
    refill = reader.curl("retry-errored-trials")
    assert (refill["retry_of"], refill["pass_at_k"]) == (parent["job_id"], 2)
    assert refill["retried_exceptions"] == outcome["exceptions"]

    wrong = reader.cli.json("gateway", "verify", reader.own(f"{STORAGE}/tasks/my-task.zip"), "--detach")
    assert reader.follow(wrong)["result"]["verifier"]["exit_code"] == 1

    for name, value in gateway.items():
        monkeypatch.setenv(name, value)
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(reader.own(example), "docs/gateway.md", "exec"), {})  # noqa: S102
