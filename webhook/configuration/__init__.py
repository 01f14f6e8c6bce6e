"""The configuration file of a repository, ``.draguard.yaml``: its keys, and how it is read.

It is found by :mod:`webhook.cli.parser`.

It may come from strangers, as with pull requests of forks: it cannot run programs, it names only files in its own
repository, and its size is bounded.
"""
