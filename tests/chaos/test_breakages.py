"""The proof notices what it is about: a worker without fencing, sweeps, whole uploads or cancellation is caught."""

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing

import pytest

from chaos.breakages import BREAKAGES, variables
from chaos.clients import Ledger, User, upload
from chaos.collecting import collect
from chaos.proof import STRANDED, Proof, prove
from chaos.scenarios import SCENARIOS, Scenario, take_the_trial_of_a_frozen_worker
from chaos.settling import settle
from chaos.site import Means, Site, new_tag

pytestmark = pytest.mark.long

NONE = Means(disks="not used", faketime="not used", docker="not used")
PATIENCE = 30.0
"""How long a broken worker has to end what it ends, whatever else the machine does."""
STRANDED_PATIENCE = 8.0
"""How long it has to end what it will not end."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("site"), NONE, servers=1, workers=0) as site:
        yield site


def proof_after(site: Site, scenarios: Iterable[Scenario], build: Mapping[str, str], patience: float) -> Proof:
    """Of all that a worker with the variables ``build`` and its clients did in these scenarios."""
    site.tag = new_tag()
    ledger = Ledger()
    tasks = upload(site.fleet.client(site.fleet.servers[0]), site.directory / site.tag, site.tag)
    user = User(site.tag, site.urls, ledger, tasks, ["local"], site.statuses, random.Random(0))
    with closing(user):
        [worker] = site.fleet.add_workers(1, **build)
        involved = dict.fromkeys(name for scenario in scenarios for name in scenario(site, user, worker))
        settled = settle(site, [user], list(involved), [], patience=patience, gone=3.0, brooms=1)
    late, left = settled.late, settled.leftovers
    return prove(collect(site.fleet, ledger, site.tag, list(involved), late=late, leftovers=left))


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_build_is_caught(site: Site, name: str) -> None:
    patience = STRANDED_PATIENCE if STRANDED in BREAKAGES[name].caught_by else PATIENCE
    proof = proof_after(site, [SCENARIOS[name]], variables(name), patience)
    assert BREAKAGES[name].caught_by <= proof.failed, "\n".join(proof.lines())


def test_the_sound_build_passes_wherever_a_broken_one_is_caught(site: Site) -> None:
    # The worker that was frozen does not come back: that is last.
    scenarios = sorted(set(SCENARIOS.values()), key=lambda scenario: scenario is take_the_trial_of_a_frozen_worker)
    proof = proof_after(site, scenarios, {}, 60.0)
    assert proof.passed, "\n".join(proof.lines())
