"""The configuration file of a repository, ``.draguard.yaml``: its keys, where it is, and how it is read.

It may come from strangers, as with pull requests of forks: it runs nothing, names files in its own repository only, and
its size is bounded.
"""
