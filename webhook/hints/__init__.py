"""Hints and fixes of findings: what was probably meant.

:mod:`fields <webhook.hints.fields>` is the entry, for any finding of the API server; it asks :mod:`selectors
<webhook.hints.selectors>` about expressions of device selectors. :mod:`policies <webhook.hints.policies>` explains
expressions of policies, and :mod:`names <webhook.hints.names>` names that refer to nothing. Other hints are made
where the mistake is seen: unknown fields in :mod:`webhook.schema.suggest`, YAML in :mod:`webhook.documents.yamlhints`,
and those of rules beside the rule, as in :mod:`webhook.references`.
"""
