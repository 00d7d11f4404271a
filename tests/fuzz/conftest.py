"""How many examples a run tries: few in CI, as many as LYCOSA_FUZZ_EXAMPLES says otherwise. The same ones each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

EXAMPLES = int(os.environ.get("LYCOSA_FUZZ_EXAMPLES", "100"))

# Deadlines would be a matter of the machine; what must be quick is measured elsewhere, in CPU time.
fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
