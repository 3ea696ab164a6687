"""What is told of the files of trials and of task versions."""

import base64
import json
from collections.abc import Callable

import httpx2
import pytest
from click.testing import CliRunner

from oddish.cli import cli

from .furnishing import README, Furnished
from .serving import KEY, RESULT, Server, TaskFolder

TRAJECTORY = b'{"schema_version": "ATIF-v1.8", "steps": []}'


@pytest.fixture
def trial(furnished: Furnished) -> str:
    return furnished.path("/trials/{trial_id}")


def test_trajectories_and_logs_by_who_wrote_them(
    server: Server, client: httpx2.Client, furnished: Furnished, trial: str
) -> None:
    assert client.get(f"{trial}/trajectory").json() is None
    whole = {
        "agent/trajectory.json": TRAJECTORY,
        "agent/oracle.txt": b"did it",
        "agent/setup/stdout.txt": b"installed",
        "agent/command-0/stdout.txt": b"first",
        "agent/command-1/stdout.txt": b"second",
        "verifier/test-stdout.txt": b"1 passed",
        "verifier/test-stderr.txt": b"warning",
        "exception.txt": b"Traceback",
        "trial.log": b"log",
        "agent/recording.cast": b"not text",
    }
    server.leave_files(furnished.names["trial_id"], whole, epoch=2)
    assert client.get(f"{trial}/trajectory").json() == json.loads(TRAJECTORY)
    assert client.get(f"{trial}/logs/structured").json() == {
        "trial_id": furnished.names["trial_id"],
        "agent": {
            "oracle": "did it",
            "setup": "installed",
            "commands": [{"name": "command-0", "content": "first"}, {"name": "command-1", "content": "second"}],
        },
        "verifier": {"stdout": "1 passed", "stderr": "warning"},
        "other": [{"name": "trial.log", "content": "log"}],
        "exception": "Traceback",
    }
    record = {"step_results": [{"step_name": "zebra"}, {"step_name": "ant"}]}
    steps = {f"steps/{name}/agent/trajectory.json": json.dumps({"of": name}).encode() for name in ("ant", "zebra")}
    steps |= {f"steps/{name}/verifier/test-stdout.txt": name.encode() for name in ("ant", "zebra")}
    server.leave_files(furnished.names["trial_id"], steps | {RESULT: json.dumps(record).encode()}, epoch=3)
    assert client.get(f"{trial}/trajectory").json() == {"of": "ant"}, "the last step is what the record says"
    assert client.get(f"{trial}/trajectory?step=zebra").json() == {"of": "zebra"}
    assert client.get(f"{trial}/trajectory?step=none").json() is None
    stdout = client.get(f"{trial}/logs/structured").json()["verifier"]["stdout"]
    assert stdout == (
        "=== steps/ant/verifier/test-stdout.txt ===\nant\n=== steps/zebra/verifier/test-stdout.txt ===\nzebra"
    )
    server.leave_files(furnished.names["trial_id"], {"agent/trajectory.json": b"{cut off"}, epoch=4)
    assert client.get(f"{trial}/trajectory").status_code == 404
    assert client.get(f"{trial}/trajectory?attempt=2").json() == json.loads(TRAJECTORY)
    assert client.get(f"{trial}/trajectory?attempt=9").status_code == 404
    server.leave_files(furnished.names["trial_id"], steps | {RESULT: b'{"step_results": 5}'}, epoch=5)
    assert client.get(f"{trial}/trajectory").json() == {"of": "zebra"}, "a record that says nothing of them"


def test_files_come_by_signed_urls_in_parts_and_of_every_attempt(
    server: Server, client: httpx2.Client, furnished: Furnished, trial: str
) -> None:
    server.leave_files(furnished.names["trial_id"], {"big.log": b"0123456789", "agent/a.txt": b"a"}, epoch=2)
    listed = client.get(f"{trial}/files", params={"presign": True}).json()
    assert (listed["attempt"], [entry["attempt"] for entry in listed["attempts"]]) == (2, [2, 1])
    assert not any(entry["deciding"] for entry in listed["attempts"])
    urls = {file["path"]: file["url"] for file in listed["files"]}
    anybody = server.client(None)
    part = anybody.get(urls["big.log"], headers={"Range": "bytes=4-"})
    assert (part.status_code, part.content, part.headers["content-range"]) == (206, b"456789", "bytes 4-9/10")
    assert anybody.get(urls["big.log"]).content == b"0123456789"
    same = client.get(f"{trial}/files/big.log", headers={"Range": "bytes=4-5"})
    assert (same.status_code, same.content) == (206, b"45")
    top = client.get(f"{trial}/files", params={"recursive": False}).json()
    assert [(file["path"], file["url"]) for file in top["files"]] == [("big.log", None)]
    former = client.get(f"{trial}/files", params={"attempt": 1}).json()
    assert (former["attempt"], README in {file["path"] for file in former["files"]}) == (1, True)
    assert client.get(f"{trial}/files/{README}", params={"attempt": 1}).content == b"of the trial"
    assert client.get(f"{trial}/files/{README}").status_code == 404


def test_the_inventory_says_where_store_and_manifest_differ(
    server: Server, client: httpx2.Client, furnished: Furnished, trial: str
) -> None:
    prefix = f"trials/{furnished.names['trial_id']}"
    root = server.services.store.directory
    assert root is not None
    (root / prefix / "1-claim" / "agent" / "log.txt").unlink()
    for path in ("1-claim/extra.txt", "2-lost/agent/log.txt"):
        (root / prefix / path).parent.mkdir(parents=True, exist_ok=True)
        (root / prefix / path).write_bytes(b"x")
    found = client.get(f"{trial}/debug-files").json()
    assert (found["trial_s3_key"], found["computed_prefix"]) == (f"{prefix}/1-claim", prefix)
    known, unknown = found["places"]
    assert (known["attempt"], known["manifest"], known["complete"]) == (1, "read", True)
    assert (known["missing"], known["unlisted"]) == (
        [f"{prefix}/1-claim/agent/log.txt"],
        [f"{prefix}/1-claim/extra.txt"],
    )
    assert (unknown["prefix"], unknown["attempt"], unknown["manifest"]) == (f"{prefix}/2-lost", None, "missing")


def test_the_files_of_each_version_of_a_task(
    client: httpx2.Client, furnished: Furnished, new_task: Callable[..., TaskFolder], server: Server
) -> None:
    task = furnished.path("/tasks/{task_id}")
    folder = new_task("hello", instruction="Third.")
    (folder.path / "tests" / "data.bin").write_bytes(b"\xff\x00" * 10)
    (folder.path / "tests" / "run.sh").write_text("é" * 10)
    (folder.path / "tests" / "run.sh").chmod(0o755)
    folder.upload(client)
    listed = client.get(f"{task}/files", params={"prefix": "tests/", "limit": 2}).json()
    assert [(file["path"], file["executable"]) for file in listed["files"]] == [
        ("tests/data.bin", False),
        ("tests/run.sh", True),
    ]
    assert (listed["version"], listed["cursor"], listed["archive_url"]) == (3, "tests/run.sh", None)
    texts = {number: client.get(f"{task}/files/instruction.md?version={number}").json() for number in (1, 2, 3)}
    assert [text["content"] for text in texts.values()] == ["First.", "Second.", "Third."]
    cut = client.get(f"{task}/files/tests/run.sh?max_bytes=5").json()
    assert (cut["content"], cut["encoding"], cut["truncated"], cut["size"]) == ("éé", "utf-8", True, 20)
    binary = client.get(f"{task}/files/tests/data.bin").json()
    assert (base64.b64decode(binary["content"]), binary["encoding"]) == (b"\xff\x00" * 10, "base64")
    whole = client.get(f"{task}/files/instruction.md")
    again = client.get(f"{task}/files/instruction.md", headers={"If-None-Match": whole.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    archive = client.get(f"{task}/files", params={"presign": True, "recursive": True}).json()
    assert archive["files"] == []
    assert archive["content_hash"] == folder.content_hash
    sent = server.client(None).get(archive["archive_url"])
    assert (sent.status_code, len(sent.content)) == (200, archive["archive_bytes"])
    for absent in ("files/absent", "files/instruction.md?version=9", "files?version=9", "files/../task.toml"):
        assert client.get(f"{task}/{absent}").status_code == 404, absent


def test_versions_with_what_their_trials_came_to(
    server: Server, client: httpx2.Client, furnished: Furnished, monkeypatch: pytest.MonkeyPatch
) -> None:
    task_id = furnished.names["task_id"]
    body = {"task_id": task_id, "configs": [{"agent": "oracle", "n_trials": 1}], "experiment_id": "other"}
    assert client.post("/tasks/sweep", json=body).status_code == 200
    rewards = {0: (1.0, 0.5, False), 1: (0.0, 0.25, True), 2: (0.4, None, None), 3: (None, 1.0, False)}
    for number, (reward, cost, estimated) in rewards.items():
        trial_id = f"{task_id}-{number}"
        server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = %s", trial_id)
        server.sql(
            "UPDATE trials SET reward = %s, cost_usd = %s, cost_is_estimated = %s WHERE id = %s",
            *(reward, cost, estimated, trial_id),
        )
        for epoch, spent in ((8, 0.125), (9, cost)):
            server.sql(
                "INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, cost_usd) "
                "SELECT id, %s, org_id, 0, gen_random_uuid(), 'w', %s FROM trials WHERE id = %s",
                *(epoch, spent, trial_id),
            )
    server.sql("UPDATE trials SET superseded_by_trial_id = %s WHERE id = %s", f"{task_id}-4", f"{task_id}-3")
    found = client.get(f"/tasks/{task_id}/detail").json()
    newest, oldest = found["versions"]
    expected = {
        "version": 2,
        "is_current": True,
        "trial_count": 6,
        "completed_count": 4,
        "failed_count": 0,
        "skipped_count": 0,
        "pending_count": 2,
        "pass_count": 1,
        "partial_count": 1,
        "fail_count": 2,
        "reward_sum": 1.4,
        "reward_total": 4,
        "cost_usd": 0.75,
        "cost_trial_count": 2,
        "cost_has_estimated": True,
        "cost_has_native": True,
        "billed_cost_usd": 2.25,
        "billed_trial_count": 4,
    }
    assert {name: newest[name] for name in expected} == expected
    assert [entry["name"] for entry in newest["experiments"]] == ["other", "mine"]
    assert (oldest["version"], oldest["trial_count"], oldest["last_run_at"]) == (1, 0, None)
    assert (found["totals"]["total_trials"], found["totals"]["billed_cost_usd"]) == (6, 2.25)
    assert found["task"]["trials"] is None

    changed = client.put(f"/tasks/{task_id}/versions/1/default")
    assert (changed.status_code, changed.json()["is_current"]) == (200, True)
    assert client.put(f"/tasks/{task_id}/versions/1/default").json() == changed.json()
    assert client.get(f"/tasks/{task_id}").json()["current_version"] == 1
    assert client.put(f"/tasks/{task_id}/versions/3/default").status_code == 404

    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    shown = CliRunner().invoke(cli, ["status", task_id, "--detail"])
    assert shown.exit_code == 0, shown.output
    row = next(line for line in shown.output.splitlines() if line.split()[:1] == ["2"])
    assert "4 success, 2 unfinished" in row
    assert "0.35" in row
    assert "1/4" in row
    assert "~$0.7500" in row
    assert "6 trials, cost ~$0.7500, with all that was replaced $2.2500" in shown.output
    listed = CliRunner().invoke(cli, ["status", task_id, "--versions"])
    rows = [line.split() for line in listed.output.splitlines() if line.split()[:1] in (["1"], ["2"])]
    assert [(row[0], row[1] == "current") for row in rows] == [("2", False), ("1", True)]
    one = CliRunner().invoke(cli, ["status", task_id, "--versions", "--version", "2", "--json"])
    assert json.loads(one.stdout)["version"] == 2
    missing = CliRunner().invoke(cli, ["status", task_id, "--versions", "--version", "7", "--json"])
    assert (missing.exit_code, json.loads(missing.stdout)["status"]) == (1, 404)
    for usage in (["--detail"], [task_id, "--version", "1"], [task_id, "--detail", "--versions"]):
        assert CliRunner().invoke(cli, ["status", *usage]).exit_code == 2
