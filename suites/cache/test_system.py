"""An encoder cache against its model: whole histories of batches."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from reference.cache_contracts import CacheImplementation
from suites.cache.encoder import ROW_BYTES
from suites.cache.judge import Judge
from suites.strategies.caches import BUDGETS, batches, layouts_of


class SystemMachine(RuleBasedStateMachine):
    """Batches, weight updates and clears, in any order."""

    implementation: CacheImplementation

    @initialize(budget=BUDGETS, data=st.data())
    def start(self, budget: tuple[int, int], data: st.DataObject) -> None:
        rows, odd = budget
        self.judge = Judge(self.implementation, rows * ROW_BYTES + odd)
        self.layouts = data.draw(layouts_of(self.implementation.claims), label="layouts")

    @rule(data=st.data())
    def embed(self, data: st.DataObject) -> None:
        self.judge.embed(data.draw(batches(self.layouts, collisions=self.implementation.claims.collisions), label="batch"))

    @precondition(lambda self: self.implementation.claims.weights)
    @rule()
    def update_weights(self) -> None:
        self.judge.update_weights()

    @precondition(lambda self: self.implementation.claims.clear)
    @rule()
    def clear(self) -> None:
        self.judge.clear()


@pytest.mark.stateful
@pytest.mark.requirement(
    "CACHE-KEY-1",
    "CACHE-KEY-3",
    "CACHE-KEY-4",
    "CACHE-KEY-5",
    "CACHE-PARTITION-1",
    "CACHE-RESIDUAL-1",
    "CACHE-RESIDUAL-2",
    "CACHE-RESIDUAL-3",
    "CACHE-ORDER-1",
    "CACHE-ORDER-2",
    "CACHE-ENCODE-1",
    "CACHE-ENCODE-2",
    "CACHE-ENCODE-3",
    "CACHE-VIDEO-1",
    "CACHE-VIDEO-2",
    "CACHE-VIDEO-3",
    "CACHE-FALLBACK-1",
    "CACHE-PROGRESS-1",
    "CACHE-MATES-1",
    "CACHE-ALIAS-1",
    "CACHE-ACCOUNT-2",
)
def test_every_history_is_served_as_the_model_owes(cache_impl: CacheImplementation) -> None:
    run_state_machine_as_test(type("SystemMachine", (SystemMachine,), {"implementation": cache_impl}))
