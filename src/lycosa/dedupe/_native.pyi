from typing import Any

# The tables are buffers; numpy's arrays are such, but their types do not say so.
def sign(text: str, codes: Any, factors: Any, columns: Any, donors: Any) -> tuple[bytes, bytes, bytes]: ...
