from .fixtures import hand_web, mixed_web

__all__ = ["hand_web", "mixed_web"]
