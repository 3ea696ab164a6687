"""One successful call of every route, and how many statements it may take."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx2

from oddish.api import signin
from oddish.api.sites import EXPORT, EXPORT_LINKS, EXPORT_PATHS, EXPORTED, VIEWER, VIEWER_PATHS, page_path
from oddish.web import assets
from oddish.web.signin import PATH, link
from oddish.web.viewer.links import Links
from support import results

from .furnishing import Furnished
from .serving import Server

OBJECTS = ("task_id", "trial_id", "experiment_id")
READ_BOUND = 3

type Body = Callable[[Furnished], Mapping[str, object]]
type Url = Callable[[Furnished, Server], str]


@dataclass(frozen=True)
class Call:
    bound: int
    """Most SQL statements, authentication aside."""
    body: Body | None = None
    content: bytes | None = None
    """In place of a body, as it is."""
    url: Url | None = None
    """Where the path alone does not do."""
    elsewhere: int | None = None
    """The status for a caller of another organisation, where it is neither 200 nor that of something not there."""
    for_colleague: int | None = None
    """The status for another user of the organisation, as far as the table admits them, where it is another."""
    success: int = 200

    def status_elsewhere(self, path: str, furnished: Furnished) -> int:
        """What a caller of another organisation is answered: 404 when the call speaks of objects of this one."""
        said = json.dumps(self.body(furnished)) if self.body else ""
        names_objects = "{" in path or any(furnished.names[name] in said for name in OBJECTS)
        return self.elsewhere or (404 if names_objects else self.success)

    def make(
        self, client: httpx2.Client, method: str, path: str, furnished: Furnished, server: Server
    ) -> httpx2.Response:
        url = self.url(furnished, server) if self.url else furnished.path(path)
        body = self.body(furnished) if self.body else None
        return client.request(method, url, json=body, content=self.content)


def _download(furnished: Furnished, server: Server) -> str:
    return server.services.signer.sign("GET", furnished.names["key"], expires_in=60)


def _waiting(path: str) -> Url:
    """Of a trial that waits, which takes one statement more."""
    return lambda furnished, _: path.format(**furnished.names)


def _upload(furnished: Furnished, server: Server) -> str:
    return server.services.signer.sign("PUT", "uploads/new.tar.gz", expires_in=60, size_limit=1000)


def _link(furnished: Furnished, server: Server) -> str:
    code = signin.seal(server.services.keyring, "link", furnished.names["key_id"], signin.LINK_LIFETIME)
    return link("", code)


def _compared(links: Links, furnished: Furnished) -> str:
    names = furnished.names
    return links.compare(names["project"], names["dataset"], names["trace"], names["trace"])


def _compared_in_directory(furnished: Furnished, server: Server) -> str:
    return _compared(Links(f"{VIEWER}/{furnished.names['directory']}"), furnished)


def _exported(furnished: Furnished, server: Server) -> str:
    """One that is there, made again if need be."""
    server.sql(
        "INSERT INTO exports (org_id, project, dataset, object_key, sha256, bytes, exported_by) "
        "VALUES ('default', 'data-agent', 'eval-v1', 'exports/gone', '', 1, 'admin') ON CONFLICT DO NOTHING"
    )
    return furnished.path(EXPORT)


def _ended(furnished: Furnished, server: Server) -> str:
    """Of a trial that failed and that nothing has replaced, one that waits at the moment if need be."""
    failed = "SELECT id FROM trials WHERE status = 'failed' AND superseded_by_trial_id IS NULL AND org_id = 'default'"
    if not (found := server.sql(f"{failed} LIMIT 1")):
        waits = "SELECT id FROM jobs WHERE state = 'ready' LIMIT 1"
        server.sql(f"UPDATE jobs SET state = 'failed', finished_at = now() WHERE id = ({waits})")  # noqa: S608
        found = server.sql(f"{failed} LIMIT 1")
    return f"/trials/{found[0][0]}/retry"


def _submission(furnished: Furnished, agent: str) -> dict[str, object]:
    return {"task_id": furnished.names["task_id"], "configs": [{"agent": agent, "n_trials": 9}]}


def _gateway(method: str, path: str = "") -> tuple[str, str]:
    return method, f"/sandbox/harbor/v2/{path}"


def _job(there: Furnished) -> dict[str, object]:
    return {**_verification(there), "agents": [{"name": "a", "harbor_agent": "oracle"}]}


def _verification(_: Furnished) -> dict[str, object]:
    return {"task_slug": "hosted", "metadata": {"task_archive_url": "http://127.0.0.1:9/hosted.zip"}}


def _imported(furnished: Furnished, external_id: str) -> dict[str, object]:
    return {"task_id": furnished.names["task_id"], "external_trial_id": external_id}


CALLS: Mapping[tuple[str, str], Call] = {
    ("GET", "/health"): Call(1),
    ("GET", "/health/live"): Call(0),
    ("GET", "/health/ready"): Call(2),
    ("GET", "/metrics"): Call(3),
    ("GET", "/openapi.json"): Call(0),
    ("GET", "/store/{key:path}"): Call(1, url=_download),
    ("GET", "/load"): Call(2),
    ("GET", "/tasks"): Call(3, url=lambda *_: "/tasks?include_queue_info=true"),
    ("GET", "/tasks/browse"): Call(1, url=lambda *_: "/tasks/browse?statuses=pending,running,completed&agents=nop"),
    ("GET", "/tasks/browse/facets"): Call(3),
    ("GET", "/tasks/browse/experiment-options"): Call(1),
    ("GET", "/tasks/{task_id}"): Call(3),
    ("GET", "/tasks/{task_id}/trials"): Call(1),
    ("GET", "/tasks/{task_id}/trials/{index}"): Call(2, url=_waiting("/tasks/{task_id}/trials/1")),
    ("GET", "/tasks/{task_id}/versions"): Call(1),
    ("GET", "/tasks/{task_id}/versions/{version}"): Call(1),
    ("GET", "/tasks/{task_id}/detail"): Call(2),
    ("GET", "/tasks/{task_id}/files"): Call(1),
    ("GET", "/tasks/{task_id}/files/{path:path}"): Call(1),
    ("GET", "/trials/{trial_id}"): Call(2, url=_waiting("/trials/{task_id}-1")),
    ("GET", "/trials/{trial_id}/files"): Call(1),
    ("GET", "/trials/{trial_id}/files/{path:path}"): Call(1),
    ("GET", "/trials/{trial_id}/logs"): Call(1),
    ("GET", "/trials/{trial_id}/logs/structured"): Call(1),
    ("GET", "/trials/{trial_id}/result"): Call(1),
    ("GET", "/trials/{trial_id}/trajectory"): Call(1),
    ("GET", "/trials/{trial_id}/debug-files"): Call(1),
    ("GET", "/trials/{trial_id}/live"): Call(1),
    ("GET", "/experiments/{experiment_id}"): Call(1),
    ("GET", "/experiments/{experiment_id}/share"): Call(1),
    ("GET", "/public/experiments/{token}"): Call(1),
    ("GET", "/public/experiments/{token}/tasks"): Call(2),
    ("GET", "/public/experiments/{token}/tasks/{task_id}"): Call(2),
    ("GET", "/public/experiments/{token}/tasks/{task_id}/trials"): Call(3),
    ("GET", "/public/experiments/{token}/trials/{trial_id}/live"): Call(2),
    ("GET", "/agents"): Call(3),
    ("GET", assets.ROUTE): Call(0, url=lambda *_: assets.address("base.css")),
    **{("GET", path): Call(0, elsewhere=200) for path in VIEWER_PATHS},
    ("GET", VIEWER): Call(2),
    ("GET", page_path("/projects/{project}/datasets/{dataset}/compare")): Call(
        0, url=_compared_in_directory, elsewhere=200
    ),
    **{("GET", path): Call(1) for path in EXPORT_PATHS},
    ("GET", f"{EXPORT}/compare"): Call(1, url=lambda there, _: _compared(EXPORT_LINKS, there)),
    ("GET", EXPORTED): Call(1),
    ("POST", PATH): Call(0),
    ("GET", PATH): Call(1, url=_link),
    ("GET", "/secrets"): Call(1),
    ("GET", "/api-keys"): Call(1),
    ("GET", "/admin/slots"): Call(1),
    ("GET", "/admin/queue-status"): Call(1),
    ("GET", "/admin/orphaned-state"): Call(3),
    ("GET", "/admin/queue-health"): Call(3),
    ("GET", "/admin/worker-jobs"): Call(3),
    ("GET", "/admin/costs"): Call(3),
    ("GET", "/admin/costs/users/{user}"): Call(3),
    ("GET", "/admin/concurrency"): Call(3),
    ("PUT", "/store/{key:path}"): Call(1, url=_upload),
    ("POST", "/tasks/upload/init"): Call(3, body=lambda _: {"name": "other", "content_hash": "word"}),
    ("POST", "/tasks/upload/complete"): Call(
        4,
        body=lambda there: {name: there.names[name] for name in ("task_id", "content_hash")},
        for_colleague=400,
    ),
    ("POST", "/tasks/sweep"): Call(20, body=lambda there: _submission(there, "oracle")),
    ("POST", "/tasks/sweep/batch"): Call(
        40,
        body=lambda there: {"submissions": [_submission(there, agent) for agent in ("nop", "oracle")]},
        elsewhere=207,
    ),
    ("POST", "/tasks/cancel"): Call(3, body=lambda there: {"task_ids": [there.names["task_id"]]}),
    ("POST", "/tasks/{task_id}/tags"): Call(1, body=lambda _: {"add": {"suite": "a"}, "remove": ["wip"]}),
    ("POST", "/experiments/{experiment_id}/unpublish"): Call(2),
    ("POST", "/experiments/{experiment_id}/publish"): Call(2),
    ("POST", "/trials/retry"): Call(22, body=lambda there: {"task_id": there.names["task_id"]}),
    ("POST", "/trials/{trial_id}/retry"): Call(20, url=_ended),
    ("POST", "/trials/import/init"): Call(
        12, body=lambda there: {"task_id": there.names["task_id"], "trial": {"agent": "nop", "status": "success"}}
    ),
    ("POST", "/trials/import/complete"): Call(3, body=lambda there: {"trial_id": there.names["imported_trial_id"]}),
    ("POST", "/trials/import/batch"): Call(
        4, body=lambda there: {"experiment_id": "mine", "trials": [_imported(there, "another")]}
    ),
    ("POST", "/trials/import/batch/complete"): Call(
        9,
        body=lambda there: {
            "import_id": "imp_0123456789abcdef",
            "experiment_id": there.names["experiment_id"],
            "trials": [_imported(there, there.names["external_trial_id"])],
        },
    ),
    ("POST", "/api-keys"): Call(4, body=lambda _: {"name": "new", "scope": "read"}),
    ("DELETE", "/api-keys/{key_id}"): Call(5),
    ("PUT", "/secrets/{name}"): Call(2, body=lambda _: {"value": "another value"}, elsewhere=200),
    ("DELETE", "/secrets/{name}"): Call(1, elsewhere=200),
    ("PUT", "/admin/concurrency"): Call(2, body=lambda _: {"queue_key": "nop_oracle", "limit": 7}),
    ("PUT", "/tasks/{task_id}/versions/{version}/default"): Call(2),
    ("PUT", "/admin/weights"): Call(2, body=lambda _: {"user": "admin", "weight": 2}, elsewhere=404),
    _gateway("POST", "jobs/execute-tasks"): Call(8, body=_job, success=202),
    _gateway("POST", "jobs/verify-task"): Call(8, body=_verification, success=202),
    _gateway("POST", "run/datapoint"): Call(15, body=_job, success=504),
    _gateway("GET", "jobs"): Call(2),
    _gateway("GET", "jobs/{job_id}"): Call(2),
    _gateway("GET", "jobs/{job_id}/events"): Call(3),
    _gateway("GET", "jobs/{job_id}/artifacts"): Call(2),
    _gateway("GET", "jobs/{job_id}/artifacts/archive"): Call(3),
    _gateway("GET", "jobs/{job_id}/deliveries"): Call(2),
    _gateway("POST", "jobs/{job_id}/cancel"): Call(7),
    _gateway("POST", "jobs/{job_id}/retry-errored-trials"): Call(11, success=202),
    ("PUT", EXPORT): Call(4, content=results.packed(), elsewhere=200),
    ("DELETE", EXPORT): Call(2, url=_exported, elsewhere=200),  # it has one of its own by now
    ("DELETE", "/trials/{trial_id}"): Call(4),
    ("DELETE", "/experiments/{experiment_id}"): Call(5),
    ("DELETE", "/tasks/{task_id}"): Call(5),
}
