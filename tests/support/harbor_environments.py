"""What the installed Harbor says about its environments, asked by loading each without the library of its provider.

``python -m support.harbor_environments`` prints the table that ``oddish.environments`` reads; a test compares the two.
What each takes as a login is read from its ``preflight`` and kept here by hand; another test runs those that can run.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harbor.environments import factory
from harbor.environments.base import BaseEnvironment
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.environments.definition import COMPOSE_FILE_NAME

from oddish.environments import Facts, Table


@dataclass(frozen=True)
class Login:
    """How a provider knows who asks."""

    one_of: tuple[tuple[str, ...], ...] = ()
    """Groups of variables; one whole group is enough. None at all: nothing can be said beforehand."""
    files: tuple[str, ...] = ()
    """What the provider's own login leaves in the home directory, and what is as good as a group."""
    also: tuple[str, ...] = ()
    """Variables that are read beside them."""
    command: str | None = None
    """Makes the files."""


LOGINS: Mapping[str, Login] = {
    "aca-sandbox": Login(files=(".azure/azureProfile.json",), also=("AZURE_CONFIG_DIR",), command="az login"),
    "ack": Login((("KUBECONFIG",),), (".kube/config",)),
    "beam": Login((("BEAM_TOKEN",),), (".beam/config.ini",), command="beam login"),
    "blaxel": Login((("BL_WORKSPACE", "BL_API_KEY"),), (".blaxel/config.yaml",), command="bl login"),
    "boxd": Login((("BOXD_API_KEY",), ("BOXD_TOKEN",)), also=("BOXD_BASE_URL", "BOXD_API_URL", "BOXD_REGION")),
    "cua-cloud": Login((("CUA_CLIENT_ID", "CUA_CLIENT_SECRET"),), also=("CUA_TOKEN_URL", "CUA_BASE_URL")),
    "daytona": Login(
        (("DAYTONA_API_KEY",), ("DAYTONA_JWT_TOKEN", "DAYTONA_ORGANIZATION_ID")),
        also=("DAYTONA_API_URL", "DAYTONA_TARGET"),
    ),
    "e2b": Login((("E2B_API_KEY",),), also=("E2B_DOMAIN",)),
    "ec2": Login(
        also=(
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_PROFILE",
            "AWS_CONFIG_FILE",
            "AWS_SHARED_CREDENTIALS_FILE",
            "AWS_ROLE_ARN",
            "AWS_WEB_IDENTITY_TOKEN_FILE",
        )
    ),
    "gke": Login(
        (("KUBECONFIG",),),
        (".kube/config",),
        ("GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "GCP_PROJECT", "GOOGLE_CLOUD_PROJECT"),
        "gcloud container clusters get-credentials",
    ),
    "hf-sandbox": Login((("HF_TOKEN",), ("HUGGING_FACE_HUB_TOKEN",)), (".cache/huggingface/token",), ("HF_HOME",)),
    "hyperbrowser": Login((("HYPERBROWSER_API_KEY",),), also=("HYPERBROWSER_BASE_URL",)),
    "islo": Login((("ISLO_API_KEY",),), also=("ISLO_API_URL", "ISLO_COMPUTE_URL")),
    "kernel": Login((("KERNEL_API_KEY",),)),
    "langsmith": Login(
        (("LANGSMITH_API_KEY",), ("LANGCHAIN_API_KEY",), ("LANGSMITH_PROFILE",)),
        also=("LANGSMITH_ENDPOINT", "LANGSMITH_SANDBOX_API_URL"),
    ),
    "modal": Login(
        (("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"),),
        (".modal.toml",),
        ("MODAL_ENVIRONMENT", "MODAL_PROFILE"),
        "modal token new",
    ),
    "mosaic": Login(also=("MOSAIC_REGISTRY_USERNAME", "MOSAIC_REGISTRY_PASSWORD"), command="mos login"),
    "novita": Login((("NOVITA_API_KEY",),), also=("NOVITA_DOMAIN", "NOVITA_API_URL", "NOVITA_BASE_URL")),
    "opensandbox": Login(also=("OPENSANDBOX_DOMAIN", "OPENSANDBOX_API_KEY")),
    "openshift": Login((("KUBECONFIG",),), (".kube/config",), command="oc login"),
    "runloop": Login((("RUNLOOP_API_KEY",),), also=("RUNLOOP_BASE_URL",)),
    "runta": Login((("RUNTA_TOKEN",), ("RUNTA_CONFIG",))),
    "skypilot": Login(also=("SKYPILOT_API_SERVER_ENDPOINT",), command="sky api login"),
    "superserve": Login((("SUPERSERVE_API_KEY",),)),
    "tensorlake": Login((("TENSORLAKE_API_KEY",),)),
    "use-computer": Login(
        (("USE_COMPUTER_API_KEY",),), also=("USE_COMPUTER_HOST", "USE_COMPUTER_VERSION", "USE_COMPUTER_SNAPSHOT")
    ),
    "vercel": Login((("VERCEL_TOKEN",),), also=("VERCEL_TEAM_ID", "VERCEL_PROJECT_ID")),
}
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "aca-sandbox": ("az",),
    "ack": ("kubectl",),
    "apple-container": ("container",),
    "docker": ("docker",),
    "ec2": ("ssh",),
    "gke": ("gcloud",),
    "kata": ("docker",),
    "openshift": ("oc",),
    "podman": ("podman",),
    "sbx": ("sbx",),
    "singularity": ("singularity", "apptainer"),
    "snowflake": ("crane",),
}
ON_THE_WORKER = {"apple-container", "docker", "kata", "podman", "sbx", "singularity", "smol"}
"""Use the memory of the worker's own machine."""
ALSO_REQUIRED: Mapping[str, tuple[str, ...]] = {"ec2": ("ami_id",)}
"""Options that the constructor asks for, although the model of options does not."""
UNMADE: Mapping[str, object] = {
    "_compose_mode": False,
    "_enable_egress_control": True,
    "_is_windows": False,
    "_is_windows_container": False,
    "_gateway_profile": None,
    "_gateway_config": None,
}
"""What the capabilities of an environment that was not constructed are asked for: a task without services."""
NOT_ASKED: Mapping[str, EnvironmentCapabilities] = {
    "beam": EnvironmentCapabilities(gpus=True, disable_internet=True, network_allowlist=True, docker_compose=True),
    "modal": EnvironmentCapabilities(gpus=True, disable_internet=True, network_allowlist=True, docker_compose=True),
}
"""Environments that know their capabilities only once their provider's library is there."""
OURS = Facts(
    extra=None,
    programs=[],
    login=[],
    files=[],
    also=[],
    command=None,
    options=[],
    required=[],
    on_the_worker=True,
    gpus=False,
    tpus=False,
    compose=False,
    no_network=True,
    allowlist=False,
)
"""The environment ``local``."""


def table() -> Table:
    """All environments by name."""
    entries = {kind.value: facts(kind.value, entry) for kind, entry in factory._ENVIRONMENT_REGISTRY.items()}
    return dict(sorted({**entries, "local": OURS}.items()))


def facts(name: str, entry: Any) -> Facts:
    login = LOGINS.get(name, Login())
    loaded = load(name)
    fields = loaded.options_model.model_fields if loaded is not None and loaded.options_model is not None else None
    able = capabilities(name, loaded)
    required = [] if fields is None else [option for option, field in fields.items() if field.is_required()]
    return Facts(
        extra=entry.pip_extra,
        programs=list(PROGRAMS.get(name, ())),
        login=[list(group) for group in login.one_of],
        files=list(login.files),
        also=list(login.also),
        command=login.command,
        options=None if fields is None else sorted(set(fields) - {"suppress_override_warnings"}),
        required=[*required, *ALSO_REQUIRED.get(name, ())],
        on_the_worker=name in ON_THE_WORKER,
        gpus=able and able.gpus,
        tpus=able and able.tpus,
        compose=able and able.docker_compose,
        no_network=able and able.disable_internet,
        allowlist=able and able.network_allowlist,
    )


def load(name: str) -> type[BaseEnvironment] | None:
    """The class; None when it needs its provider's library to be read at all."""
    kind = next(kind for kind in factory._ENVIRONMENT_REGISTRY if kind.value == name)
    try:
        return factory._load_environment_class(kind)
    except ImportError:
        return None


def capabilities(name: str, loaded: type[BaseEnvironment] | None) -> EnvironmentCapabilities | None:
    """For a task without services; None when nobody can say."""
    if name in NOT_ASKED:
        return NOT_ASKED[name]
    if loaded is None:
        return None
    unmade = object.__new__(loaded)
    unmade.__dict__.update(UNMADE)
    required = {option: "x" for option, field in loaded.options_model.model_fields.items() if field.is_required()}
    unmade.options = loaded.parse_options(required)
    unmade.task_env_config = factory.EnvironmentConfig()
    unmade.extra_docker_compose_paths = []
    with tempfile.TemporaryDirectory() as directory:
        unmade.environment_dir = Path(directory)
        able = unmade.capabilities
        (unmade.environment_dir / COMPOSE_FILE_NAME).touch()
        unmade.__dict__["_compose_mode"] = True
        with_services = unmade.capabilities
    return able.model_copy(update={"docker_compose": able.docker_compose or with_services.docker_compose})


def main() -> None:
    json.dump(table(), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
