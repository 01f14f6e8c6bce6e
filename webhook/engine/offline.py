"""What policies say of manifests, outside of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.budget import DOCUMENT, Budget, limited
from webhook.engine.registry import before_validation
from webhook.policy.authorizer import DENY_ALL
from webhook.policy.defaults import completed
from webhook.policy.mutate import admit
from webhook.policy.request import as_stated, in_namespace, request_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.policy.authorizer import Authorizer
    from webhook.policy.load import PolicySet
    from webhook.policy.request import JSONObject
    from webhook.policy.verdict import Verdict


def judge(
    obj: JSONObject | None,
    old: JSONObject | None = None,
    *,
    policies: PolicySet,
    operation: str = "",
    subresource: str = "",
    user: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    namespace: str = "default",
    authorizer: Authorizer = DENY_ALL,
) -> Verdict:
    """Ask policies about the request that a manifest stands for, as the API server would; never raises.

    The namespace and the API server's defaults are set before policies look at the object. The verdict's ``object`` is
    the object as mutating policies changed it, without those.

    Args:
        obj: The object; None to delete ``old``.
        old: The object as it is stored, for an update.
        policies: The policies.
        operation: CREATE, UPDATE, DELETE or CONNECT; what the objects suggest if empty.
        subresource: The subresource.
        user: Who asks: ``username``, ``groups``, ``uid``, ``extra``.
        dry_run: Whether nothing is to be stored.
        namespace: The namespace of a namespaced object that states none.
        authorizer: Who knows what the user may do.
    """
    request = request_of(
        obj,
        old,
        kinds=policies.kinds,
        operation=operation,
        subresource=subresource,
        user=user,
        dry_run=dry_run,
        namespace=namespace,
    )
    with limited(Budget(DOCUMENT, is_offline=True)):
        verdict = admit(
            completed(in_namespace(request), policies.release),
            policies,
            authorizer,
            lambda later: before_validation(later, policies.kinds),
        )
    return verdict._replace(object=as_stated(verdict.object, request.object))
