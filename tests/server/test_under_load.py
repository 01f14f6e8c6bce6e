"""No event in the life of a running webhook loses a review: every review is counted."""

import json
import ssl
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.reviews import reviews
from tests.policies import POLICY
from tests.processes import Process, certificate, loading, serving
from tests.serving import JSON, ask
from webhook.certificates import certs

pytestmark = pytest.mark.process

ADMITTED, REFUSED = (200, True), (200, False)


def mount(directory: Path, **files: str) -> None:
    """Change files as kubelet changes those of a mounted volume: all at once, by a symbolic link to a directory."""
    data = directory / f"..{len(list(directory.iterdir()))}"
    data.mkdir(parents=True)
    for name, text in files.items():
        (data / f"{name}.yaml").write_text(text, encoding="utf-8")
        if not (directory / f"{name}.yaml").is_symlink():
            (directory / f"{name}.yaml").symlink_to(Path("..data") / f"{name}.yaml")
    (directory / "new").symlink_to(data.name)
    (directory / "new").rename(directory / "..data")


def mounted(directory: Path) -> Path:
    """Mount a policy that admits everything."""
    (directory / "policies").mkdir()
    mount(directory / "policies", names=POLICY.format(expression="'true'"))
    return directory / "policies"


class TestFiles:
    def test_broken_policies_make_it_unready_if_configured(self, tmp_path: Path) -> None:
        trust, policies = certificate(tmp_path), mounted(tmp_path)
        options = ("--policies", policies, "--on-broken-policies", "unready")
        with serving(tmp_path, *options) as server:
            assert readiness(server, trust)[0] == 200
            mount(policies, names="no policy")
            assert server.says("the old ones kept")
            status, body = readiness(server, trust)
            assert status == 503
            assert body.startswith(b"not ready: the policies in the files cannot be used: ")
            mount(policies, names=POLICY.format(expression="'true'"))
            assert server.says("are in use, generation 2")
            assert {readiness(server, trust)[0] for _ in range(10)} == {200}

    def test_a_new_certificate_and_new_policies(self, tmp_path: Path) -> None:
        trust, policies = certificate(tmp_path), mounted(tmp_path)
        with serving(tmp_path, "--policies", policies) as server, loading([server.port], trust) as load:
            before = ssl.get_server_certificate(("127.0.0.1", server.port))
            for name in ("tls.crt", "tls.key"):
                (tmp_path / name).unlink()
            certs.issue(tmp_path, ["127.0.0.1"])
            assert server.says("the new files for TLS are in use, generation 2")
            assert ssl.get_server_certificate(("127.0.0.1", server.port)) != before
            assert load.goes_on()
            assert REFUSED not in load.answers
            mount(policies, names=POLICY.format(expression="object.metadata.name != 'gpu'"))
            assert server.says("the new policies are in use, generation 2")
            admitted = load.answers[ADMITTED]
            assert load.goes_on()
            assert load.answers[ADMITTED] - admitted <= 4  # what the clients had received before
            mount(policies, names=POLICY.format(expression="object.metadata.nam"))
            assert server.says("the new policies are not used, the old ones kept")
            assert load.goes_on()
        assert load.failures == []
        assert set(load.answers) == {ADMITTED, REFUSED}

    def test_new_policies_are_those_of_heavy_reviews_too(self, tmp_path: Path) -> None:
        trust, policies = certificate(tmp_path), mounted(tmp_path)
        review = reviews()["resourceclaims"]
        review["request"]["object"]["metadata"]["annotations"] = {"a": "x" * 100_000}
        with serving(tmp_path, "--policies", policies) as server:

            def admits() -> bool:
                _, body = ask(server.port, "POST", "/validate?timeout=30s", json.dumps(review), JSON, trust=trust)
                return bool(json.loads(body)["response"]["allowed"])

            assert admits()
            for generation, expression in ((2, "'false'"), (3, "'true'")):
                mount(policies, names=POLICY.format(expression=expression))
                assert server.says(f"the new policies are in use, generation {generation}")
                assert admits() is (expression == "'true'")


def readiness(server: Process, trust: ssl.SSLContext) -> tuple[int, bytes]:
    return ask(server.port, "GET", "/readyz", trust=trust)


def test_two_are_restarted_one_after_the_other(tmp_path: Path) -> None:
    trust = certificate(tmp_path)
    with ExitStack() as stack:
        first, second = (stack.enter_context(ExitStack()) for _ in range(2))
        ports = [each.enter_context(serving(tmp_path)).port for each in (first, second)]
        with loading(ports, trust, clients=8) as load:
            for replica, port in zip((first, second), ports, strict=True):
                replica.close()
                assert load.goes_on()
                replica.enter_context(serving(tmp_path, port=port))
                assert load.goes_on()
    assert load.failures == []
    assert set(load.answers) == {(200, True)}
