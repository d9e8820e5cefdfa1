"""Adapters to other engines' masks and stores, one file an engine.

A module here imports its engine at the top, so importing it is the test of whether the engine is there: an engine that
is not installed, too old, or without the function needed is a :class:`reference.contracts.EngineNotAvailableError`. They
are chosen by name, ``--mask-impl impl.peers.flex:FLEX`` for example, and nothing else of ``impl`` imports them.

An adapter calls its engine as the engine's own code does, and claims what the engine means to do, the profiles of its masks
or the parts of a store's contract, so that a failure is the engine's. Each says in its docstring which versions it was tried
on, and in ``about``, which stands in a matrix, what it calls and how the engine departs.
"""
