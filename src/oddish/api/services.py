"""What the routes of one server work with, made once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Depends
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.requests import Request

from oddish import readiness
from oddish.api.activity import ActivityMark
from oddish.api.exportshelves import ExportShelves
from oddish.api.feeds import Feeds
from oddish.api.following import Told, states
from oddish.api.jobstream import last_events_of
from oddish.api.sites import shelves
from oddish.db.ciphertexts import check_secret_key
from oddish.db.engine import connect
from oddish.db.schema import read_schema
from oddish.errors import OddishError, Unavailable
from oddish.exports.keeping import Keeper
from oddish.exports.unpacked import UnpackedExports
from oddish.gateway.events import CHANNEL, Event
from oddish.identity.bootstrap import ensure_bootstrap
from oddish.identity.devkey import set_dev_key
from oddish.identity.keys import any_key_exists
from oddish.keyring import Keyring, load_keyring
from oddish.pricing import Prices
from oddish.queue.diagnostics.backlog import Backlog, read_backlog
from oddish.queue.keys import Limits
from oddish.queue.limits import deploy
from oddish.readiness import Check, Readiness
from oddish.recent import Recent
from oddish.serving.security import LOOPBACK
from oddish.settings import Settings
from oddish.storage.signing import UrlSigner
from oddish.storage.store import ArtifactStore
from oddish.tasks.archive import ArchiveLimits
from oddish.tasks.files import TaskFiles
from oddish.trials import deployment
from oddish.trials.audience import Audience
from oddish.trials.events import LIVE_CHANNEL
from oddish.trials.policy import Policy
from oddish.web.viewer.shelf import Shelf

BACKLOG_SECONDS = 5.0
"""How old a count of the whole queue may be."""


class KeyMissing(OddishError):
    """A server that others could reach, and no key that would keep them out."""

    code = "key_missing"


@dataclass(frozen=True)
class Services:
    settings: Settings
    engine: AsyncEngine
    reads: AsyncEngine
    """The same connections, each statement a transaction of its own."""
    keyring: Keyring
    prices: Prices
    signer: UrlSigner
    store: ArtifactStore
    task_files: TaskFiles
    activity: ActivityMark | None
    readiness: Readiness
    backlog: Recent[Backlog]
    feeds: Feeds[Told]
    """Of trials."""
    audience: Audience
    """Of the same trials, as the workers know it."""
    gateway_feeds: Feeds[Sequence[Event]]
    """Of jobs of the gateway."""
    shelves: Mapping[str, Shelf]
    """Results directories that pages show, by name."""
    exports: Keeper
    export_shelves: ExportShelves

    @classmethod
    def of(cls, settings: Settings) -> "Services":
        engine = connect(settings.database_url, role="api")
        secret = settings.secret_key.get_secret_value() if settings.secret_key else None
        keyring = load_keyring(secret, settings.home)
        signer = UrlSigner(keyring.derive("signed URLs"))
        reads = engine.execution_options(isolation_level="AUTOCOMMIT")

        async def backlog() -> Backlog:
            async with reads.connect() as connection:
                return await read_backlog(connection)

        audience = Audience()
        store = ArtifactStore.open(settings.storage_url, signer=signer)
        limits = _archive_limits(settings)
        unpacked = UnpackedExports(settings.home / "exports", store, limits, max_bytes=settings.export_cache_bytes)
        return cls(
            settings=settings,
            engine=engine,
            reads=reads,
            keyring=keyring,
            prices=Prices.read(settings.prices),
            signer=signer,
            store=store,
            task_files=TaskFiles(store, limits),
            activity=ActivityMark(settings.home / "run" / "activity") if settings.deployment == "local" else None,
            readiness=Readiness(_checks(reads, store)),
            backlog=Recent(backlog, seconds=BACKLOG_SECONDS),
            feeds=Feeds(settings.database_url, LIVE_CHANNEL, partial(states, reads, audience)),
            audience=audience,
            gateway_feeds=Feeds(settings.database_url, CHANNEL, partial(last_events_of, reads)),
            shelves=shelves(settings.viewer_directories),
            exports=Keeper(engine, store, unpacked, limits, quota=settings.export_quota_bytes),
            export_shelves=ExportShelves(reads, unpacked),
        )

    async def prepare(self) -> None:
        """Refuse a database, key or binding that cannot be served; make the first key, apply the limits of today."""
        try:
            await self._prepare()
        except SQLAlchemyError as error:
            raise Unavailable(
                f"The database cannot be used: {error.__cause__ or error}.",
                fix="Check ODDISH_DATABASE_URL and that PostgreSQL runs.",
            ) from error

    async def _prepare(self) -> None:
        async with self.reads.connect() as connection:
            schema = await read_schema(connection)
            schema.check()
            await check_secret_key(connection, self.keyring, self.settings.home, who="server")
        bootstrap = self.settings.bootstrap_key
        if bootstrap is not None:
            await ensure_bootstrap(self.engine, bootstrap.get_secret_value())
        elif self.settings.host not in LOOPBACK:
            async with self.reads.connect() as connection:
                if not await any_key_exists(connection):
                    raise KeyMissing(
                        f"The server would listen on {self.settings.host}, where others can reach it, without any key.",
                        fix="Set ODDISH_BOOTSTRAP_KEY to `ok_` and 32 hex digits, or ODDISH_HOST to 127.0.0.1.",
                    )
        local = self.settings.deployment == "local"
        dev_key = self.settings.dev_key
        await set_dev_key(self.engine, dev_key.get_secret_value() if local and dev_key else None)
        async with self.engine.begin() as connection:
            await deploy(connection, self.limits)

    @property
    def archive_limits(self) -> ArchiveLimits:
        return _archive_limits(self.settings)

    @property
    def limits(self) -> Limits:
        """The deployment's limits of the queue."""
        return deployment.limits(self.settings)

    @property
    def policy(self) -> Policy:
        """What submissions may do."""
        return deployment.policy(self.settings, self.prices)

    async def close(self) -> None:
        await self.engine.dispose()


def _archive_limits(settings: Settings) -> ArchiveLimits:
    return ArchiveLimits(
        max_bytes=settings.max_archive_bytes,
        max_extracted_bytes=settings.max_extracted_bytes,
        max_entries=settings.max_archive_entries,
    )


def _checks(reads: AsyncEngine, store: ArtifactStore) -> dict[str, Check]:
    checks = {"database": readiness.database(reads), "store": readiness.store(store)}
    if store.directory is not None:
        checks["disk"] = readiness.disk(store.directory, "the directory of the object store")
    return checks


def services_of(request: Request) -> Services:
    services = request.app.state.services
    assert isinstance(services, Services)  # noqa: S101
    return services


type ServicesOf = Annotated[Services, Depends(services_of)]
