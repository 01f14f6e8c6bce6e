"""TLS: protocol versions, reports of failures, and certificates that change while the webhook runs."""

import logging
import os
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.attacks.groups import hello
from tests.attacks.rekeying import HANDSHAKE, Keys, keyed, send_sealed
from tests.rows import each_row
from tests.serving import GET, SOON, Served, answered, echo, eventually, everything, look, post, serving, statuses
from webhook.certificates import certs
from webhook.server import Certificate, Reviews, ServerError
from webhook.server.certificate import not_after

pytestmark = pytest.mark.process

ALERT = 21
"""The type of a record that ends a handshake."""


def refused(served: Served, trust: ssl.SSLContext, reason: str, caplog: pytest.LogCaptureFixture) -> bool:
    """Return whether a handshake fails at both ends, with this reason in the server's log."""
    with socket.create_connection((served.host, served.port)) as plain, pytest.raises(ssl.SSLError):
        trust.wrap_socket(plain, server_hostname=served.host)
    return eventually(lambda: f"a TLS handshake failed: [SSL: {reason}]" in caplog.text)


class TestProtocol:
    def test_it_speaks_http_1_1_over_tls_1_3_or_1_2_with_forward_secrecy(self, served: Served) -> None:
        for version, ciphers in ((ssl.TLSVersion.TLSv1_3, "TLS_"), (ssl.TLSVersion.TLSv1_2, "ECDHE-")):
            trust = served.trust()
            trust.set_alpn_protocols(["h2", "http/1.1"])
            trust.maximum_version = version
            plain = socket.create_connection((served.host, served.port))
            with trust.wrap_socket(plain, server_hostname=served.host) as connection:
                assert connection.version() == version.name.replace("_", ".")
                assert connection.selected_alpn_protocol() == "http/1.1"
                assert (connection.cipher() or [""])[0].startswith(ciphers)

    def test_weak_ciphers_are_refused(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        trust = served.trust()
        trust.maximum_version = ssl.TLSVersion.TLSv1_2
        trust.set_ciphers("AES128-SHA:ECDHE+AES+SHA:@SECLEVEL=0")
        assert refused(served, trust, "NO_SHARED_CIPHER", caplog)

    def test_key_exchanges_that_take_long_are_refused(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        with socket.create_connection((served.host, served.port)) as connection:
            connection.sendall(hello("ffdhe2048"))
            assert connection.recv(100)[0] == ALERT
        assert eventually(lambda: "a TLS handshake failed: [SSL: NO_SUITABLE_KEY_SHARE]" in caplog.text)

    def test_many_clients_may_be_asked_for_another_key_at_once(self, served: Served) -> None:
        trust, begun = served.trust(), []
        with ExitStack() as stack:
            for _ in range(served.server.port.limits.half_read):
                arrived, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                tls = trust.wrap_bio(arrived, outgoing, server_hostname=served.host)
                connection = stack.enter_context(socket.create_connection((served.host, served.port)))
                for _ in range(2):
                    with pytest.raises(ssl.SSLWantReadError):
                        tls.do_handshake()
                    connection.sendall(outgoing.read())
                    arrived.write(connection.recv(65536))
                begun.append((connection, tls, outgoing))
            for connection, tls, outgoing in begun:
                tls.do_handshake()
                tls.write(GET)
                connection.sendall(outgoing.read())
                assert connection.recv(65536)

    def test_tls_1_1_is_refused(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        trust = served.trust()
        trust.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            trust.minimum_version = ssl.TLSVersion.TLSv1
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            trust.maximum_version = ssl.TLSVersion.TLSv1_1
        assert refused(served, trust, "UNSUPPORTED_PROTOCOL", caplog)

    @each_row("version", ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    def test_a_client_that_refuses_the_certificate_is_logged(
        self, served: Served, version: ssl.TLSVersion, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.clear()
        trust = ssl.create_default_context(cadata=certs.ephemeral(["localhost"]).ca.decode())
        trust.maximum_version = version
        with socket.create_connection((served.host, served.port)) as plain, pytest.raises(ssl.SSLCertVerificationError):
            trust.wrap_socket(plain, server_hostname=served.host)
        assert eventually(lambda: "ALERT_UNKNOWN_CA" in caplog.text)
        assert caplog.records[-1].levelno == logging.WARNING

    def test_plain_http_is_logged_and_affects_no_other_client(
        self, served: Served, caplog: pytest.LogCaptureFixture
    ) -> None:
        with socket.create_connection((served.host, served.port)) as plain:
            plain.sendall(GET)
            with suppress(ConnectionResetError):
                plain.recv(100)
        assert eventually(lambda: "HTTP_REQUEST" in caplog.text)
        assert served.get("/healthz")[0] == 200


@each_row("sent", b"", GET)
def test_a_client_that_closes_its_side_sees_the_server_close_its_own(served: Served, sent: bytes) -> None:
    connection = served.socket()
    if sent:
        connection.sendall(sent)
        assert statuses(answered(connection)) == [200]
    with connection.unwrap() as plain:  # which waits for the server's alert
        assert plain.recv(100) == b""
    assert eventually(lambda: not served.connections)


class TestFiles:
    def test_unusable_files_are_named(self, tmp_path: Path) -> None:
        certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
        certs.issue(tmp_path)
        private = serialization.load_pem_private_key(key.read_bytes(), None)
        locked = serialization.BestAvailableEncryption(b"secret")
        Certificate(certificate, key)

        def refusal(content: bytes | None = None, file: Path = key) -> str:
            if content is not None:
                file.write_bytes(content)
            with pytest.raises(ServerError) as caught:
                Certificate(certificate, key)
            return str(caught.value)

        assert f"{key} is not the key of {certificate}: give a pair" in refusal(certs.ephemeral(["a"]).key)
        assert f"{certificate} and {key} are not a certificate and a key in PEM" in refusal(b"hello")
        pem = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)
        assert f"{key} is encrypted" in refusal(pem)
        key.unlink()
        assert f"cannot read {key}: No such file or directory: `draguard certs`" in refusal()
        os.mkfifo(key)
        assert f"cannot read {key}: no regular file" in refusal()
        assert f"{certificate} is larger than 1 MiB" in refusal(bytes((1 << 20) + 1), certificate)
        certificate.unlink()
        certificate.mkdir()
        assert "is a directory" in refusal()

    def test_a_key_in_memory_needs_no_disk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TMPDIR", "/nowhere")
        pair = certs.ephemeral(["a"])
        Certificate(pair.certificate, pair.key).follow()

    def test_where_a_disk_is_needed_nothing_is_left_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(os, "memfd_create")  # as on macOS
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        pair = certs.ephemeral(["a"])
        Certificate(pair.certificate, pair.key)
        assert list(tmp_path.iterdir()) == []
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
        with pytest.raises(ServerError, match="set TMPDIR"):
            Certificate(pair.certificate, pair.key)


class TestEnd:
    def test_it_is_that_of_the_certificate_which_is_served(self, tmp_path: Path) -> None:
        issued = certs.issue(tmp_path, days=3)
        certificate = Certificate(tmp_path / "tls.crt", tmp_path / "tls.key")
        assert certificate.value.not_after == issued.expires
        (tmp_path / "tls.key").unlink()
        look(certificate)
        assert certificate.value.not_after == issued.expires
        (tmp_path / "tls.crt").unlink()
        renewed = certs.issue(tmp_path, days=5)
        look(certificate)
        assert certificate.value.not_after == renewed.expires > issued.expires
        assert (certificate.failures, certificate.generation) == (1, 2)

    def test_there_is_none_if_only_openssl_can_read_it(self) -> None:
        pair = certs.ephemeral(["a"])
        trusted = pair.certificate.replace(b" CERTIFICATE-", b" TRUSTED CERTIFICATE-")
        assert Certificate(trusted, pair.key).value.not_after is None

    @each_row("year", 1999, 2031, 2049, 2050, 2400)
    @each_row("chained", *(False, True))
    def test_any_year_is_read_as_others_read_it(self, year: int, *, chained: bool) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x" * 64)] * 5)
        end = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
        builder = x509.CertificateBuilder(name, name, key.public_key(), 2**150)
        made = builder.not_valid_before(datetime(1990, 1, 1, tzinfo=UTC)).not_valid_after(end)
        pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        assert not_after(b"a comment\n" + pem * (1 + chained)) == end

    def test_a_file_that_is_not_a_certificate_has_none(self) -> None:
        content = ssl.PEM_cert_to_DER_cert(certs.ephemeral(["a"]).certificate.decode())
        ends = {not_after(ssl.DER_cert_to_PEM_cert(content[:size]).encode()) for size in range(100)}
        assert ends == {None}


def test_a_pair_that_kubelet_swaps_is_served_to_new_connections_and_open_ones_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, mount = tmp_path / "..first", tmp_path / "..second", tmp_path / "mount"
    certs.issue(first)
    mount.mkdir()
    (mount / "..data").symlink_to(first)
    for name in ("tls.crt", "tls.key"):
        (mount / name).symlink_to(f"..data/{name}")
    certificate = Certificate(mount / "tls.crt", mount / "tls.key")
    with caplog.at_level(logging.INFO, "webhook"), serving(Reviews(echo), certificate=certificate) as running:
        served = Served(running.server, (first / "ca.crt").read_text(encoding="utf-8"))

        def presented() -> object:
            with served.socket() as connection:
                return connection.getpeercert()

        with served.socket() as before:
            old = presented()
            shutil.copytree(first, second)
            for name in ("tls.crt", "tls.key"):
                (second / name).unlink()
            certs.issue(second)  # by the same authority
            (mount / "..data_tmp").symlink_to(second)
            (mount / "..data_tmp").rename(mount / "..data")
            shutil.rmtree(first)
            assert eventually(lambda: presented() != old)
            before.sendall(GET)
            assert statuses(answered(before)) == [200]
    assert "the new files for TLS are in use, generation 2" in caplog.messages


LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture
def ready(served: Served) -> Iterator[tuple[ssl.SSLSocket, Keys]]:
    plain = socket.create_connection((served.host, served.port), timeout=SOON)
    connection, keys = keyed(served.trust(), plain, served.host)
    with connection:
        yield connection, keys


def test_some_demands_for_new_keys_are_met(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    for _ in range(5):
        send_sealed(connection, b"".join(keys.demand() for _ in range(10)))
    send_sealed(connection, keys.record(GET))
    assert statuses(connection.recv(4096)) == [200]


def test_many_demands_end_the_connection(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    send_sealed(connection, b"".join(keys.demand() for _ in range(100)) + keys.record(GET))
    assert everything(connection) == b""


def test_a_record_may_come_in_pieces(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    record = keys.demand() + keys.record(GET)
    for at in range(0, len(record), 3):
        send_sealed(connection, record[at : at + 3])
        time.sleep(0.001)
    assert statuses(connection.recv(4096)) == [200]


def test_many_records_with_data_are_read_in_turns(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    send_sealed(connection, b"".join(keys.record(b"%c" % byte) for byte in GET * 3 + LAST))
    assert statuses(everything(connection)) == [200] * 4


def test_a_body_in_records_of_an_ordinary_size_is_read(ready: tuple[ssl.SSLSocket, Keys]) -> None:
    connection, keys = ready
    request, size = post("Content-Length: 300000\r\n", b'"' + b"a" * 299_998 + b'"'), 1200
    send_sealed(connection, b"".join(keys.record(request[at : at + size]) for at in range(0, len(request), size)))
    assert statuses(connection.recv(4096)) == [200]


def test_a_connection_that_closes_keeps_nothing_of_what_has_arrived(
    served: Served, ready: tuple[ssl.SSLSocket, Keys]
) -> None:
    connection, keys = ready
    send_sealed(connection, b"".join(keys.record(b"%c" % byte) for byte in LAST + GET * 9))
    assert statuses(everything(connection)) == [200]
    assert eventually(lambda: not served.connections)


def test_part_of_a_demand_for_new_keys_ends_its_own_connection_alone(
    served: Served, ready: tuple[ssl.SSLSocket, Keys]
) -> None:
    connection, keys = ready
    review = post("Content-Length: 2\r\n", b"{}")
    send_sealed(connection, keys.record(review) + keys.record(b"\x18\0\0\1", HANDSHAKE))  # OpenSSL cannot write then
    with served.socket() as other:
        other.sendall(GET)
        assert statuses(other.recv(4096)) == [200]
    with suppress(OSError):
        everything(connection)
    assert eventually(lambda: not served.connections)
