"""Names of drivers that are hardly anything but mistyped."""

import json

import pytest

from tests.command import findings
from tests.rows import each_row
from tests.structured import claim


class TestMistypedNames:
    @staticmethod
    def claim(class_name: str, driver: str) -> str:
        config = [{"opaque": {"driver": driver, "parameters": {}}}]
        return json.dumps(claim({"name": "gpu", "exactly": {"deviceClassName": class_name}}, config=config))

    @each_row(
        ("class_name", "driver", "found"),
        [
            ("gpu.nvdia.com", "gpu.example.org", ["gpu.nvidia.com"]),
            ("mig.nvdia.com", "gpu.itnel.com", ["mig.nvidia.com", "gpu.intel.com"]),
            ("guadi.intel.com", "gpu.example.org", ["gaudi.intel.com"]),
            ("gpu.nvidia.com", "gpu.example.org", []),
            ("gpus", "npu.intel.com", []),
            ("vgpu.nvidia.com", "gpus.intel.com", []),
        ],
    )
    def test_only_what_can_hardly_be_a_driver_of_its_own_is_found(
        self, class_name: str, driver: str, found: list[str]
    ) -> None:
        judged = findings("validate", "-", stdin=self.claim(class_name, driver))
        hints = [each["hint"] for each in judged if each["rule"] == "mistyped-driver"]
        assert sorted(hints) == sorted(f'did you mean "{each}"?' for each in found)

    @pytest.mark.parametrize(
        ("kind", "name", "spec"),
        [
            ("DeviceClass", "gpu.nvdia.com", "{}"),
            ("DeviceClass", "a", "{selectors: [{cel: {expression: 'device.driver == \"gpu.nvdia.com\"'}}]}"),
            ("ResourceSlice", "a", "{driver: gpu.nvdia.com, nodeName: x, pool: {name: x, resourceSliceCount: 1}}"),
        ],
    )
    def test_a_driver_that_is_there_has_the_name_that_it_has(self, kind: str, name: str, spec: str) -> None:
        text = self.claim("gpus.example.com", "gpu.nvdia.com")
        text += f"\n---\napiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        judged = findings("validate", "-", stdin=text)
        assert "mistyped-driver" not in {each["rule"] for each in judged}

    @pytest.mark.parametrize(
        ("driver", "hint"),
        [
            ("gpu.nvdia.com", 'did you mean "gpu.nvidia.com"?'),
            ("nvidia.com", 'did you mean "gpu.nvidia.com"?'),
            ("amd.com", "drivers of this domain: gpu.amd.com"),
            ("gpu.nvidia.com", None),
            ("example.com", None),
            ("net", None),
            ("acme.com", None),
        ],
    )
    def test_a_selector_of_a_class_names_a_driver(self, driver: str, hint: str | None) -> None:
        text = f"""
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: gpu}}
spec: {{selectors: [{{cel: {{expression: 'true && "{driver}" == device.driver'}}}}]}}
"""
        judged = findings("validate", "-", stdin=text)
        found = [(each["hint"], each["line"]) for each in judged if each["rule"] == "mistyped-driver"]
        assert found == ([(hint, 5)] if hint else [])
