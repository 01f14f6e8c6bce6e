"""The admission pipeline: a request in, a verdict out.

In the API server's order: mutating policies, webhooks and so the rewrite of pre-scheduled pods, the server's own rules,
validating policies. Front ends differ in where their requests come from, and in how they report the verdict:

- :mod:`~webhook.engine.manifests`: manifests as a client submits them, for the command line and the library.
- :mod:`~webhook.engine.suites`: test suites of policies.
- :mod:`webhook.admission.decisions`: requests that an API server has decoded and sends to a webhook.

They share :mod:`~webhook.engine.mutation` and :mod:`~webhook.engine.prescheduled`; manifests and suites also share
:mod:`~webhook.engine.offline`, and :mod:`~webhook.engine.registry`, which does the API server's work around admission.
"""
