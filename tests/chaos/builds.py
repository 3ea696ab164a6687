"""What the self-test does with a worker that is sound or broken: scenarios, then the proof."""

import random
from collections.abc import Iterable, Mapping
from contextlib import closing

from chaos.clients import Ledger, User, upload
from chaos.collecting import collect
from chaos.proof import Proof, prove
from chaos.scenarios import Scenario
from chaos.settling import settle
from chaos.site import Site, new_tag


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
