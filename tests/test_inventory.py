"""An inventory returns objects in the newest version."""

from __future__ import annotations

from webhook.inventory import Inventory


def test_what_is_held_in_an_older_version_is_returned_in_the_newest() -> None:
    inventory = Inventory()
    asks = {"name": "gpu", "deviceClassName": "gpu.example.com"}
    for name in ("a", "b", "c", "d"):
        claim = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "metadata": {"name": name}}
        assert inventory.hold({**claim, "spec": {"devices": {"requests": [asks]}}})
    found = [inventory.find("ResourceClaim", "a", "default"), inventory.discard("ResourceClaim", "b", "default")]
    found += inventory.all("ResourceClaim")
    assert [each and (each["apiVersion"], each["metadata"]["name"]) for each in found] == [
        ("resource.k8s.io/v1", name) for name in ("a", "b", "a", "c", "d")
    ]
    exactly = {"deviceClassName": "gpu.example.com"}
    assert all(each and each["spec"]["devices"]["requests"][0]["exactly"] == exactly for each in found)
