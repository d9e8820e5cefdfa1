"""What is right: the data that implementations are handed, the rules, and the oracles.

Imports torch and nothing else of this project, so that an oracle never shares code with what it judges.
"""
