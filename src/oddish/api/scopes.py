"""Who may call what: every route, the scope its key needs and, for some, the role of the key's user.

A route that is missing here stops the server.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from oddish.api.sites import EXPORT, EXPORT_PATHS, EXPORTED, VIEWER_PATHS
from oddish.identity.principal import ADMIN, Scope
from oddish.web import assets, signin


@dataclass(frozen=True, slots=True)
class Needs:
    """What a call needs."""

    scope: Scope
    """Of the key; one that includes it will do."""
    role: str | None = None
    """Of the user whose key it is."""
    unless: str | None = None
    """A switch of the settings that opens the route to everybody."""


READ, TASKS, FULL = map(Needs, Scope)
ADMINS = Needs(Scope.FULL, ADMIN)
"""For what others of the organisation depend on."""

METRICS = Needs(Scope.FULL, unless="metrics_public")
"""For those who watch the deployment: counts of all organisations by queue key, and nothing of anybody's trials."""

PUBLIC = None
"""No key: the route shows nothing of anybody, or carries its own authority, in a signature or as a share link."""

type Access = Needs | None

ACCESS: Mapping[tuple[str, str], Access] = {
    ("GET", "/health"): PUBLIC,
    ("GET", "/health/live"): PUBLIC,
    ("GET", "/health/ready"): PUBLIC,
    ("GET", "/metrics"): METRICS,
    ("GET", "/openapi.json"): PUBLIC,
    ("PUT", "/store/{key:path}"): PUBLIC,
    ("GET", "/store/{key:path}"): PUBLIC,
    ("POST", "/tasks/upload/init"): TASKS,
    ("POST", "/tasks/upload/complete"): TASKS,
    ("POST", "/tasks/sweep"): TASKS,
    ("POST", "/tasks/sweep/batch"): TASKS,
    ("POST", "/tasks/cancel"): TASKS,
    ("POST", "/tasks/{task_id}/tags"): TASKS,
    ("POST", "/trials/retry"): TASKS,
    ("POST", "/trials/{trial_id}/retry"): TASKS,
    ("POST", "/trials/import/init"): TASKS,
    ("POST", "/trials/import/complete"): TASKS,
    ("POST", "/trials/import/batch"): TASKS,
    ("POST", "/trials/import/batch/complete"): TASKS,
    ("GET", "/load"): READ,
    ("GET", "/agents"): READ,
    ("GET", "/tasks"): READ,
    ("GET", "/tasks/browse"): READ,
    ("GET", "/tasks/browse/facets"): READ,
    ("GET", "/tasks/browse/experiment-options"): READ,
    ("GET", "/tasks/{task_id}"): READ,
    ("GET", "/tasks/{task_id}/trials"): READ,
    ("GET", "/tasks/{task_id}/trials/{index}"): READ,
    ("GET", "/tasks/{task_id}/versions"): READ,
    ("GET", "/tasks/{task_id}/versions/{version}"): READ,
    ("PUT", "/tasks/{task_id}/versions/{version}/default"): TASKS,
    ("GET", "/tasks/{task_id}/detail"): READ,
    ("GET", "/tasks/{task_id}/files"): READ,
    ("GET", "/tasks/{task_id}/files/{path:path}"): READ,
    ("GET", "/trials/{trial_id}"): READ,
    ("GET", "/trials/{trial_id}/files"): READ,
    ("GET", "/trials/{trial_id}/files/{path:path}"): READ,
    ("GET", "/trials/{trial_id}/logs"): READ,
    ("GET", "/trials/{trial_id}/logs/structured"): READ,
    ("GET", "/trials/{trial_id}/result"): READ,
    ("GET", "/trials/{trial_id}/trajectory"): READ,
    ("GET", "/trials/{trial_id}/debug-files"): READ,
    ("GET", "/trials/{trial_id}/live"): READ,
    ("GET", "/experiments/{experiment_id}"): READ,
    ("GET", "/experiments/{experiment_id}/share"): READ,
    ("POST", "/experiments/{experiment_id}/publish"): FULL,
    ("POST", "/experiments/{experiment_id}/unpublish"): FULL,
    ("GET", "/public/experiments/{token}"): PUBLIC,
    ("GET", "/public/experiments/{token}/tasks"): PUBLIC,
    ("GET", "/public/experiments/{token}/tasks/{task_id}"): PUBLIC,
    ("GET", "/public/experiments/{token}/tasks/{task_id}/trials"): PUBLIC,
    ("GET", "/public/experiments/{token}/trials/{trial_id}/live"): PUBLIC,
    ("POST", "/api-keys"): FULL,
    ("GET", "/api-keys"): FULL,
    ("DELETE", "/api-keys/{key_id}"): FULL,
    ("GET", "/secrets"): READ,
    ("PUT", "/secrets/{name}"): ADMINS,
    ("DELETE", "/secrets/{name}"): ADMINS,
    ("GET", "/admin/slots"): FULL,
    ("GET", "/admin/queue-status"): FULL,
    ("GET", "/admin/orphaned-state"): FULL,
    ("GET", "/admin/queue-health"): FULL,
    ("GET", "/admin/worker-jobs"): FULL,
    ("GET", "/admin/costs"): FULL,
    ("GET", "/admin/costs/users/{user}"): FULL,
    ("GET", "/admin/concurrency"): FULL,
    ("PUT", "/admin/concurrency"): ADMINS,
    ("PUT", "/admin/weights"): ADMINS,
    ("DELETE", "/trials/{trial_id}"): ADMINS,
    ("DELETE", "/experiments/{experiment_id}"): ADMINS,
    ("DELETE", "/tasks/{task_id}"): ADMINS,
    ("POST", "/sandbox/harbor/v2/jobs/execute-tasks"): TASKS,
    ("POST", "/sandbox/harbor/v2/jobs/verify-task"): TASKS,
    ("POST", "/sandbox/harbor/v2/run/datapoint"): TASKS,
    ("GET", "/sandbox/harbor/v2/jobs"): READ,
    ("GET", "/sandbox/harbor/v2/jobs/{job_id}"): READ,
    ("GET", "/sandbox/harbor/v2/jobs/{job_id}/events"): READ,
    ("POST", "/sandbox/harbor/v2/jobs/{job_id}/cancel"): TASKS,
    ("POST", "/sandbox/harbor/v2/jobs/{job_id}/retry-errored-trials"): TASKS,
    ("GET", "/sandbox/harbor/v2/jobs/{job_id}/artifacts"): READ,
    ("GET", "/sandbox/harbor/v2/jobs/{job_id}/artifacts/archive"): READ,
    ("GET", "/sandbox/harbor/v2/jobs/{job_id}/deliveries"): READ,
    ("POST", signin.PATH): READ,
    ("GET", signin.PATH): PUBLIC,
    ("GET", assets.ROUTE): PUBLIC,
    **{("GET", path): READ for path in (*VIEWER_PATHS, *EXPORT_PATHS)},
    ("GET", EXPORTED): READ,
    ("PUT", EXPORT): TASKS,
    ("DELETE", EXPORT): TASKS,
}


class UnlistedRoute(RuntimeError):
    """A route that the table does not know, or knows without there being one."""


def access(methods: Iterable[str], path: str) -> Access:
    """What a call of a route needs, the same for all its methods."""
    needed = {ACCESS[method, path] for method in methods if (method, path) in ACCESS}
    listed = all((method, path) in ACCESS for method in methods)
    if not listed or len(needed) != 1:
        raise UnlistedRoute(f"{sorted(methods)} {path} has no single entry in the table of scopes")
    return needed.pop()
