"""Importing trials that were run elsewhere, by the command and over HTTP, against a real server."""

import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from oddish.cli import cli
from oddish.client.trialarchive import trial_files, write_trials
from oddish.settings import Settings
from support.harbor_jobs import DATA, JOBS, TRIALS, Expected
from support.many_jobs import write_jobs

from .serving import KEY, Server, TaskFolder

type Invoke = Callable[..., Result]

TASKS = DATA / "tasks"
SOLVED = next(row for row in TRIALS if row.job.startswith("14a"))
FAILED = next(row for row in TRIALS if row.job.startswith("15"))

pytestmark = pytest.mark.usefixtures("quiet_logs")


@pytest.fixture
def invoke(server: Server, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("ODDISH_API_URL", server.url)
    monkeypatch.setenv("ODDISH_API_KEY", KEY)
    return lambda *arguments: CliRunner().invoke(cli, ["upload", *map(str, arguments)])


def document(result: Result, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def queued(server: Server) -> int:
    count = server.sql("SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM queue_lanes)")[0][0]
    assert isinstance(count, int)
    return count


def stored(server: Server, prefix: str) -> list[Path]:
    root = server.services.store.directory
    assert root is not None
    return [path for path in (root / prefix).rglob("*") if path.is_file()]


def test_recorded_jobs_are_imported_with_the_verdict_of_their_facts_and_only_once(
    server: Server, client: httpx2.Client, invoke: Invoke
) -> None:
    done = document(invoke(JOBS, "--path", TASKS, "-E", "march", "--json"))
    by_name = {(entry["job_name"], entry["trial_name"]): entry for entry in done["trials"]}
    assert by_name.keys() == {(row.job, row.name) for row in TRIALS}
    tasks = client.get("/tasks", params={"experiment_id": "march", "limit": 100}).json()
    trials = {trial["id"]: trial for task in tasks for trial in task["trials"]}
    assert len(trials) == 35
    for row in TRIALS:
        entry = by_name[row.job, row.name]
        if not row.has_result:
            assert (entry["status"], entry["trial_id"]) == ("skipped", None)
            assert "has no result.json" in entry["error"]
            continue
        agrees(row, entry, trials[entry["trial_id"]])
    evidence_is_there(client, by_name, trials)
    assert queued(server) == 0
    assert stored(server, "imports") == []

    again = document(invoke(JOBS, "--path", TASKS, "-E", "march", "--json"))
    assert [entry["trial_id"] for entry in again["trials"]] == [entry["trial_id"] for entry in done["trials"]]
    assert {entry["existing"] for entry in again["trials"]} == {True, False}, "only the one without a result is not"
    assert server.sql("SELECT count(*) FROM trials") == [(35,)]
    elsewhere = document(invoke(JOBS / "01-hello-oracle", "--task", "hello-world", "--json"))
    assert [entry["existing"] for entry in elsewhere["trials"]] == [False] * 3
    assert elsewhere["experiment_id"] != done["experiment_id"]


def agrees(row: Expected, entry: dict[str, Any], trial: dict[str, Any]) -> None:
    verdict = row.verdict
    succeeded = verdict.status == "success"
    assert entry["status"] == "imported"
    assert (trial["status"], trial["reasons"]) == ("success" if succeeded else "failed", [*verdict.reasons])
    assert (entry["trial_status"], entry["reward"]) == (trial["status"], trial["reward"])
    assert (trial["harbor_stage"] == "cancelled") is (verdict.status == "cancelled")
    assert (trial["origin"], trial["agent"], trial["model"]) == ("imported", row.agent, row.model)
    assert (trial["reward"], trial["rewards"]) == (row.reward, row.rewards)
    assert (trial["input_tokens"], trial["cost_usd"]) == (row.tokens[0], pytest.approx(row.cost_usd))
    assert trial["total_steps"] == (sum(row.steps.values()) if row.steps else None)
    assert (trial["attempts"], trial["max_attempts"], trial["environment"]) == (1, 1, "docker")
    assert trial["started_at"] < trial["finished_at"]
    assert trial["task_id"].startswith(f"{row.task.removeprefix('fixtures/')}-")


def evidence_is_there(client: httpx2.Client, entries: dict[Any, Any], trials: dict[str, Any]) -> None:
    """The same reads work as for a trial that a worker ran."""
    entry = entries[SOLVED.job, SOLVED.name]
    trial = trials[entry["trial_id"]]
    assert trial["has_trajectory"] is True
    files = client.get(f"/trials/{trial['id']}/files").json()["files"]
    there = {str(path.relative_to(SOLVED.directory)): path for path in SOLVED.directory.rglob("*") if path.is_file()}
    assert {file["path"] for file in files} == there.keys()
    assert entry["files_extracted"] == len(there)
    for path, source in there.items():
        assert client.get(f"/trials/{trial['id']}/files/{path}").content == source.read_bytes()
    result = json.loads((SOLVED.directory / "result.json").read_text())
    assert client.get(f"/trials/{trial['id']}/result").json() == result
    assert "=== verifier/test-stdout.txt ===" in client.get(f"/trials/{trial['id']}/logs").json()["logs"]


def test_what_cannot_be_imported_is_refused_before_anything_is_made(
    server: Server, client: httpx2.Client, invoke: Invoke, new_task: Callable[..., TaskFolder], tmp_path: Path
) -> None:
    new_task("greet-script").upload(client)
    cases: list[tuple[tuple[object, ...], int, str]] = [
        ((JOBS / "01-hello-oracle",), 1, "/data/tasks/hello-world, which its job names, is not here"),
        ((JOBS,), 1, "The server has no task broken-build, csv-totals"),
        ((JOBS, "--task", "greet-script"), 1, "trials of 15 tasks"),
        ((JOBS, "--task", "absent"), 1, "no task 'absent'"),
        ((JOBS, "--path", TASKS / "hello-world"), 1, "no task of that name in --path"),
        ((JOBS, "--path", TASKS, "--task", "greet-script"), 2, "give one of them"),
        ((JOBS, "--path", JOBS), 2, "is a Harbor job: name it as PATH"),
        ((JOBS, "--path", TASKS, "-d", "a@1"), 2, "both name tasks"),
        ((JOBS, "-t", "x"), 2, "choose among the tasks of --path"),
        ((TASKS, "--task", "greet-script"), 2, "Error: --task: only for trials, and no Harbor job is named"),
        ((TASKS, "--path", TASKS / "hello-world"), 2, "give one of them"),
        ((tmp_path,), 2, "is neither a task nor a Harbor job"),
        ((tmp_path / "absent",), 2, "does not exist"),
        ((), 2, "Name a task"),
        (("--default-version", "2"), 2, "Name its task with --task."),
        (("--default-version", "2", "--task", "greet-script", "-M", "new"), 2, "-M cannot be given with it."),
        (("--default-version", "2", "--task", "greet-script"), 1, "--versions` lists those there are."),
    ]
    for arguments, code, reason in cases:
        result = invoke(*arguments)
        assert (result.exit_code, reason in result.output) == (code, True), (arguments, result.output)
    assert server.sql("SELECT count(*) FROM trials") == server.sql("SELECT count(*) FROM experiments") == [(0,)]
    assert [task["name"] for task in client.get("/tasks").json() if task["name"] != "hello-world"] == ["greet-script"]


def test_a_task_that_only_its_job_names_is_registered_from_there(
    server: Server, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs = write_jobs(tmp_path, 3)
    shutil.copytree(TASKS / "hello-world", tmp_path / "tasks" / "hello-world")
    for path in jobs.glob("*/*/result.json"):
        path.write_text(path.read_text().replace("/data/tasks/hello-world", "tasks/hello-world"))
    (jobs / "job-000" / "hello-world__0000001" / "result.json").write_text("{")
    monkeypatch.chdir("/")
    result = invoke(jobs / "job-000", "-E", "mine", "-u", "ada")
    assert result.exit_code == 2, result.output
    assert f"Task hello-world is registered from {tmp_path / 'tasks' / 'hello-world'}." in result.output
    assert "2 trials imported (2 success, 0 failed), 1 refused." in result.output
    assert "hello-world__0000001 refused: its result.json is malformed" in result.output
    assert server.sql("SELECT user_name FROM experiments") == server.sql("SELECT user_name FROM tasks") == [("ada",)]
    elsewhere = invoke(jobs / "job-000", "--path", TASKS / "greet-script", "-E", "elsewhere")
    assert "Trials of hello-world are imported as greet-script's." in elsewhere.output
    skipped = document(invoke(jobs, "-E", "records", "--skip-artifacts", "--json"), code=2)
    sizes = {entry["files_extracted"] for entry in skipped["trials"] if entry["status"] == "imported"}
    assert sizes == {3}, "result.json, config.json and the reward"


def test_tasks_are_registered_without_running_anything(
    server: Server, client: httpx2.Client, invoke: Invoke, tmp_path: Path
) -> None:
    chosen = ("-t", "hello-*", "-t", "greet-*")
    first = document(invoke(TASKS, *chosen, "-M", "first", "-P", "high", "-u", "ada", "--json"))
    assert first["mode"] == "task_upload"
    assert {task["name"]: (task["version"], task["existing_task"]) for task in first["tasks"]} == {
        "greet-script": (1, False),
        "hello-world": (1, False),
    }
    again = document(invoke(TASKS, *chosen, "--json"))
    assert [task["content_unchanged"] for task in again["tasks"]] == [True, True]
    changed = shutil.copytree(TASKS / "hello-world", tmp_path / "hello-world")
    (changed / "instruction.md").write_text("Another one.")
    assert invoke(changed, "-M", "second").output.split("  ")[1:] == ["version 2", "new version\n"]
    task_id = first["tasks"][1]["id"]
    task = client.get(f"/tasks/{task_id}").json()
    assert (task["priority"], task["user"], task["total"]) == ("high", "ada", 0)
    messages = [version["message"] for version in client.get(f"/tasks/{task_id}/versions").json()]
    assert messages == ["second", "first"]
    back = invoke("--task", "hello-world", "--default-version", "1")
    assert back.output == f"Task {task_id}: version 1 is the one that new trials run.\n"
    assert client.get(f"/tasks/{task_id}").json()["current_version"] == 1
    assert document(invoke("--task", task_id, "--default-version", "2", "--json"))["is_current"] is True
    assert queued(server) == 0


def packed(*directories: Path) -> bytes:
    target = io.BytesIO()
    write_trials({place: trial_files(directory) for place, directory in enumerate(directories)}, target)
    return target.getvalue()


def identity(row: Expected) -> str:
    found: str = json.loads((row.directory / "result.json").read_text())["id"]
    return found


@pytest.fixture
def greet(client: httpx2.Client) -> str:
    return str(TaskFolder(TASKS / "greet-script").upload(client)["task_id"])


def begin(client: httpx2.Client, task_id: str, *external_ids: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The answer to the announcement of a batch, and the body that completes it."""
    items = [{"task_id": task_id, "external_trial_id": one} for one in external_ids]
    answer = client.post("/trials/import/batch", json={"experiment_id": "batch", "trials": items})
    assert answer.status_code == 200, answer.text
    target = answer.json()
    completion = {name: target[name] for name in ("import_id", "experiment_id")}
    return target, {**completion, "trials": items}


def send(target: dict[str, Any], content: bytes) -> None:
    sent = httpx2.put(target["upload_url"], content=content, headers=target["upload_headers"])
    assert sent.status_code == 200, sent.text


def complete(client: httpx2.Client, body: dict[str, Any], **headers: str) -> list[dict[str, Any]]:
    answer = client.post("/trials/import/batch/complete", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    trials: list[dict[str, Any]] = answer.json()["trials"]
    return trials


def test_each_trial_of_a_batch_is_judged_by_itself(
    server: Server, client: httpx2.Client, greet: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "trial.log").write_text("it began")
    names = (identity(SOLVED), "unfinished", "somebody-else", identity(FAILED), "absent")
    target, body = begin(client, greet, *names)
    assert client.post("/trials/import/batch/complete", json=body).json()["code"] == "import_archive_missing"
    send(target, packed(SOLVED.directory, tmp_path / "empty", SOLVED.directory, FAILED.directory))
    done = complete(client, body)
    assert [trial["status"] for trial in done] == ["imported", "error", "error", "imported", "error"]
    assert (done[0]["trial_status"], done[3]["trial_status"]) == ("success", "failed")
    problems = [trial["error"]["detail"] for trial in done if trial["error"]]
    assert ["no result.json" in problems[0], "is that of trial" in problems[1]] == [True, True]
    assert "holds no directory for it" in problems[2]
    assert {trial["error"]["code"] for trial in done if trial["error"]} == {"unreadable_trial"}
    assert len(stored(server, "trials")) == sum(trial["files_extracted"] for trial in done) + 2
    assert stored(server, "imports") == []

    repeated = complete(client, {**body, "trials": [body["trials"][index] for index in (0, 3)]})
    assert [trial["status"] for trial in repeated] == ["existing", "existing"]
    known, _ = begin(client, greet, identity(SOLVED), identity(FAILED))
    assert known["upload_url"] is None
    assert [trial["trial_id"] for trial in known["known"]] == [done[0]["trial_id"], done[3]["trial_id"]]
    server.sql("UPDATE trials SET deleted_at = now()")
    anew, _ = begin(client, greet, identity(SOLVED))
    assert anew["known"] == [], "what was deleted may be imported again"


def test_batches_that_hold_the_same_trial_make_it_once(server: Server, client: httpx2.Client, greet: str) -> None:
    batches = [begin(client, greet, identity(SOLVED), identity(FAILED)) for _ in range(4)]
    for target, _ in batches:
        send(target, packed(SOLVED.directory, FAILED.directory))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda batch: complete(server.client(), batch[1]), batches))
    statuses = [[trial["status"] for trial in answer] for answer in answers]
    assert sorted(one for answer in statuses for one in answer) == ["existing"] * 6 + ["imported"] * 2
    assert len({trial["trial_id"] for answer in answers for trial in answer}) == 2
    assert server.sql("SELECT count(*) FROM trials") == server.sql("SELECT count(*) FROM attempts") == [(2,)]
    root = server.services.store.directory
    assert root is not None
    kept = {str(path.parent.relative_to(root)) for path in stored(server, "trials") if path.name == "trial.log"}
    prefixes = {row[0] for row in server.sql("SELECT artifact_prefix FROM attempts")}
    assert kept == prefixes, "the files of the others are gone"


def members(*infos: tuple[tarfile.TarInfo, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for info, content in infos:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def hostile() -> Iterator[tuple[str, bytes, str]]:
    yield "no archive", b"not gzip at all", "invalid_archive"
    yield "a path out", members((tarfile.TarInfo("0/../../evil"), b"x")), "invalid_archive"
    yield "an absolute path", members((tarfile.TarInfo("/etc/evil"), b"x")), "invalid_archive"
    device, link = tarfile.TarInfo("0/null"), tarfile.TarInfo("0/result.json")
    device.type, link.type, link.linkname = tarfile.CHRTYPE, tarfile.SYMTYPE, "/etc/passwd"
    yield "a device", members((device, b"")), "invalid_archive"
    yield "a link out", members((link, b"")), "invalid_archive"
    yield "too many files", members(*((tarfile.TarInfo(f"0/{name}"), b"") for name in range(200))), "too_large"
    yield "a bomb", members((tarfile.TarInfo("0/zeros"), bytes(2_000_000))), "too_large"


def test_hostile_archives_are_refused_and_leave_nothing(server: Server, client: httpx2.Client, greet: str) -> None:
    for what, content, code in hostile():
        target, body = begin(client, greet, identity(SOLVED))
        send(target, content)
        answer = client.post("/trials/import/batch/complete", json=body)
        assert (answer.status_code in (400, 413), answer.json()["code"]) == (True, code), what
        assert stored(server, "imports") == stored(server, "trials") == [], what
    assert server.sql("SELECT count(*) FROM trials") == [(0,)]


def test_a_link_inside_a_trial_leads_nowhere(server: Server, client: httpx2.Client, greet: str) -> None:
    link = tarfile.TarInfo("0/agent/trajectory.json")
    link.type, link.linkname = tarfile.SYMTYPE, "../../1/result.json"
    record = {"id": "a", "verifier_result": {"rewards": {"reward": 1}}}
    target, body = begin(client, greet, "a")
    other = (tarfile.TarInfo("1/result.json"), b"{}")
    send(target, members((tarfile.TarInfo("0/result.json"), json.dumps(record).encode()), other, (link, b"")))
    [trial] = complete(client, body)
    assert (trial["status"], trial["files_extracted"]) == ("imported", 1)
    assert client.get(f"/trials/{trial['trial_id']}").json()["has_trajectory"] is False


def test_nobody_completes_the_import_of_somebody_else(server: Server, client: httpx2.Client, greet: str) -> None:
    target, body = begin(client, greet, identity(SOLVED))
    send(target, packed(SOLVED.directory))
    colleague, stranger = server.client(server.key("c")), server.client(server.key("d", org="other"))
    assert colleague.post("/trials/import/batch/complete", json=body).json()["code"] == "import_archive_missing"
    for path, sent in (
        ("/trials/import/batch/complete", body),
        ("/trials/import/batch", {"trials": body["trials"]}),
        ("/trials/import/init", {"task_id": greet, "trial": {"agent": "nop", "status": "success"}}),
    ):
        assert stranger.post(path, json=sent).status_code == 404, path
    assert complete(client, body, **{"Idempotency-Key": "k"}) == complete(client, body, **{"Idempotency-Key": "k"})
    collection = server.sql("UPDATE experiments SET is_collection = true RETURNING id")[0][0]
    refused = client.post("/trials/import/batch", json={"experiment_id": collection, "trials": body["trials"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_runnable")
    versions = {"trials": [{**body["trials"][0], "task_version": 2}]}
    assert client.post("/trials/import/batch", json=versions).status_code == 404
    twice = client.post("/trials/import/batch", json={"trials": body["trials"] * 2})
    assert "is there twice" in twice.json()["detail"]


def test_a_trial_that_is_described_first_is_judged_anew_by_its_record(
    server: Server, client: httpx2.Client, greet: str
) -> None:
    said = {
        "agent": "terminus-2",
        "model": "openai/scripted-a",
        "environment": "docker",
        "status": "failed",
        "reward": 1.0,
        "error_message": "it was not good enough",
        "started_at": "2026-11-29T13:17:59",
        "external_trial_id": identity(SOLVED),
    }
    body = {"task_id": greet, "experiment_id": "wire", "trial": said}
    target = client.post("/trials/import/init", json=body).json()
    trial_id = target["trial_id"]
    claimed = client.get(f"/trials/{trial_id}").json()
    assert (claimed["status"], claimed["reasons"]) == ("failed", ["ReportedFailure"])
    assert (claimed["reward"], claimed["started_at"]) == (1.0, "2026-11-29T13:17:59Z")
    assert client.get(f"/trials/{trial_id}/files").status_code == 404
    done = {"trial_id": trial_id}
    assert client.post("/trials/import/complete", json=done).json()["code"] == "import_archive_missing"
    send(target, packed(FAILED.directory))
    target = client.post("/trials/import/init", json=body).json()
    assert (target["trial_id"], target["requires_completion"]) == (trial_id, True), "a second try has a URL of its own"
    send(target, packed(SOLVED.directory))
    first, second = (client.post("/trials/import/complete", json=done).json() for _ in range(2))
    assert first == second
    assert first["files_extracted"] == len([path for path in SOLVED.directory.rglob("*") if path.is_file()])
    trial = client.get(f"/trials/{trial_id}").json()
    assert (trial["status"], trial["reasons"], trial["origin"]) == ("success", [], "imported")
    assert (trial["has_trajectory"], trial["input_tokens"]) == (True, SOLVED.tokens[0])
    last = client.post("/trials/import/init", json=body).json()
    assert (last["trial_id"], last["upload_url"], last["requires_completion"]) == (trial_id, None, False)
    assert stored(server, "imports") == []
    plain = {**body, "upload_artifacts": False, "trial": {"agent": "nop", "status": "success", "reward": 0.5}}
    ids = {client.post("/trials/import/init", json=plain).json()["trial_id"] for _ in range(2)}
    assert len(ids) == 2, "without an external id nobody knows that it is the same"


READS = (
    "/tasks",
    "/tasks/{task}/trials",
    "/tasks/{task}/detail",
    "/tasks/browse?sort=avg_score_desc",
    "/tasks/browse?compare_by=agent&compare_a=x&compare_b=y",
    "/tasks/browse?compare_by=agent&compare_a=x&compare_b=y&compare_agg=best",
    "/tasks/browse?top_by=agent&top_value=x",
    "/experiments/odd",
)


def test_nothing_that_a_client_says_of_a_trial_keeps_others_from_reading(client: httpx2.Client, greet: str) -> None:
    wide = "".join(chr(0x20000 + 37 * index % 40_000) for index in range(255))
    refused: list[dict[str, object]] = [
        {"started_at": "9999-12-31T23:59:59-12:00"},
        {"finished_at": "0001-01-01T00:00:00+12:00"},
        {"agent": wide},
        {"model": wide},
        {"environment": wide},
    ]
    accepted: list[dict[str, object]] = [
        {"harbor_config": {"source": 1, "sha": {"a": 1}}},
        *({"agent": agent, "reward": 1.7e308, "cost_usd": 1.7e308} for agent in "xyxy"),
        *({"agent": agent, "reward": -1.7e308, "cost_usd": -1.7e308} for agent in "yy"),
        {"agent": wide[:63], "model": wide[:63], "environment": wide[:63], "started_at": "9999-12-31T23:59:59"},
    ]
    for said, status in [(said, 422) for said in refused] + [(said, 200) for said in accepted]:
        trial = {"agent": "x", "status": "success", **said}
        body = {"task_id": greet, "experiment_id": "odd", "upload_artifacts": False, "trial": trial}
        answer = client.post("/trials/import/init", json=body)
        assert answer.status_code == status, (said, answer.text)
    for path in READS:
        answer = client.get(path.format(task=greet))
        assert answer.status_code == 200, (path, answer.text)


def test_imported_trials_are_beside_the_submissions_of_an_experiment(
    server: Server, client: httpx2.Client, greet: str, settings: Settings
) -> None:
    server.offer()
    trial = {"agent": "oracle", "environment": "moon", "status": "failed", "external_trial_id": "x"}
    client.post("/trials/import/init", json={"task_id": greet, "experiment_id": "both", "trial": trial})
    configs = [{"agent": "oracle", "n_trials": 2}, {"agent": "claude-code", "model": "m", "n_trials": 1}]
    sweep = {"task_id": greet, "experiment_id": "both", "append_to_task": True, "configs": configs}
    answer = client.post("/tasks/sweep", json={**sweep, "gate_baselines": True})
    assert answer.status_code == 200, answer.text
    ids = [f"{greet}-{index}" for index in (1, 2, 3)]
    assert answer.json()["new_trial_ids"] == ids, "what others measured is not counted as ours"
    server.sql("UPDATE trials SET reward = 1 WHERE id = ANY (%s)", ids[:2])
    server.sql("UPDATE jobs SET state = 'done', finished_at = now() WHERE subject_id = ANY (%s)", ids[:2])
    trials = {trial["id"]: trial for trial in client.get(f"/tasks/{greet}").json()["trials"]}
    assert [trials[one]["environment"] for one in ids] == ["local"] * 3
    assert trials[ids[2]]["status"] != "skipped", "the gate judges by what ran here"
