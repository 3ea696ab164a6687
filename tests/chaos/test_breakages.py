"""The proof notices what it is about: a worker without fencing, sweeps, whole uploads or cancellation is caught."""

import pytest

from chaos.breakages import BREAKAGES, variables
from chaos.builds import proof_after
from chaos.proof import STRANDED
from chaos.scenarios import SCENARIOS
from chaos.site import Site

pytestmark = pytest.mark.long

PATIENCE = 30.0
"""How long a broken worker has to end what it ends, whatever else the machine does."""
STRANDED_PATIENCE = 8.0
"""How long it has to end what it will not end."""


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_build_is_caught(site: Site, name: str) -> None:
    patience = STRANDED_PATIENCE if STRANDED in BREAKAGES[name].caught_by else PATIENCE
    proof = proof_after(site, [SCENARIOS[name]], variables(name), patience)
    assert BREAKAGES[name].caught_by <= proof.failed, "\n".join(proof.lines())
