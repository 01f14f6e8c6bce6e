"""The admission pipeline: a request in, a verdict out.

In the API server's order: mutating policies, webhooks and so the rewrite of pre-scheduled pods, the server's own rules,
validating policies. Front ends differ in where their requests come from, and in how they tell the verdict:

- :mod:`~webhook.engine.manifests`: what a client submits, for the command line and the library.
- :mod:`~webhook.engine.reviews`: what an API server has decoded and asks a webhook about.
- :mod:`~webhook.engine.suites`: the cases of policies.

They share :mod:`~webhook.engine.mutation`, :mod:`~webhook.engine.prescheduled`, and for what no server has seen yet
:mod:`~webhook.engine.offline` with :mod:`~webhook.engine.registry`, which does what the server does in between.
"""
