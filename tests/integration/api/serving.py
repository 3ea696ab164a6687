"""A real server on the loopback with a real database, and what a client needs to talk to it."""

import asyncio
import io
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import httpx2
import psycopg
import uvicorn
from psycopg.types.json import Jsonb
from sqlalchemy import event

from oddish.api.services import Services
from oddish.identity.keys import key_hash
from oddish.listening import stop_accepting
from oddish.storage.manifest import upload_tree
from oddish.storage.store import ArtifactStore
from oddish.tasks.package import content_hash, publish_set, write_archive

KEY = "ok_" + "0" * 31 + "1"
RESULT = "result.json"
AGENTS = {"nop": False, "oracle": False, "claude-code": True}


class Postgres(Protocol):
    """What is needed of the server behind the databases of the tests."""

    maintenance: str


@dataclass
class Server:
    """A running server and direct access to its database."""

    url: str
    services: Services
    database: psycopg.Connection[tuple[object, ...]]
    clients: ExitStack = field(default_factory=ExitStack)

    def client(self, key: str | None = KEY) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return self.clients.enter_context(httpx2.Client(base_url=self.url, headers=headers, timeout=30))

    def key(
        self,
        suffix: str,
        *,
        org: str = "default",
        scope: str = "full",
        role: str = "member",
        expires: str | None = None,
    ) -> str:
        """A new key of a new user of an organisation that is made when it is new."""
        key = "ok_" + suffix.rjust(32, "0")
        self.sql("INSERT INTO organisations (id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", org, org)
        user = f"user-{suffix}"
        self.sql("INSERT INTO users (id, org_id, name, role) VALUES (%s, %s, %s, %s)", user, org, user, role)
        self.sql(
            "INSERT INTO api_keys (id, org_id, user_id, name, key_hash, key_prefix, scope, expires_at) "
            "VALUES (%s, %s, %s, 'test', %s, %s, %s, now() + %s::interval)",
            f"key-{suffix}",
            org,
            user,
            key_hash(key),
            key[:11],
            scope,
            expires,
        )
        return key

    def sql(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        cursor = self.database.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def offer(
        self,
        environment: str = "local",
        *,
        preference: int = 0,
        engine: str = "harbor/0.26.0",
        reason: str | None = None,
        memory_mb: int = 4096,
        alive: bool = True,
    ) -> None:
        """What a worker would publish, and a worker with a lease."""
        pool = f"{environment}@{engine}"
        self.sql(
            "INSERT INTO publications (pool, environment, engine, preference, agents, reason, memory_mb, "
            "worker_id) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            pool,
            environment,
            engine,
            preference,
            Jsonb([{"name": name, "needs_model": needs} for name, needs in AGENTS.items()]),
            reason,
            memory_mb,
            f"worker-{pool}",
        )
        if alive:
            self.sql(
                "INSERT INTO workers (id, hostname, pid, version, pools, cpus, memory_mb, concurrency, lease_until) "
                "VALUES (%s, 'host', 1, '0', %s, 2, 4096, 4, now() + interval '1 hour') ON CONFLICT DO NOTHING",
                f"worker-{pool}",
                [pool] if reason is None else [],
            )

    def leave_files(self, trial_id: str, files: dict[str, bytes], *, epoch: int = 1) -> None:
        """What a worker stores of an attempt."""
        prefix = f"trials/{trial_id}/{epoch}-claim"

        async def store() -> None:
            with tempfile.TemporaryDirectory() as name:
                for path, content in files.items():
                    target = Path(name) / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                await upload_tree(ArtifactStore.open(self.services.settings.storage_url), Path(name), prefix)

        asyncio.run(store())
        self.sql(
            "INSERT INTO attempts (trial_id, epoch, org_id, job_id, claim_id, worker_id, state, artifact_prefix) "
            "VALUES (%s, %s, 'default', 1, gen_random_uuid(), 'w', 'finished', %s)",
            trial_id,
            epoch,
            prefix,
        )

    @contextmanager
    def counting_statements(self, *, authentication: bool = False) -> Iterator[list[str]]:
        """The statements of the server, those of the authentication only when asked for."""
        statements: list[str] = []

        def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
            if authentication or "WITH used AS" not in statement:
                statements.append(statement)

        engine = self.services.engine.sync_engine
        event.listen(engine, "before_cursor_execute", note)
        try:
            yield statements
        finally:
            event.remove(engine, "before_cursor_execute", note)


class ServerThread(uvicorn.Server):
    """Ends at once when told to: whoever is still connected is the client of a test that has ended."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, services: Services) -> None:
        super().__init__(config)
        self._listener = listener
        self._services = services
        self._told = asyncio.Event()
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            await self._services.prepare()
            await self.serve(sockets=[self._listener])
        finally:
            self._up.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        self._up.set()
        await self._told.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await stop_accepting(sockets or [])
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.lifespan.shutdown()

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        assert self._up.wait(20)
        assert self.started, "the server did not start"
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._told.set)
            self._thread.join(20)
            self._listener.close()


@dataclass(frozen=True)
class TaskFolder:
    path: Path

    @property
    def content_hash(self) -> str:
        return content_hash(publish_set(self.path))

    @property
    def archive(self) -> bytes:
        target = io.BytesIO()
        write_archive(publish_set(self.path), target)
        return target.getvalue()

    def upload(self, client: httpx2.Client, **init: object) -> dict[str, object]:
        """The whole upload; the answer that ends it."""
        started = client.post(
            "/tasks/upload/init", json={"name": self.path.name, "content_hash": self.content_hash, **init}
        )
        assert started.status_code == 200, started.text
        target = started.json()
        if target["content_unchanged"]:
            return dict(target)
        sent = httpx2.put(target["upload_url"], content=self.archive, headers=target["upload_headers"])
        assert sent.status_code == 200, sent.text
        body = {"task_id": target["task_id"], "name": target["name"], "version": target["version"]}
        done = client.post(
            "/tasks/upload/complete", json={**body, "content_hash": init.get("content_hash", self.content_hash)}
        )
        assert done.status_code == 200, done.text
        return dict(done.json())
