"""Clients that must identify themselves: accepted certificates and names, and changes to them."""

import base64
import logging
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.attacks.chains import chain, last_flight
from tests.cli.running import running
from tests.command import usage_error
from tests.identities import Identity, authority, identity
from tests.rows import each_row
from tests.serving import GET, SOON, Served, answered, echo, eventually, look, post, serving, statuses
from webhook.certificates import certs
from webhook.logs import BoundedLog
from webhook.server import Certificate, Clients, Limits, Reviews, ServerError

pytestmark = pytest.mark.process

VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])


class Guarded:
    """A server that lets clients of one authority in, and certificates to try it with.

    Args:
        directory: Where all files are.
        names: The values of --client-name.
    """

    def __init__(self, directory: Path, names: Sequence[str] = ()) -> None:
        self.directory = directory
        self.signer = authority()
        self.authorities = directory / "clients.crt"
        self.trust(self.signer)
        self.clients = Clients(self.authorities, names)
        pair = certs.ephemeral(["localhost"])
        self.ca = pair.ca.decode()
        self.certificate = Certificate(pair.certificate, pair.key, clients=self.clients)

    def trust(self, *signers: certs.Certified) -> None:
        """Write the file of authorities."""
        self.authorities.write_bytes(b"".join(certs.pem(signer.certificate) for signer in signers))

    def identity(self, name: str | None = "kube-apiserver", *alternatives: x509.GeneralName) -> Identity:
        return identity(self.directory / "client.pem", self.signer, name, alternatives)

    @contextmanager
    def serving(self, limits: Limits | None = None) -> Iterator[Served]:
        with serving(Reviews(echo), limits, self.certificate) as running:
            yield Served(running.server, self.ca)


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    return Guarded(tmp_path)


def connect(served: Served, trust: ssl.SSLContext, session: ssl.SSLSession | None = None) -> ssl.SSLSocket:
    plain = socket.create_connection((served.host, served.port), timeout=10)
    return trust.wrap_socket(plain, server_hostname=served.host, session=session)


def answer(served: Served, trust: ssl.SSLContext, request: bytes = GET) -> bytes:
    """Return the response to a client; empty if it is refused in the handshake, which TLS 1.3 reports afterwards."""
    with suppress(ssl.SSLError), connect(served, trust) as connection:
        connection.sendall(request)
        return answered(connection)
    return b""


def stopped(served: Served, trust: ssl.SSLContext) -> socket.socket:
    """Connect, and send the client's certificate, but not the message after it, which ends the handshake."""
    plain = socket.create_connection((served.host, served.port), timeout=SOON)
    trust.set_ecdh_curve("prime256v1")  # which the server need not ask for
    change, flight = 6, last_flight(plain, trust, served.host)
    certificate = int.from_bytes(flight[change + 3 : change + 5])
    plain.sendall(flight[: change + 5 + certificate])
    return plain


class TestAuthorities:
    @VERSIONS
    def test_a_client_of_one_is_answered(self, guarded: Guarded, version: ssl.TLSVersion) -> None:
        with guarded.serving() as served:
            trust = guarded.identity().present(served.trust(), version)
            assert statuses(answer(served, trust, post("Content-Length: 2\r\n", b"{}"))) == [200]
        assert guarded.certificate.failed_handshakes == 0

    @VERSIONS
    def test_a_client_without_a_certificate_is_refused(
        self, guarded: Guarded, version: ssl.TLSVersion, caplog: pytest.LogCaptureFixture
    ) -> None:
        with guarded.serving() as served:
            trust = served.trust()
            trust.maximum_version = version
            assert answer(served, trust) == b""
            assert eventually(lambda: "a TLS handshake failed: the client has no certificate, which" in caplog.text)
        assert guarded.certificate.failed_handshakes == 1

    def test_few_clients_may_stop_in_their_last_messages(self, guarded: Guarded) -> None:
        with guarded.serving(Limits(half_read=2)) as served, ExitStack() as stack:
            trust = guarded.identity().present(served.trust())
            begun = [stack.enter_context(stopped(served, trust)) for _ in range(3)]
            assert [each.recv(1) for each in begun[:2]] == [b"", b""]
            assert statuses(answer(served, trust)) == [200]
            assert eventually(lambda: len(served.server.port.half_read) == 0)

    @VERSIONS
    def test_a_client_with_very_many_authorities_is_refused_before_they_are_read(
        self, guarded: Guarded, version: ssl.TLSVersion, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        with guarded.serving() as served:
            trust = served.trust()
            trust.maximum_version = version
            trust.load_cert_chain(chain(tmp_path / "long.pem", 100))
            with suppress(OSError), connect(served, trust) as connection:
                assert connection.recv(1) == b""
            assert eventually(lambda: "more than 16 KiB" in caplog.text)

    def test_a_client_that_stays_though_it_is_refused_is_disconnected(self, guarded: Guarded) -> None:
        with guarded.serving(Limits(handshake_seconds=0.5)) as served:
            connection = connect(served, served.trust())
            with pytest.raises(ssl.SSLError, match="certificate required"):
                connection.recv(1)
            with socket.socket(fileno=connection.detach()) as plain:
                plain.settimeout(SOON)
                with suppress(ConnectionResetError):
                    assert plain.recv(1) == b""

    @VERSIONS
    @each_row(
        ("foreign", "usage", "days", "reason"),
        (True, ExtendedKeyUsageOID.CLIENT_AUTH, 1, "unable to get local issuer certificate"),
        (False, ExtendedKeyUsageOID.SERVER_AUTH, 1, "certificate purpose"),
        (False, ExtendedKeyUsageOID.CLIENT_AUTH, -1, "certificate has expired"),
    )
    def test_a_client_whose_certificate_they_do_not_vouch_for_is_refused(  # noqa: PLR0917 - a table
        self,
        guarded: Guarded,
        version: ssl.TLSVersion,
        foreign: bool,
        usage: x509.ObjectIdentifier,
        days: int,
        reason: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.clear()
        signer = authority() if foreign else guarded.signer
        client = identity(guarded.directory / "client.pem", signer, usage=usage, days=days)
        with guarded.serving() as served:
            assert answer(served, client.present(served.trust(), version)) == b""
            assert eventually(lambda: "the client's certificate is not one that --client-ca vouches for" in caplog.text)
            assert reason in caplog.text

    def test_an_intermediate_one_may_vouch_alone(self, guarded: Guarded) -> None:
        root, now = authority(), datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "between")]))
            .issuer_name(root.certificate.subject)
            .public_key(guarded.signer.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(root.key, SHA256())
        )
        between = certs.Certified(certificate, guarded.signer.key)
        guarded.trust(between)
        look(guarded.certificate)
        client = identity(guarded.directory / "client.pem", between)
        with guarded.serving() as served:
            assert statuses(answer(served, client.present(served.trust()))) == [200]

    def test_a_file_that_cannot_serve_is_named(self, tmp_path: Path) -> None:
        pair, signer, now = certs.ephemeral(["localhost"]), authority(), datetime.now(UTC)
        revoked = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(signer.certificate.subject)
            .last_update(now)
            .next_update(now + timedelta(days=1))
            .sign(signer.key, SHA256())
        )
        path = tmp_path / "clients.crt"
        for content, said in (
            (b"", r"cannot read .*clients\.crt: No such file or directory: give --client-ca"),
            (pair.key, r"clients\.crt holds no certificates in PEM .*: give --client-ca"),
            (
                certs.pem(signer.certificate) + revoked.public_bytes(Encoding.PEM),
                r"clients\.crt holds a revocation list, which would be ignored",
            ),
        ):
            if content:
                path.write_bytes(content)
            with pytest.raises(ServerError, match=said):
                Certificate(pair.certificate, pair.key, clients=Clients(path))


class TestNames:
    LISTED = ("kube-apiserver", "api.example.com", "spiffe://example.com/api", "api@example.com")

    @pytest.fixture
    def guarded(self, tmp_path: Path) -> Guarded:
        return Guarded(tmp_path, self.LISTED)

    @VERSIONS
    @each_row(
        ("name", "alternatives"),
        ("kube-apiserver", []),
        ("somebody", [x509.DNSName("other.example.com"), x509.DNSName("api.example.com")]),
        (None, [x509.UniformResourceIdentifier("spiffe://example.com/api")]),
        (None, [x509.RFC822Name("api@example.com")]),
    )
    def test_one_that_is_listed_will_do(
        self, guarded: Guarded, version: ssl.TLSVersion, name: str | None, alternatives: list[x509.GeneralName]
    ) -> None:
        with guarded.serving() as served:
            trust = guarded.identity(name, *alternatives).present(served.trust(), version)
            assert statuses(answer(served, trust)) == [200]

    @VERSIONS
    @each_row(
        ("name", "alternatives", "reported"),
        ("Kube-APIserver", [], "'Kube-APIserver'"),
        ("bob", [x509.DNSName("*.example.com"), x509.DNSName("bob")], "'bob', '*.example.com'"),
        ("a\nb", [], r"'a\nb'"),
        (None, [x509.IPAddress(IPv4Address("10.0.0.1"))], "no name"),
        ("bob", [x509.DNSName(f"n{number}.example.com") for number in range(99)], "'n9.example.com'"),
    )
    def test_any_other_is_a_403_that_tells_it(  # noqa: PLR0917 - a table
        self,
        guarded: Guarded,
        version: ssl.TLSVersion,
        name: str | None,
        alternatives: list[x509.GeneralName],
        reported: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.clear()
        with guarded.serving() as served:
            trust = guarded.identity(name, *alternatives).present(served.trust(), version)
            with connect(served, trust) as connection:
                connection.sendall(post("Content-Length: 200000\r\n", b"x" * 100_000) + GET)
                received = b"".join(iter(lambda: connection.recv(65536), b""))
        assert statuses(received) == [403]
        body = received.partition(b"\r\n\r\n")[2].decode()
        assert body.startswith("Forbidden: the client certificate has ")
        assert reported in body
        assert len(body) < 500
        assert any(
            message.startswith("refused the client at ('127.0.0.1', ") and reported in message
            for message in caplog.messages
        )

    def test_clients_state_them_again_in_a_resumed_session(self, guarded: Guarded) -> None:
        with guarded.serving() as served:
            trust = guarded.identity("bob").present(served.trust(), ssl.TLSVersion.TLSv1_2)
            with connect(served, trust) as first:
                session = first.session
            with connect(served, trust, session) as second:
                assert second.session_reused
                second.sendall(GET)
                assert statuses(answered(second)) == [403]


class TestRotation:
    @VERSIONS
    def test_clients_of_a_removed_authority_are_refused(self, guarded: Guarded, version: ssl.TLSVersion) -> None:
        successor = authority()
        old = guarded.identity()
        new = identity(guarded.directory / "new.pem", successor)
        with guarded.serving() as served:
            trusts = [client.present(served.trust(), version) for client in (old, new)]

            def answers() -> list[list[int]]:
                return [statuses(answer(served, trust)) for trust in trusts]

            assert answers() == [[200], []]
            with connect(served, trusts[0]) as before:
                guarded.trust(guarded.signer, successor)
                assert eventually(lambda: answers() == [[200], [200]])
                guarded.trust(successor)
                assert eventually(lambda: answers() == [[], [200]])
                before.sendall(GET)
                assert statuses(answered(before)) == [200]
        assert guarded.certificate.generation == 3

    def test_a_session_does_not_outlive_the_trust_in_its_client(self, guarded: Guarded) -> None:
        with guarded.serving() as served:
            trust = guarded.identity().present(served.trust(), ssl.TLSVersion.TLSv1_2)
            with connect(served, trust) as first:
                session = first.session
            with connect(served, trust, session) as second:
                assert second.session_reused
            guarded.trust(authority())
            assert eventually(lambda: guarded.certificate.generation == 2)
            with pytest.raises(OSError, match=r"alert unknown ca|reset|closed|EOF"):
                connect(served, trust, session).close()

    def test_sessions_of_tls_1_3_are_not_resumed(self, guarded: Guarded) -> None:
        with guarded.serving() as served:
            trust = guarded.identity().present(served.trust())
            with connect(served, trust) as first:
                first.sendall(GET)
                answered(first)  # a ticket would come before it
                assert first.session
                assert not first.session.has_ticket

    def test_a_broken_file_is_refused_once_and_the_old_one_kept(
        self, guarded: Guarded, caplog: pytest.LogCaptureFixture
    ) -> None:
        with guarded.serving() as served:
            trust = guarded.identity().present(served.trust())
            for number, broken in enumerate((b"", b"-----BEGIN CERTIFICATE-----\nMIIB\n", None), 1):
                caplog.clear()
                if broken is None:
                    guarded.authorities.unlink()
                else:
                    guarded.authorities.write_bytes(broken)
                assert eventually(lambda: "the new files for TLS are not used" in caplog.text)
                assert guarded.certificate.failures == number
                assert f"{guarded.authorities}" in caplog.text
                assert statuses(answer(served, trust)) == [200]
            guarded.trust(authority())
            assert eventually(lambda: answer(served, trust) == b"")


class TestBoundedLog:
    def test_it_leaves_out_what_is_too_much_and_tells_how_many(self, caplog: pytest.LogCaptureFixture) -> None:
        now = 0.0
        log = BoundedLog(logging.getLogger("test"), lambda: now)
        for number in range(50):
            log.warning("line %d", number)
        assert caplog.messages == [f"line {number}" for number in range(10)]
        now = 1.5
        log.warning("line %d", 50)
        log.warning("line %d", 51)
        now = 3600
        for number in range(52, 70):
            log.warning("line %d", number)
        assert caplog.messages[10:] == [
            "line 50 (40 such lines before it were left out)",
            "line 52 (1 such lines before it were left out)",
            *(f"line {number}" for number in range(53, 62)),
        ]


class TestCommand:
    def test_it_lets_named_clients_of_an_authority_in(self, guarded: Guarded) -> None:
        options = ("--client-ca", str(guarded.authorities), "--client-name", "kube-apiserver")
        with running("--dev", *options) as (port, ca_bundle):
            trust = ssl.create_default_context(cadata=base64.b64decode(ca_bundle).decode())
            for name, status in (("kube-apiserver", [200]), ("bob", [403])):
                guarded.identity(name).present(trust)
                plain = socket.create_connection(("localhost", port), SOON)
                with trust.wrap_socket(plain, server_hostname="localhost") as connection:
                    connection.sendall(GET)
                    assert statuses(answered(connection)) == status

    def test_usage_errors_are_reported(self, tmp_path: Path) -> None:
        said = usage_error("serve", "--client-name", "kube-apiserver")
        assert "--client-name: give --client-ca, too: only a signed certificate proves a name" in said
        said = usage_error("serve", "--dev", "--client-ca", tmp_path / "none")
        assert f"cannot read {tmp_path / 'none'}: No such file or directory: give --client-ca the" in said
