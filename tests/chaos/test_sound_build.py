"""What catches every broken worker is content with a sound one."""

import pytest

from chaos.builds import proof_after
from chaos.scenarios import SCENARIOS, take_the_trial_of_a_frozen_worker
from chaos.site import Site

pytestmark = pytest.mark.long

PATIENCE = 60.0


def test_the_sound_build_passes_wherever_a_broken_one_is_caught(site: Site) -> None:
    # The worker that was frozen does not come back: that is last.
    scenarios = sorted(set(SCENARIOS.values()), key=lambda scenario: scenario is take_the_trial_of_a_frozen_worker)
    proof = proof_after(site, scenarios, {}, PATIENCE)
    assert proof.passed, "\n".join(proof.lines())
