"""`python -m lycosa.simweb ORDER`: the child's side of `SimWebProcess`; people use `lycosa simweb`."""

from __future__ import annotations

import sys

import msgspec

from .process import Order, run_child

run_child(msgspec.json.decode(sys.argv[1], type=Order))
