"""Who may call what: every route and the scope its key needs. A route that is missing here stops the server."""

from collections.abc import Iterable, Mapping

from oddish.identity.principal import Scope

PUBLIC = None
"""No key: the route shows nothing of anybody, or carries its own authority in a signature."""

type Access = Scope | None

ACCESS: Mapping[tuple[str, str], Access] = {
    ("GET", "/health"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("PUT", "/store/{key:path}"): PUBLIC,
    ("GET", "/store/{key:path}"): PUBLIC,
    ("POST", "/tasks/upload/init"): Scope.TASKS,
    ("POST", "/tasks/upload/complete"): Scope.TASKS,
    ("POST", "/tasks/sweep"): Scope.TASKS,
    ("POST", "/tasks/sweep/batch"): Scope.TASKS,
    ("POST", "/tasks/cancel"): Scope.TASKS,
    ("GET", "/load"): Scope.READ,
    ("GET", "/agents"): Scope.READ,
    ("GET", "/tasks"): Scope.READ,
    ("GET", "/tasks/{task_id}"): Scope.READ,
    ("GET", "/tasks/{task_id}/trials"): Scope.READ,
    ("GET", "/tasks/{task_id}/trials/{index}"): Scope.READ,
    ("GET", "/tasks/{task_id}/versions"): Scope.READ,
    ("GET", "/tasks/{task_id}/versions/{version}"): Scope.READ,
    ("GET", "/trials/{trial_id}"): Scope.READ,
    ("GET", "/trials/{trial_id}/files"): Scope.READ,
    ("GET", "/trials/{trial_id}/files/{path:path}"): Scope.READ,
    ("GET", "/trials/{trial_id}/logs"): Scope.READ,
    ("GET", "/trials/{trial_id}/result"): Scope.READ,
    ("GET", "/experiments/{experiment_id}"): Scope.READ,
    ("POST", "/api-keys"): Scope.FULL,
    ("GET", "/api-keys"): Scope.FULL,
    ("DELETE", "/api-keys/{key_id}"): Scope.FULL,
    ("GET", "/secrets"): Scope.READ,
    ("PUT", "/secrets/{name}"): Scope.FULL,
    ("DELETE", "/secrets/{name}"): Scope.FULL,
    ("GET", "/admin/concurrency"): Scope.FULL,
    ("PUT", "/admin/concurrency"): Scope.FULL,
}


class UnlistedRoute(RuntimeError):
    """A route that the table does not know, or knows without there being one."""


def access(methods: Iterable[str], path: str) -> Access:
    """What a key needs for a route, the same for all its methods."""
    needed = {ACCESS[method, path] for method in methods if (method, path) in ACCESS}
    listed = all((method, path) in ACCESS for method in methods)
    if not listed or len(needed) != 1:
        raise UnlistedRoute(f"{sorted(methods)} {path} has no single entry in the table of scopes")
    return needed.pop()
