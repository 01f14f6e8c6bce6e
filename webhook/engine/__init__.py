"""A request in, a verdict out: what becomes of an object on its way through admission.

In the API server's order: mutating policies, webhooks and so the rewrite of pre-scheduled pods, the server's own rules,
validating policies. Command line, webhook, library and the suites of policies all ask here; they differ in where their
requests come from, and in how they tell the verdict.
"""
