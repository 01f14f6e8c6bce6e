from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webhook.certificates.certs import CertificateError
from webhook.cluster import rotation
from webhook.cluster.options import Step
from webhook.cluster.rotation import step

pytestmark = pytest.mark.slow

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ("draguard.draguard-system.svc",)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

Data = dict[str, bytes]


def following(
    data: Data,
    now: datetime = START,
    names: tuple[str, ...] = NAMES,
    trusted: Sequence[bytes | None] | None = None,
    *,
    served: tuple[bytes, bytes] | None = None,
    kind: str = "",
) -> Step:
    """Return the next step, which there is; of a kind, if one is stated."""
    found = step(data, now, names, trusted, served=served)
    assert found
    assert kind in {"", found.kind}
    return found


def pair(data: Data) -> tuple[bytes, bytes]:
    return data["tls.crt"], data["tls.key"]


def settled(data: Data, now: datetime, trusted: Sequence[bytes | None] | None = None) -> bool:
    return step(data, now, NAMES, trusted) is None


def serving(data: Data) -> x509.Certificate:
    return x509.load_pem_x509_certificate(data["tls.crt"])


def authorities(bundle: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle) if bundle else []


def is_trusted(certificate: x509.Certificate, bundle: bytes, now: datetime) -> bool:
    """Tell whether the API server accepts a certificate, by the verifier of the library, not by the rotation's own."""
    trusted = [found for found in authorities(bundle) if found.not_valid_before_utc <= now < found.not_valid_after_utc]
    if not trusted:
        return False
    builder = x509.verification.PolicyBuilder().store(x509.verification.Store(trusted)).time(now)
    try:
        builder.build_server_verifier(x509.DNSName(NAMES[0])).verify(certificate, [])
    except x509.verification.VerificationError:
        return False
    return True


@pytest.fixture(scope="module")
def fresh() -> Data:
    return following({}).data


@pytest.fixture(scope="module")
def stranger() -> Data:
    return following({}).data


@pytest.fixture(scope="module")
def announced(fresh: Data) -> Data:
    """Return a Secret on day 244, when the second authority is known, and not used yet."""
    data, kinds = fresh, []
    for days in range(245):
        if found := step(data, START + days * DAY, NAMES, [data["ca.crt"]]):
            kinds.append(found.kind)
            data = found.data
    assert kinds == ["renew"] * 4 + ["announce"]
    return data


def test_an_empty_secret_is_filled_with_what_holds_for_clocks_that_are_slow(fresh: Data) -> None:
    assert sorted(fresh) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    for now in (START, START - HOUR):
        assert is_trusted(serving(fresh), fresh["ca.crt"], now)
    assert settled(fresh, START, [fresh["ca.crt"]])


@each_row("key", "ca.crt", "tls.crt", "tls.key")
@each_row("content", b"", b"\xff\0", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
def test_garbage_is_replaced(fresh: Data, key: str, content: bytes) -> None:
    found = following({**fresh, key: content}, kind="recover" if key == "ca.crt" else "renew")
    assert is_trusted(serving(found.data), found.data["ca.crt"], START)
    assert settled(found.data, START)


def test_what_does_not_belong_together_is_not_used(fresh: Data, stranger: Data) -> None:
    odd = ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for changed, kind in (
        ({"tls.key": stranger["tls.key"]}, "renew"),
        ({"ca.key": stranger["ca.key"]}, "announce"),
        ({"tls.crt": stranger["tls.crt"], "tls.key": stranger["tls.key"]}, "renew"),
        ({"tls.crt": fresh["ca.crt"], "tls.key": fresh["ca.key"]}, "renew"),  # for no names
        ({"tls.key": odd}, "renew"),  # of a kind that is not used
        ({"tls.crt": with_unknown_curve(fresh["tls.crt"])}, "renew"),
    ):
        found = following({**fresh, **changed}, kind=kind)
        assert is_trusted(serving(found.data), found.data["ca.crt"], START)


def with_unknown_curve(certificate: bytes) -> bytes:
    """Change the curve of a key in a certificate to one that does not exist."""
    p256 = bytes.fromhex("2a8648ce3d030107")
    content = x509.load_pem_x509_certificate(certificate).public_bytes(Encoding.DER)
    assert p256 in content
    return x509.load_der_x509_certificate(content.replace(p256, p256[:-1] + b"\x77")).public_bytes(Encoding.PEM)


def test_a_lost_authority_key_interrupts_nothing(fresh: Data) -> None:
    lost = following({**fresh, "ca.key": b"garbage"}, kind="announce")
    assert lost.data["tls.crt"] == fresh["tls.crt"]
    assert authorities(fresh["ca.crt"])[0] in authorities(lost.data["ca.crt"])


def test_what_belongs_to_others_stays_in_the_secret(fresh: Data) -> None:
    assert following({"note": b"x"}).data["note"] == b"x"
    assert settled({**fresh, "note": b"x"}, START)


def test_a_serving_certificate_is_renewed_when_two_thirds_of_it_are_over(fresh: Data) -> None:
    assert settled(fresh, START + 59 * DAY)
    found = following(fresh, START + 60 * DAY, kind="renew")
    assert found.data["ca.crt"] == fresh["ca.crt"]
    assert serving(found.data).not_valid_after_utc == START + 150 * DAY


@each_row("names", (*NAMES, "other.svc"), ("other.svc",))
def test_names_that_are_added_or_changed_are_served_at_once(fresh: Data, names: tuple[str, ...]) -> None:
    found = following(fresh, names=names, kind="renew")
    alternatives = serving(found.data).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert alternatives.get_values_for_type(x509.DNSName) == list(names)
    assert step(found.data, START, names, None) is None


def test_names_that_are_dropped_are_dropped(fresh: Data) -> None:
    more = following(fresh, names=(*NAMES, "other.svc")).data
    assert following(more).why == "the DNS names have changed"


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(CertificateError, match="neither an IP address nor a DNS name"):
        step({}, START, ["https://a"], None)


def test_a_new_authority_is_published_beside_the_old_one_and_signs_nothing_yet(fresh: Data, announced: Data) -> None:
    old, new = authorities(announced["ca.crt"])
    assert [old] == authorities(fresh["ca.crt"])
    assert old != new
    assert announced["ca.key"] == fresh["ca.key"]
    serving(announced).verify_directly_issued_by(old)


def test_a_new_authority_is_not_used_until_all_trust_it(fresh: Data, announced: Data) -> None:
    for trusted, days in product((None, [fresh["ca.crt"], announced["ca.crt"]], [b"", b""]), (244, 250)):
        assert settled(announced, START + days * DAY, trusted)


def test_a_new_authority_is_used_once_the_overlap_has_passed(announced: Data) -> None:
    now, trusted = START + 245 * DAY, [announced["ca.crt"]] * 2
    noted = following(announced, now, trusted=trusted, kind="await")
    assert settled(noted.data, now + timedelta(minutes=59), trusted)
    used = following(noted.data, now + HOUR, trusted=trusted, kind="switch")
    assert used.data["ca.crt"] == announced["ca.crt"]
    assert used.data["ca.key"] == announced["next.key"]
    assert not {"next.key", "next.trusted"} & used.data.keys()
    serving(used.data).verify_directly_issued_by(authorities(announced["ca.crt"])[1])
    assert settled(used.data, now + HOUR, trusted)


def test_the_overlap_begins_again_if_a_configuration_loses_the_new_authority(fresh: Data, announced: Data) -> None:
    now, trusted = START + 245 * DAY, [announced["ca.crt"]]
    noted = following(announced, now, trusted=trusted).data
    assert following(noted, now + HOUR, trusted=[*trusted, fresh["ca.crt"]], kind="await").data == announced


@each_row("noted", b"\xff", b"yesterday", b"2026-01-01T00:00:00", b"2999-01-01T00:00:00+00:00")
def test_the_overlap_begins_again_if_its_beginning_is_unknown(announced: Data, noted: bytes) -> None:
    now = START + 245 * DAY
    found = following({**announced, "next.trusted": noted}, now, trusted=[announced["ca.crt"]], kind="await")
    assert found.data["next.trusted"] == now.isoformat().encode()


def test_an_old_authority_is_trusted_until_nothing_it_signed_can_be_valid(announced: Data) -> None:
    now, trusted = START + 245 * DAY, [announced["ca.crt"]]
    data = following(following(announced, now, trusted=trusted).data, now + HOUR, trusted=trusted).data
    data = following(data, START + 310 * DAY).data
    assert len(authorities(data["ca.crt"])) == 2
    assert settled(data, START + 365 * DAY - HOUR)
    retired = following(data, START + 365 * DAY, kind="retire")
    assert authorities(retired.data["ca.crt"]) == authorities(announced["ca.crt"])[1:]


def test_an_authority_that_cannot_be_replaced_signs_to_its_end(announced: Data) -> None:
    data, now = announced, START + 244 * DAY
    kinds = []
    while now < START + 366 * DAY:
        if found := step(data, now, NAMES, [b""]):
            kinds.append(found.kind)
            data = found.data
        assert is_trusted(serving(data), data["ca.crt"], now)
        now += 6 * HOUR
    assert kinds == ["renew", "recover"]
    assert data["ca.key"] == announced["next.key"], "the one that was made ready is taken"


def test_all_that_has_expired_is_replaced(fresh: Data) -> None:
    now = START + 4000 * DAY
    found = following(fresh, now, kind="recover")
    assert len(authorities(found.data["ca.crt"])) == 1
    assert is_trusted(serving(found.data), found.data["ca.crt"], now)


def test_what_a_clock_far_ahead_has_made_is_replaced() -> None:
    found = following(following({}, START + 4000 * DAY).data, kind="recover")
    assert is_trusted(serving(found.data), found.data["ca.crt"], START)


@each_row("left", {}, {"ca.crt": b"garbage"}, {"note": b"x"})
def test_what_is_served_with_is_put_back_into_a_secret_that_has_lost_it(fresh: Data, left: Data) -> None:
    old, trusted = pair(fresh), [fresh["ca.crt"]] * 2
    restored = following(left, START + DAY, trusted=trusted, served=old, kind="restore")
    assert (pair(restored.data), restored.data["ca.crt"]) == (old, fresh["ca.crt"])
    announced = following(restored.data, START + DAY, trusted=trusted, served=old, kind="announce").data
    assert (pair(announced), authorities(announced["ca.crt"])[0]) == (old, authorities(fresh["ca.crt"])[0])


@each_row("unreadable", [], [None])
def test_a_leader_without_a_pair_keeps_all_authorities_while_they_are_in_use(
    fresh: Data, unreadable: list[bytes | None]
) -> None:
    old, trusted = authorities(fresh["ca.crt"])[0], [fresh["ca.crt"], fresh["ca.crt"], *unreadable]
    announced = following({}, START, trusted=trusted).data
    assert (authorities(announced["ca.crt"])[0], "tls.crt" in announced) == (old, False)
    assert settled(announced, START, trusted)
    assert settled(announced, START, [announced["ca.crt"], *trusted])
    for now, seen in ((START, [announced["ca.crt"], *unreadable]), (START + timedelta(seconds=30), trusted)):
        signed = following(announced, now, trusted=seen, kind="recover").data
        assert signed["ca.crt"] == announced["ca.crt"]
        assert is_trusted(serving(signed), announced["ca.crt"], START)
    assert settled(signed, START + 59 * DAY, trusted)
    renewed = following(signed, START + 60 * DAY, trusted=trusted).data
    retired = following(renewed, START + 90 * DAY, trusted=trusted, kind="retire").data
    assert authorities(retired["ca.crt"]) == authorities(announced["ca.crt"])[1:]
    assert "kept.since" not in retired


def test_nothing_is_made_anew_while_what_is_served_with_may_be_trusted(fresh: Data) -> None:
    assert step({}, START, NAMES, [None, None], served=pair(fresh)) is None
    assert following({}, START, trusted=[None, fresh["ca.crt"]], served=pair(fresh)).kind == "restore"
    assert following({}, START, trusted=[None, b""]).kind == "recover"


def test_authorities_of_strangers_are_not_kept_if_the_secret_has_its_own(fresh: Data, stranger: Data) -> None:
    for served in (None, pair(fresh)):
        assert step(fresh, START, NAMES, [fresh["ca.crt"] + stranger["ca.crt"]], served=served) is None


def test_authorities_that_are_over_are_not_kept(fresh: Data) -> None:
    found = following({}, START + 4000 * DAY, trusted=[fresh["ca.crt"]], served=pair(fresh))
    assert (found.kind, len(authorities(found.data["ca.crt"]))) == ("recover", 1)


def test_the_authority_of_what_is_served_with_stays_if_the_secret_is_put_back_from_a_backup(
    fresh: Data, stranger: Data
) -> None:
    kept = following(fresh, START, trusted=[stranger["ca.crt"]], served=pair(stranger))
    assert (kept.kind, kept.data["ca.crt"]) == ("keep", fresh["ca.crt"] + stranger["ca.crt"])
    assert settled(kept.data, START, [kept.data["ca.crt"]])
    assert settled(kept.data, START + 59 * DAY, [kept.data["ca.crt"]])


def test_nothing_is_trusted_any_more_that_is_revoked(fresh: Data) -> None:
    for data in ({"revoke": b""}, {**fresh, "revoke": b"yes", "note": b"x"}):
        found = following(data, trusted=[fresh["ca.crt"]], served=pair(fresh))
        assert (found.kind, len(authorities(found.data["ca.crt"]))) == ("recover", 1)
        assert authorities(found.data["ca.crt"]) != authorities(fresh["ca.crt"])
        assert found.data.get("note") == data.get("note")
        assert settled(found.data, START, [fresh["ca.crt"]])


def test_certificates_of_a_bundle_that_are_not_authorities_are_dropped(fresh: Data) -> None:
    found = following({**fresh, "ca.crt": fresh["tls.crt"] + fresh["ca.crt"] + fresh["ca.crt"]})
    assert (found.kind, found.data["ca.crt"]) == ("retire", fresh["ca.crt"])


def test_the_shortest_lifetimes_work(monkeypatch: pytest.MonkeyPatch) -> None:
    lasting = {"SERVING_LIFETIME": HOUR, "AUTHORITY_LIFETIME": HOUR, "OVERLAP": timedelta(minutes=10)}
    for name, lifetime in lasting.items():
        monkeypatch.setattr(rotation, name, lifetime)
    data: Data = {}
    for minutes in range(0, 600, 5):
        now = START + timedelta(minutes=minutes)
        while found := step(data, now, NAMES, [data.get("ca.crt", b"")]):
            data = found.data
        assert is_trusted(serving(data), data["ca.crt"], now)


@dataclass
class Cluster:
    """A Secret, configurations that may be out of reach, API servers that lag behind, and leaders that may die."""

    secret: Data
    now: datetime
    configurations: list[bytes] = field(init=False)
    known: list[bytes] = field(init=False)
    """The state of the configurations that the API servers have seen."""
    reachable: list[bool] = field(default_factory=lambda: [True, True])
    replicas: list[x509.Certificate] = field(init=False)
    served: tuple[bytes, bytes] | None = None
    """The certificate that the leader last served with."""
    recovering: bool = False

    def __post_init__(self) -> None:
        self.configurations = [self.secret["ca.crt"]] * 2
        self.known = list(self.configurations)
        self.replicas = [serving(self.secret)] * 3

    def lead(self, *, dies: bool = False) -> None:
        """Run the steps of a leader once, or only as far as the Secret."""
        kept = self.served and x509.load_pem_x509_certificate(self.served[0]).not_valid_after_utc > self.now
        places = range(2)
        seen = [self.configurations[place] if self.reachable[place] else None for place in places]
        if found := step(self.secret, self.now, NAMES, seen, served=self.served):
            assert found.kind != "recover" or not kept, "it never begins anew while there is something to serve with"
            self.recovering |= found.kind == "recover"
            self.secret = found.data
        if dies:
            self.served = None
            return
        for place in places:
            if self.reachable[place] and "ca.crt" in self.secret:
                self.configurations[place] = self.secret["ca.crt"]
        if "tls.crt" in self.secret:
            self.served = pair(self.secret)

    def lose(self) -> None:
        """Lose the Secret's data in a stable state, whether or not the leader knows the served certificate."""
        if all(self.reachable) and set(self.known) == {self.secret.get("ca.crt")} and "tls.crt" in self.secret:
            self.secret = {}
            self.lead()

    def reach(self, configuration: int) -> None:
        self.reachable[configuration] ^= True

    def poll(self, replica: int) -> None:
        if "tls.crt" in self.secret:
            self.replicas[replica] = serving(self.secret)

    def wait(self, time: timedelta) -> None:
        self.now += time
        if time >= rotation.OVERLAP:
            self.known = list(self.configurations)
            self.recovering &= set(self.known) != {self.secret.get("ca.crt")}

    def check(self) -> None:
        """Check that every client trusts every served certificate, except expired ones."""
        for certificate, bundle in product({*self.replicas}, {*self.known}):
            if certificate.not_valid_after_utc > self.now and not self.recovering:
                assert is_trusted(certificate, bundle, self.now)


WAITS = [timedelta(seconds=5), *[HOUR] * 3, DAY, 17 * DAY, 45 * DAY, 100 * DAY]
STEPS = st.one_of(
    st.builds(lambda dies: lambda cluster: cluster.lead(dies=dies), st.booleans()),
    st.builds(lambda dies: lambda cluster: cluster.lead(dies=dies), st.just(value=False)),
    st.builds(lambda place: lambda cluster: cluster.reach(place), st.integers(0, 1)),
    st.builds(lambda replica: lambda cluster: cluster.poll(replica), st.integers(0, 2)),
    st.just(Cluster.lose),
    st.builds(lambda time: lambda cluster: cluster.wait(time), st.sampled_from(WAITS)),
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.large_base_example])
@given(begin=st.sampled_from(["fresh", "announced"]), steps=st.lists(STEPS, min_size=10, max_size=40))
def test_what_is_served_with_is_trusted_through_all_crashes_and_times(
    fresh: Data, announced: Data, begin: str, steps: list[Callable[[Cluster], None]]
) -> None:
    cluster = Cluster(fresh, START)
    if begin == "announced":  # and published nowhere as yet
        cluster.secret, cluster.now = announced, START + 244 * DAY
        cluster.replicas = [serving(announced)] * 3
    for act in steps:
        act(cluster)
        cluster.check()

    cluster.reachable = [True, True]
    for _ in range(8):  # and it comes to rest
        cluster.lead()
        cluster.wait(HOUR)
    for replica in range(3):
        cluster.poll(replica)
    cluster.check()
    assert all(is_trusted(serving(cluster.secret), bundle, cluster.now) for bundle in cluster.known)
    assert settled(cluster.secret, cluster.now, cluster.configurations)
