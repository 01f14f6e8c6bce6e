"""What every test can rely on."""

from webhook.cel.limits import ensure_recursion

# The first CEL environment lets Python recurse deeper; hypothesis insists that no test changes that limit midway.
ensure_recursion()
