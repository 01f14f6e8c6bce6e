"""The configuration file of a repository, ``.draguard.yaml``: its keys, where it is, and how it is read.

It may come from strangers, as with pull requests of forks: it cannot run programs, it names only files in its own
repository, and its size is bounded.
"""
