"""A local stack outlives the shell that started it, and keeps none of its keys."""

from oddish.stack.environment import stack_environment

SHELL = {
    "PATH": "/bin",
    "https_proxy": "http://proxy",
    "OPENAI_API_KEY": "sk-of-the-shell",
    "AWS_SECRET_ACCESS_KEY": "of the store",
    "PGPASSWORD": "of another database",
    "ODDISH_PORT": "8790",
    "ODDISH_API_KEY": "of another server",
}


def test_keys_of_the_shell_stay_in_the_shell() -> None:
    assert stack_environment(SHELL) == {"PATH": "/bin", "https_proxy": "http://proxy", "ODDISH_PORT": "8790"}


def test_settings_of_the_gateway_are_kept_and_its_callers_are_not() -> None:
    settings = {"SANDBOX_TERMINUS_STUCK_EPISODES": "9", "SANDBOX_HARBOR_MAX_ARCHIVE_BYTES": "1024"}
    kept = stack_environment(SHELL | settings | {"SANDBOX_API_KEY": "of another server"})
    assert settings.items() <= kept.items()
    assert "SANDBOX_API_KEY" not in kept


def test_what_settings_name_is_kept() -> None:
    shell = SHELL | {"ODDISH_WORKER_CREDENTIALS": '["OPENAI_API_KEY"]', "ODDISH_STORAGE_URL": "s3://bucket"}
    kept = stack_environment(shell)
    assert (kept["OPENAI_API_KEY"], kept["AWS_SECRET_ACCESS_KEY"]) == ("sk-of-the-shell", "of the store")
    assert "ODDISH_API_KEY" not in kept


def test_where_traces_go_is_kept_if_there_are_any() -> None:
    shell = SHELL | {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic of-the-receiver"}
    assert "OTEL_EXPORTER_OTLP_HEADERS" not in stack_environment(shell)
    assert stack_environment(shell | {"ODDISH_TRACING": "spans"}).keys() >= {"OTEL_EXPORTER_OTLP_HEADERS"}


def test_a_setting_that_cannot_be_read_keeps_nothing() -> None:
    for text in ("OPENAI_API_KEY", "{}", "[1]", ""):
        assert "OPENAI_API_KEY" not in stack_environment(SHELL | {"ODDISH_WORKER_CREDENTIALS": text})


def test_logins_of_the_environments_that_are_offered_are_kept() -> None:
    shell = SHELL | {"E2B_API_KEY": "e2b-key", "MODAL_TOKEN_ID": "modal-id", "MOSAIC_TOKEN": "mosaic-token"}
    assert not {"E2B_API_KEY", "MODAL_TOKEN_ID", "MOSAIC_TOKEN"} & stack_environment(shell).keys()
    settings = {
        "ODDISH_OFFERED_ENVIRONMENTS": '["e2b", "mosaic", "nowhere"]',
        "ODDISH_PROVIDER_CREDENTIALS": '{"mosaic": ["MOSAIC_TOKEN"], "modal": ["MODAL_TOKEN_ID"]}',
    }
    kept = stack_environment(shell | settings)
    assert (kept["E2B_API_KEY"], kept["MOSAIC_TOKEN"]) == ("e2b-key", "mosaic-token")
    assert "MODAL_TOKEN_ID" not in kept
