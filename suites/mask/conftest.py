"""Fixtures of the mask suite: what the implementation under test can be asked."""

from suites.claims import claimed

__all__ = ["claimed"]
