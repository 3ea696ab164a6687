"""Where trials may run by the word of the deployment, and what an environment can give."""

from collections.abc import Mapping
from typing import Any

import pytest

from oddish.credentials import Needs
from oddish.environments import login_names, read_environments
from oddish.trials.catalogue import Catalogue, EnvironmentUnavailable, Offer, UnknownEnvironment
from oddish.trials.credentials import Reference, TrialNames
from oddish.trials.doors import ALL, NONE, ClosedPassthrough, Doors
from oddish.trials.environments import EnvironmentNotEnabled, EnvironmentOption, Environments, LoginOfProvider, is_open
from oddish.trials.units import TrialConfig, UnfitTask, Unit, unit

AGENTS = {"nop": False}
OFFERS = [
    Offer("ec2@1", "ec2", AGENTS, 2048),
    Offer("daytona@1", "daytona", AGENTS, 2048),
    Offer("local@1", "local", AGENTS, 2048),
    Offer("modal@1", "modal", AGENTS, 2048, reason="The worker has no credentials: it takes MODAL_TOKEN_ID."),
    Offer("local@any", "local", AGENTS, 2048, any_harbor=True),
]
CATALOGUE = Catalogue(OFFERS)
EC2 = {"ec2": {"region": "eu-central-1", "ami_id": "ami-1"}}


def chosen(name: str | None, *enabled: str, doors: Doors = NONE, any_harbor: bool = False) -> Offer:
    return Environments(enabled=enabled).choose(CATALOGUE, name, doors, any_harbor=any_harbor)


def test_an_enabled_environment_that_a_worker_has_is_chosen_by_name() -> None:
    assert chosen("daytona", "daytona", "local").pool == "daytona@1"
    assert chosen("local", "local", any_harbor=True).pool == "local@any"


def test_a_known_environment_that_is_not_enabled_is_not_enabled() -> None:
    for name in ("e2b", "daytona"):
        with pytest.raises(
            EnvironmentNotEnabled, match=rf"'{name}' is not enabled here. Enabled here: local."
        ) as refused:
            chosen(name, "local")
        assert "ODDISH_OFFERED_ENVIRONMENTS" in str(refused.value)
        assert "ODDISH_EC2_ENABLED" not in str(refused.value)
    with pytest.raises(EnvironmentNotEnabled, match="ODDISH_EC2_ENABLED=true"):
        chosen("ec2", "local")


def test_an_enabled_environment_that_no_worker_can_run_says_what_is_missing() -> None:
    with pytest.raises(EnvironmentUnavailable, match="it takes MODAL_TOKEN_ID"):
        chosen("modal", "modal", "local")
    with pytest.raises(EnvironmentUnavailable, match=r"No worker offers the environment 'e2b'. .*: local."):
        chosen("e2b", "e2b", "local")


def test_a_name_that_nobody_knows_is_unknown() -> None:
    with pytest.raises(UnknownEnvironment, match=r"'daytonna'. Did you mean 'daytona'\? Enabled here: local."):
        chosen("daytonna", "local")


def test_trials_that_name_no_environment_run_where_the_operator_prefers_and_never_on_ec2() -> None:
    assert chosen(None, "ec2", "local", "daytona").pool == "daytona@1"
    assert chosen(None, "ec2", "local").pool == "local@1"
    with pytest.raises(EnvironmentUnavailable, match="No environment is available"):
        chosen(None, "ec2")


def test_a_worker_that_still_offers_what_is_no_longer_enabled_is_not_asked() -> None:
    with pytest.raises(EnvironmentUnavailable):
        chosen(None, "e2b")


def test_an_import_path_runs_where_trials_run_by_default() -> None:
    offer = chosen("my.module:Box", "local", doors=ALL)
    assert (offer.pool, offer.environment) == ("local@1", "my.module:Box")


def check(name: str, options: Mapping[str, object], doors: Doors = NONE, **settings: Any) -> None:
    environments = Environments(options=settings.pop("fixed", {}), local=settings.pop("local", False))
    environments.check_options(name, options, doors, any_harbor=settings.pop("any_harbor", False))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("daytona", {"labels": {"run": "one"}, "expose_sandbox_id": True}),
        ("e2b", {"image_user": "root", "sandbox_timeout_sec": 60}),
        ("modal", {"app_name": "evals", "region": "eu"}),
        ("runloop", {}),
        ("islo", {"whatever": 1}),
    ],
)
def test_options_that_the_environment_has_are_passed_on(name: str, options: dict[str, object]) -> None:
    check(name, options)


@pytest.mark.parametrize("name", ["daytona", "e2b", "modal", "runloop", "docker", "local"])
def test_an_option_that_the_environment_does_not_have_is_named(name: str) -> None:
    with pytest.raises(EnvironmentOption, match=rf"harbor.environment.kwargs.colour is no option of .*'{name}'"):
        check(name, {"colour": "red"})
    check(name, {"colour": "red"}, any_harbor=True)


def test_a_misspelt_option_is_shown_its_neighbour() -> None:
    with pytest.raises(EnvironmentOption, match="Did you mean 'labels'"):
        check("daytona", {"labells": {}})


def test_what_the_deployment_sets_is_not_the_callers_to_change() -> None:
    fixed = {"modal": {"region": "eu"}}
    with pytest.raises(EnvironmentOption, match=r"kwargs.region is set by this deployment"):
        check("modal", {"region": "us"}, ALL, fixed=fixed, local=True)
    check("modal", {"app_name": "x"}, fixed=fixed)


def test_options_that_have_to_be_given_are_given_by_one_of_the_two() -> None:
    fixed = {"gke": {"cluster_name": "c", "region": "r", "namespace": "n", "registry_location": "l"}}
    with pytest.raises(EnvironmentOption, match="needs the options registry_name"):
        check("gke", {}, fixed=fixed)
    with pytest.raises(ClosedPassthrough, match=r"kwargs\.registry_name"):
        check("gke", {"registry_name": "mine"}, fixed=fixed)
    check("gke", {"registry_name": "mine"}, ALL, fixed=fixed)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"launch_mode": "attach", "instance_id": "i-1"}, "launch_mode: .* attached to none"),
        ({"instance_id": "i-1"}, "instance_id: .* attached to none"),
        ({"instance_type": "p5.48xlarge"}, "instance_type: the settings of EC2 are the deployment's"),
        ({"region": "us-east-1"}, "region: the settings of EC2 are the deployment's"),
        ({"iam_instance_profile": "admin"}, "iam_instance_profile: the settings of EC2"),
        ({"tags": {"a": "b"}}, "tags: the settings of EC2"),
    ],
)
def test_nobody_changes_the_settings_of_ec2(options: dict[str, object], words: str) -> None:
    for doors in (NONE, ALL):
        with pytest.raises(EnvironmentOption, match=words):
            check("ec2", options, doors, fixed=EC2)


def test_on_ones_own_machine_the_settings_of_ec2_are_ones_own() -> None:
    check("ec2", {"region": "eu", "ami_id": "a", "key_name": "k"}, ALL, local=True)
    with pytest.raises(EnvironmentOption, match="attached to none"):
        check("ec2", {"region": "eu", "ami_id": "a", "launch_mode": "attach"}, ALL, local=True)


def submitted(place: str, /, **harbor: object) -> Unit:
    return unit(
        TrialConfig("nop", None, 1, environment=place),
        CATALOGUE,
        inherited_environment=None,
        harbor=harbor,
        doors=NONE,
        environments=Environments(options=EC2),
    )


def test_a_retained_machine_is_not_supported() -> None:
    with pytest.raises(Exception, match=r"harbor\.environment\.delete is not supported"):
        submitted("ec2", environment={"delete": False})


@pytest.mark.parametrize(
    ("harbor", "definition", "words"),
    [
        ({"environment": {"override_gpus": 1}}, {"environment": {}}, "environment.gpus = 1: .*'ec2' has no GPUs"),
        (
            {"environment": {"override_tpu": {"type": "v5"}}},
            {"environment": {}},
            "environment.tpu: .*'ec2' has no TPUs",
        ),
        ({}, {"environment": {"gpus": 2}}, "environment.gpus = 2: .*'ec2' has no GPUs"),
        ({}, {"environment": {"needs_tpu": True}}, "environment.tpu: .*'ec2' has no TPUs"),
    ],
)
def test_accelerators_are_refused_on_ec2(harbor: dict[str, object], definition: dict[str, object], words: str) -> None:
    with pytest.raises(UnfitTask, match=words):
        submitted("ec2", **harbor).check_task(definition)
    submitted("ec2").check_task({"environment": {"gpus": 0}})


def test_only_what_runs_on_the_machine_of_the_worker_reserves_its_memory() -> None:
    task = {"environment": {"memory_mb": 512}}
    assert submitted("daytona").memory_mb(task) == 0
    assert submitted("local").memory_mb(task) == 512
    assert submitted("daytona").memory_mb({"environment": {"memory_mb": 10**6}}) == 0


def named(needs: Needs | None = None, *references: str) -> TrialNames:
    return TrialNames(
        agent="nop",
        model=None,
        needs=needs or Needs(),
        references=tuple(Reference(name, "environment.env of task.toml", False) for name in references),
        agent_env=frozenset(),
        other_access=False,
    )


def test_what_a_worker_shows_to_a_provider_is_shown_to_no_task_and_no_agent_there() -> None:
    places = Environments(logins={"modal": ["OTHER_SECRET"]})
    services = {"services": {"reaches": [], "variables": ["DAYTONA_API_KEY"]}}
    for environment, trial, definition in (
        ("daytona", named(None, "DAYTONA_API_KEY"), {}),
        ("daytona", named(), services),
        ("ec2", named(Needs(one_of=(("AWS_SECRET_ACCESS_KEY",),))), {}),
        ("hf-sandbox", named(Needs(also=("HF_TOKEN",))), {}),
        ("modal", named(None, "OTHER_SECRET"), {}),
    ):
        with pytest.raises(LoginOfProvider, match=f"logs in to '{environment}'"):
            places.check_names(environment, trial, definition)
        for elsewhere in ("local", "docker", "e2b"):
            places.check_names(elsewhere, trial, definition)


def test_addresses_of_a_provider_are_no_secret() -> None:
    Environments().check_names("daytona", named(None, "DAYTONA_TARGET", "OPENAI_API_KEY"), {})


OPEN_OPTIONS = {
    "blaxel": "deployment_timeout_sec region sandbox_version",
    "boxd": (
        "api_timeout_sec create_stagger_sec docker_ready_timeout_sec machine_ready_timeout_sec memory region vcpu"
    ),
    "cua-cloud": (
        "bind_timeout_sec override_exec_timeout platform port_services ready_timeout_sec renew_interval "
        "startup_command sudo_password warmpool"
    ),
    "cwsandbox": "docker_image max_timeout_seconds request_timeout_seconds tags",
    "daytona": "auto_labels dockerd_wait_sec expose_sandbox_id labels network_block_all",
    "e2b": (
        "allow_memory_overcommit image_user max_api_reads_per_sec max_concurrent_builds "
        "renew_interval_sec sandbox_timeout_sec"
    ),
    "gke": "cloud_build_disk_size_gb cloud_build_machine_type memory_limit_multiplier region",
    "hf-sandbox": "flavor job_timeout",
    "hyperbrowser": ("builder_cpus builder_memory_mib builder_scratch_mib image_id image_name region timeout_minutes"),
    "kata": "kata_dns",
    "kernel": (
        "browser_memory chrome_policy gpu headless hypeman_create_attempts kiosk_mode memory name "
        "network region stealth tags telemetry timeout_seconds video_memory viewport viewport_height "
        "viewport_width"
    ),
    "langsmith": "poll_interval_seconds request_timeout_seconds startup_timeout_seconds workdir",
    "modal": "app_name auto_labels labels modal_vm_runtime region sandbox_idle_timeout_secs sandbox_timeout_secs",
    "mosaic": "build_args metadata replicas",
    "opensandbox": (
        "entrypoint health_check_poll_interval_sec metadata protocol ready_timeout_sec "
        "request_timeout_sec sandbox_timeout_sec skip_health_check"
    ),
    "sail": "app_name",
    "sbx": "cleanup_timeout command_timeout default_cpus default_memory_mib max_output_bytes transfer_timeout",
    "singularity": "singularity_force_pull",
    "skypilot": "platform pool",
    "snowflake": "emulate_non_root_user exec_timeout_sec max_live prebuilt_image run_entrypoint",
    "superserve": "max_concurrent_builds timeout_seconds",
    "use-computer": "device_type family mode override_exec_timeout platform resources runtime version",
    "vercel": (
        "builder_image create_timeout_sec image ports post_cancel_command_timeout_sec "
        "process_cancel_grace_sec process_wait_retry_delay_sec task_bootstrap task_image "
        "transfer_timeout_sec"
    ),
}
"""What anybody may set, by environment; where there is nothing to set it is not listed."""


def test_what_anybody_may_set_was_looked_at_by_a_person() -> None:
    left = {
        name: " ".join(filter(is_open, facts["options"] or ()))
        for name, facts in read_environments().items()
        if name != "ec2"
    }
    assert {name: options for name, options in left.items() if options} == OPEN_OPTIONS


def test_every_environment_has_facts_of_the_same_shape() -> None:
    shapes = {frozenset(facts) for facts in read_environments().values()}
    assert len(shapes) == 1
    for name in read_environments():
        assert all(variable.isupper() for variable in login_names(name))
