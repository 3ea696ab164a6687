"""Settings of the server and the worker, read from variables. The command line does not import this.

They begin with ``ODDISH_``, but for those of the job gateway, which its callers know under names of their own.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_origin

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from oddish.environments import EC2
from oddish.errors import OddishError
from oddish.gateway.addresses import LOOPBACK, AllowedHosts
from oddish.home import home
from oddish.pricing import Prices, UnreadablePrices
from oddish.queue.keys import BASELINE_AGENTS, BASELINE_KEY, normalise_model, normalise_provider
from oddish.variants.reference import REPOSITORY

MIB = 1024 * 1024

PREFIX = "ODDISH_"

EXPORTS = "exports"
"""At the place of a results directory in the addresses of pages."""

Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


class UnreadableSetting(OddishError):
    """A variable whose value a process cannot start with."""

    code = "unreadable_setting"


class Settings(BaseSettings):
    """Every setting, its default and its meaning; an unreadable value stops the process with its name."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True, enable_decoding=False)

    home: Path = Field(
        default_factory=home,
        description="Directory of local state. Default: `oddish` in `XDG_DATA_HOME`, or in `~/.local/share`.",
    )
    deployment: Literal["local", "self-hosted", "hosted"] = Field(
        "self-hosted", description="Whose rules apply; the stack that `oddish up` starts sets `local`."
    )
    database_url: str = Field("", description="PostgreSQL, as `postgresql+psycopg://user@host/name`.")
    storage_url: str = Field(
        "", description="Object store: `file://`, `s3://`, `gs://` or `az://`. Default: `store` under home."
    )
    host: str = Field("127.0.0.1", description="Address the API server binds.")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8780, description="Port the API server binds; 0: any free one.")
    listen_fd: int | None = Field(
        None, description="Descriptor of a listening socket to serve instead of binding one; set by the local stack."
    )
    public_url: str = Field("", description="Base of the URLs handed to clients. Default: the bound address.")
    bootstrap_key: SecretStr | None = Field(
        None, description="First API key (`ok_` and 32 hex digits, full scope), created at start-up if absent."
    )
    dev_key: SecretStr | None = Field(
        None,
        description="A further key, of scope `tasks` and any form, as long as the stack of one machine runs with it: "
        "what `oddish up --dev-key KEY` sets. No other deployment accepts it.",
    )
    secret_key: SecretStr | None = Field(
        None,
        description="Encrypts stored secrets and signs URLs: Fernet keys, newest first, separated by commas. "
        "Default: `secret.key` under home.",
    )
    log_format: Literal["console", "json"] = Field("console", description="Shape of log lines.")
    tracing: Literal["off", "spans", "contents"] = Field(
        "off",
        description="Whether a worker sends a trace of each attempt to the receiver that `OTEL_EXPORTER_OTLP_ENDPOINT` "
        "names, and whether with what agents, models and tools said.",
    )
    drain_seconds: Annotated[float, Field(ge=0)] = Field(
        0,
        description="What happens for how long after SIGTERM: a server still accepts requests and says that it is not "
        "ready; a worker claims nothing more and lets running attempts end before it gives them back. 0 in a local "
        "stack.",
    )
    metrics_public: bool = Field(
        False, description="Whether `GET /metrics` of the API server is answered without a key."
    )

    default_concurrency: Positive = Field(8, description="Trials that run at once per queue key.")
    baseline_concurrency: Positive = Field(
        256, description="Trials that run at once of the agents nop and oracle together."
    )
    model_concurrency_overrides: dict[str, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict,
        description='Limits of queue keys, as in `{"openai/gpt-5": 2}`; those that an admin sets go before them.',
    )
    provider_concurrency: dict[str, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict, description="Limits of providers, over all their models."
    )
    organisation_concurrency: Positive | None = Field(
        None, description="Trials that run at once of each organisation. Default: no limit."
    )
    gateway_concurrency: Positive = Field(
        8, description="Trials that run at once of each organisation's gateway jobs, over both of its routes."
    )
    archive_concurrency: Positive = Field(
        2,
        description="Archives that are fetched at once for each organisation's gateway jobs: each takes a slot of a "
        "worker for as long as its host takes to send it.",
    )
    max_trial_attempts: Positive = Field(6, description="Attempts per trial, the first included, by default.")
    offered_environments: list[str] = Field(
        ["docker", "local"],
        description="Environments that trials may run in, where the workers can run them; the first that one can run "
        "is taken for trials that name none. In a hosted deployment, unless it is set, `daytona` alone: "
        "strangers' tasks run on nobody's own machine.",
    )
    ec2_enabled: bool = Field(
        False,
        description="Whether trials may run on machines of EC2, which cost money. `ec2` has to be offered as well, and "
        "`ODDISH_ENVIRONMENT_OPTIONS` says at least its `region` and `ami_id`.",
    )
    environment_options: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="By environment, options of Harbor that every trial there gets and no submission can change, as in "
        '`{"gke": {"cluster_name": "evals", "region": "europe-west4"}}`.',
    )
    provider_credentials: dict[str, list[str]] = Field(
        default_factory=dict,
        description="By environment, variables that a worker hands to the attempts there, beside those that its "
        "provider is known to read.",
    )
    allow_import_paths: bool = Field(
        False,
        description="Whether submissions may name agents, environments and verifiers as `module:Class`: code installed "
        "beside the workers, which runs outside of any sandbox. This and the seven below are on in a local stack.",
    )
    allow_mounts: bool = Field(
        False, description="Whether submissions may bind directories of the workers' machines into sandboxes."
    )
    allow_extra_compose: bool = Field(
        False, description="Whether submissions may name Compose files of the workers' machines."
    )
    allow_host_access: bool = Field(
        False,
        description="Whether the services of tasks may be privileged, share namespaces of the workers' machines, or "
        "bind the Docker socket and anything else outside the task.",
    )
    allow_worker_files: bool = Field(
        False, description="Whether submissions may name files of the workers for agents, such as templates and logins."
    )
    allow_harbor_variables: bool = Field(
        False, description="Whether submissions may set variables of environments and verifiers, and MCP servers."
    )
    allow_account_options: bool = Field(
        False,
        description="Whether submissions may set options of environments that choose accounts, addresses, projects or "
        "secrets at the provider, or what outlives the trial.",
    )
    allow_git_transports: bool = Field(
        False, description="Whether submissions may name repositories by another way than https for workers to fetch."
    )
    harbor_sources: list[str] = Field(
        default_factory=list,
        description="What `--harbor` may name: `package` for published releases, and patterns of "
        "repository addresses such as `https://github.com/laude-institute/*`. Its code runs on the workers. "
        "A local stack allows everything.",
    )
    harbor_repository: str = Field(
        REPOSITORY,
        description="Repository in which `--harbor` looks for a branch, tag or commit named without one.",
    )
    secret_retention_days: Positive = Field(30, description="Days after which the secrets of a submission are deleted.")
    idempotency_retention_days: Positive = Field(
        7, description="Days for which a call with an `Idempotency-Key` is answered again."
    )
    prices: Path | None = Field(
        None,
        description="File with prices of models, as in the page on costs; they go before those that are published.",
    )
    finished_job_retention_days: Positive = Field(
        30,
        description="Days for which the queue's records of finished jobs are kept; trials, attempts and results stay.",
    )
    publication_wait_seconds: Seconds = Field(
        10, description="How long a submission waits for the first worker to say what it can run."
    )

    max_archive_bytes: Positive = Field(512 * MIB, description="Largest task archive, compressed.")
    max_extracted_bytes: Positive = Field(2048 * MIB, description="Largest task archive, extracted.")
    max_archive_entries: Positive = Field(50_000, description="Most files and directories in a task archive.")
    gateway_max_archive_bytes: Positive = Field(
        512 * MIB,
        validation_alias="SANDBOX_HARBOR_MAX_ARCHIVE_BYTES",
        description="Largest archive that the gateway fetches, compressed.",
    )
    gateway_max_extracted_bytes: Positive = Field(
        2048 * MIB,
        validation_alias="SANDBOX_HARBOR_MAX_EXTRACTED_BYTES",
        description="Largest archive that the gateway fetches, extracted.",
    )
    gateway_max_archive_entries: Positive = Field(
        50_000,
        validation_alias="SANDBOX_HARBOR_MAX_ARCHIVE_ENTRIES",
        description="Most files and directories in an archive that the gateway fetches.",
    )
    gateway_allowed_hosts: list[str] = Field(
        default_factory=list,
        description="Hosts that the gateway fetches from and calls although their addresses are not public: names, "
        "`*.suffix`, IP addresses and ranges. A local stack adds its own machine's loopback addresses.",
    )
    gateway_wait_seconds: Seconds = Field(
        600.0, description="How long `run/datapoint` waits for its job to end, which goes on after that."
    )
    gateway_zip_only: bool = Field(
        True, description="Whether the gateway fetches only addresses whose path ends in `.zip`."
    )
    require_verifier_evidence: bool = Field(
        True,
        validation_alias="SANDBOX_HARBOR_REQUIRE_VERIFIER_EVIDENCE",
        description="Whether the gateway vouches only for rewards with a test report; a request may say otherwise.",
    )
    viewer_directories: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")], Path] = Field(
        default_factory=dict,
        description='Results directories that the server shows at `/viewer` to every key, as in `{"evals": "/data"}`.',
    )
    export_quota_bytes: Positive = Field(
        10 * 1024 * MIB, description="Most bytes of the exports that each organisation keeps at `/viewer`, compressed."
    )
    export_cache_bytes: Positive = Field(
        10 * 1024 * MIB,
        description="Unpacked exports a server's machine keeps; what was used longest ago goes first.",
    )
    max_request_bytes: Positive = Field(16 * MIB, description="Largest JSON request body.")
    upload_expiry_seconds: Positive = Field(3600, description="Life of a signed upload or download URL.")

    worker_concurrency: Positive = Field(
        default_factory=lambda: 2 * (os.cpu_count() or 1),
        description="Attempts a worker runs at once. Default: 2 per core.",
    )
    worker_metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        None,
        description="Port on which a worker serves `/metrics`, `/health/live` and `/health/ready`, without a key; 0: "
        "any free one. Default: none.",
    )
    worker_metrics_host: str = Field("127.0.0.1", description="Address of that port.")
    worker_credentials: list[str] = Field(
        default_factory=list,
        description="Variables that a worker hands on from its own environment, to attempts whose agent or task "
        'names it, as in `["OPENAI_API_KEY"]`.',
    )
    attempt_deadline_seconds: Seconds = Field(
        12 * 3600, description="Wall time after which an attempt is ended, whatever phase it is in."
    )
    attempt_memory_mb: Annotated[int, Field(ge=1024)] = Field(
        4096, description="Most memory, in MB, of the process that drives an attempt from outside of its sandbox."
    )
    lease_seconds: Seconds = Field(30, description="A worker that has not renewed for this long is taken for dead.")
    heartbeat_seconds: Seconds = Field(5, description="Time between two renewals of a worker's lease.")
    poll_seconds: Seconds = Field(5, description="Longest time between two looks at the queue without a wake-up.")
    live_interval_seconds: Seconds = Field(
        1, description="Time between two looks at what agents write whose trials are followed; half of it after news."
    )
    live_unfollowed_interval_seconds: Seconds = Field(
        5,
        description="The same for trials that nobody follows and whose run has no cost limit: as late is what is kept "
        "of them, costs included.",
    )
    live_max_events: Positive = Field(5000, description="Most events of one attempt that can be followed live.")
    max_artifact_bytes: Positive = Field(1024 * MIB, description="Most bytes kept of one attempt's files.")
    max_artifact_files: Positive = Field(20_000, description="Most files kept of one attempt.")
    task_cache_bytes: Positive = Field(
        10 * 1024 * MIB, description="Unpacked tasks a worker's machine keeps; what was used longest ago goes first."
    )
    sandbox_cache_bytes: Positive = Field(
        20 * 1024 * MIB,
        description="Results of Dockerfiles that the local sandbox keeps; what was used longest ago goes first.",
    )
    terminus_no_progress: bool = Field(
        True,
        validation_alias="SANDBOX_TERMINUS_NO_PROGRESS",
        description="Whether a trial of terminus-2 is ended once its shell has only waited for the rest of a command.",
    )
    terminus_stuck_episodes: Positive = Field(
        6,
        validation_alias="SANDBOX_TERMINUS_STUCK_EPISODES",
        description="Episodes in a row after which that is so.",
    )

    @field_validator("*", mode="before")
    @classmethod
    def _decode(cls, value: object, info: ValidationInfo) -> object:
        annotation = cls.model_fields[info.field_name].annotation if info.field_name else None
        if not isinstance(value, str) or get_origin(annotation) not in (list, dict):
            return value
        try:
            return json.loads(value)
        except ValueError as error:
            raise ValueError(f"it is no JSON: {error}") from error

    @field_validator("model_concurrency_overrides")
    @classmethod
    def _canonical_keys(cls, limits: dict[str, int]) -> dict[str, int]:
        keys = _respelled(limits, lambda name: normalise_model(name) or name)
        if agents := sorted(BASELINE_AGENTS & keys.keys()):
            raise ValueError(
                f"no trial counts against {agents[0]!r}: name {BASELINE_KEY!r}, which nop and oracle share"
            )
        return keys

    @field_validator("provider_concurrency")
    @classmethod
    def _canonical_providers(cls, limits: dict[str, int]) -> dict[str, int]:
        return _respelled(limits, normalise_provider)

    @field_validator("gateway_allowed_hosts")
    @classmethod
    def _readable_hosts(cls, entries: list[str]) -> list[str]:
        AllowedHosts.of(entries)
        return entries

    @field_validator("viewer_directories")
    @classmethod
    def _other_names(cls, directories: dict[str, Path]) -> dict[str, Path]:
        if EXPORTS in directories:
            raise ValueError(f"{EXPORTS!r} stands for the exports of whoever calls; choose another name")
        return directories

    @field_validator("prices")
    @classmethod
    def _readable_prices(cls, path: Path | None) -> Path | None:
        try:
            Prices.read(path)
        except UnreadablePrices as error:
            raise ValueError(str(error)) from error
        return path

    @property
    def allowed_hosts(self) -> AllowedHosts:
        """Where the gateway connects to although it is not public."""
        allowed = AllowedHosts.of(self.gateway_allowed_hosts)
        return allowed | LOOPBACK if self.deployment == "local" else allowed

    @property
    def enabled_environments(self) -> list[str]:
        """Those that trials may run in, the preferred one first."""
        return [name for name in self.offered_environments if name != EC2 or self.ec2_enabled]

    @model_validator(mode="before")
    @classmethod
    def _default_storage(cls, values: dict[str, object]) -> dict[str, object]:
        if not values.get("storage_url"):
            base = Path(str(values.get("home") or home()))
            values["storage_url"] = (base / "store").absolute().as_uri()
        return values

    @model_validator(mode="before")
    @classmethod
    def _default_environments(cls, values: dict[str, object]) -> dict[str, object]:
        if values.get("deployment") == "hosted":
            values.setdefault("offered_environments", ["daytona"])
        return values

    @model_validator(mode="after")
    def _lease_outlives_heartbeats(self) -> "Settings":
        if self.lease_seconds < 3 * self.heartbeat_seconds:
            raise ValueError(
                f"ODDISH_LEASE_SECONDS={self.lease_seconds} must be at least three times "
                f"ODDISH_HEARTBEAT_SECONDS={self.heartbeat_seconds}"
            )
        return self


def variable(name: str) -> str:
    """The environment variable of the setting ``name``."""
    alias = Settings.model_fields[name].validation_alias
    return alias if isinstance(alias, str) else f"{PREFIX}{name}".upper()


VARIABLES = frozenset(map(variable, Settings.model_fields))
"""The variables of all settings."""


def read_settings() -> Settings:
    """The settings of this process. Raises ``UnreadableSetting``, which names the variables but not their values."""
    try:
        return Settings()
    except ValidationError as error:
        flaws = [
            (_place(entry["loc"]), entry["msg"].removeprefix("Value error, ").rstrip("."))
            for entry in error.errors(include_url=False, include_input=False, include_context=False)
        ]
    raise UnreadableSetting(
        " ".join(f"{name} cannot be read: {reason}." if name else f"{reason}." for name, reason in flaws),
        fix="Correct it, or unset it for the default. Lists and maps are written as JSON.",
    )


def _place(place: tuple[int | str, ...]) -> str:
    first, *inside = [str(part) for part in place] or [""]
    name = variable(first) if first in Settings.model_fields else first
    return f"{name} ({'.'.join(inside)})" if inside else name


def _respelled(limits: Mapping[str, int], canonical: Callable[[str], str]) -> dict[str, int]:
    """``limits`` with each name in the spelling that the queue uses; two spellings of one name are refused."""
    respelled: dict[str, int] = {}
    for name, limit in limits.items():
        spelling = canonical(name)
        if spelling in respelled:
            raise ValueError(f"it limits {spelling!r} twice, once as {name!r}")
        respelled[spelling] = limit
    return respelled
