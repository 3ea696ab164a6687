"""Alembic's entry point. The connection comes from `oddish.db.migration`; there is no offline mode."""

from alembic import context

from oddish.db.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
