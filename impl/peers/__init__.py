"""Adapters to other engines' masks, one file an engine.

A module here imports its engine at the top, so importing it is the test of whether the engine is there: an engine that
is not installed, too old, or without the function needed is a :class:`reference.contracts.EngineNotAvailableError`. Nothing
outside of this folder imports them; they are chosen by name, ``--mask-impl impl.peers.flex:FLEX`` for example.

An adapter calls its engine as the engine's own code does, and claims the profiles that the engine means to implement,
so that a failure is the engine's. Each says in its docstring which versions it was tried on, and how the engine departs.
"""
