"""Suppresses findings: levels of rules, comments, annotations, paths, a baseline, an earlier revision.

The webhook ignores all of these: a tenant who writes a manifest can write a comment or an annotation, too, and must not
be able to switch off enforcement at admission.
"""
