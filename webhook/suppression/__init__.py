"""Suppresses findings: levels of rules, comments, annotations, paths, a baseline, an earlier revision.

Nothing of this is known to the webhook: a tenant who writes a manifest can write a comment or an annotation, too, and
must not be able to switch off what is enforced at admission.
"""
