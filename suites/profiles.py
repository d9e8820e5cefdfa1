"""How examples are drawn: the Hypothesis profiles (``--hypothesis-profile``). Importing this loads the usual one."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

GLANCE, SEARCH, EVERYTHING = "mutants-glance", "mutants", "mutants-everything"
"""Of mutants: few examples of each test, many, and as many as a run of a list draws."""

# Examples of drawn tensors have no deadline: the first one compiles kernels. A mask case is large by design.
# Explanations name lines of the suite, which is not where the fault is.
_COMMON = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
    phases=[phase for phase in Phase if phase is not Phase.explain],
)
settings.register_profile("dev", _COMMON, max_examples=100)
# On CI the same commit draws the same examples: a red run can be repeated, a green one is not luck.
settings.register_profile("ci", _COMMON, max_examples=100, derandomize=True, database=None)
# At night: where Hypothesis' own profile for CI draws the same examples each time, keeps none that failed, and is not to be
# loaded by hand, this one searches where no night has, and begins with what failed last night.
settings.register_profile("nightly", _COMMON, max_examples=1000, derandomize=False)
# Mutants: whether a fault is found, not the smallest case of it; most show at a glance.
# Their seeds are honoured under CI too, where Hypothesis would draw the same whatever the seed.
_MUTANTS = settings(_COMMON, derandomize=False, database=None, phases=[Phase.explicit, Phase.generate], print_blob=False)
settings.register_profile(GLANCE, _MUTANTS, max_examples=25)
settings.register_profile(SEARCH, _MUTANTS, max_examples=400)
settings.register_profile(EVERYTHING, _MUTANTS, max_examples=100)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
