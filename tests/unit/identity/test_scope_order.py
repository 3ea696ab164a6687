from itertools import product

from oddish.identity.keys import KEY, key_hash, key_prefix
from oddish.identity.principal import Scope


def test_each_scope_includes_the_smaller_ones() -> None:
    included = {(scope, needed) for scope, needed in product(Scope, Scope) if scope.includes(needed)}
    assert included == {
        (Scope.READ, Scope.READ),
        (Scope.TASKS, Scope.READ),
        (Scope.TASKS, Scope.TASKS),
        (Scope.FULL, Scope.READ),
        (Scope.FULL, Scope.TASKS),
        (Scope.FULL, Scope.FULL),
    }


def test_keys_have_a_form_a_hash_and_a_prefix() -> None:
    key = "ok_" + "0f" * 16
    assert KEY.fullmatch(key)
    assert len(key_hash(key)) == 32
    assert key.startswith(key_prefix(key))
    assert len(key_prefix(key)) == 11
