"""What is checked: our own mask kernels and caches, and adapters to other engines.

Imports from ``reference`` the data types and contracts only, never an oracle.
"""
