"""The first key: made once, whoever starts first, and never again after it was revoked. And that of a developer."""

import asyncio

import psycopg
import pytest

from oddish.db.engine import connect
from oddish.db.url import plain
from oddish.errors import InvalidInput, Unauthenticated
from oddish.identity.bootstrap import ensure_bootstrap
from oddish.identity.devkey import set_dev_key
from oddish.identity.keys import any_key_exists, authenticate, key_hash
from oddish.identity.principal import Scope

KEY = "ok_" + "a" * 32


def test_servers_that_start_together_make_one_key(database_url: str) -> None:
    async def scenario() -> None:
        engine = connect(database_url, role="test")
        async with engine.connect() as connection:
            assert not await any_key_exists(connection)
        await asyncio.gather(*(ensure_bootstrap(engine, KEY) for _ in range(8)))
        async with engine.connect() as connection:
            principal = await authenticate(connection, KEY)
            assert await any_key_exists(connection)
        assert (principal.org_id, principal.user_id, principal.role) == ("default", "admin", "admin")
        assert principal.scope is Scope.FULL
        await engine.dispose()

    asyncio.run(scenario())
    with psycopg.connect(plain(database_url)) as connection:
        rows = connection.execute("SELECT key_hash, key_prefix FROM api_keys").fetchall()
    assert rows == [(key_hash(KEY), KEY[:11])]


@pytest.mark.parametrize("key", ["", "ok_", "ok_" + "A" * 32, "ok_" + "a" * 33, "sk_" + "a" * 32])
def test_only_keys_of_the_right_form(database_url: str, key: str) -> None:
    async def scenario() -> None:
        engine = connect(database_url, role="test")
        with pytest.raises(InvalidInput, match="ODDISH_BOOTSTRAP_KEY"):
            await ensure_bootstrap(engine, key)
        await engine.dispose()

    asyncio.run(scenario())


def test_a_key_of_ones_own_choosing_is_accepted_until_the_next_start(database_url: str) -> None:
    async def accepted(*keys: str) -> list[bool]:
        found = []
        async with engine.connect() as connection:
            for key in keys:
                try:
                    found.append((await authenticate(connection, key)).scope is Scope.TASKS)
                except Unauthenticated:
                    found.append(False)
        return found

    async def scenario() -> None:
        await ensure_bootstrap(engine, KEY)
        for key, wanted in (
            ("dev-local-key", [True, False]),
            ("another-key", [False, True]),
            (None, [False, False]),
            ("dev-local-key", [True, False]),
        ):
            await set_dev_key(engine, key)
            assert await accepted("dev-local-key", "another-key") == wanted
        for key in ("", "short", "with a space", KEY):
            with pytest.raises(InvalidInput, match="ODDISH_DEV_KEY"):
                await set_dev_key(engine, key)
        await engine.dispose()

    engine = connect(database_url, role="test")
    asyncio.run(scenario())
