import base64
import os
import resource
import shutil
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given
from hypothesis import strategies as st

from tests.command import draguard
from tests.rows import each_row
from webhook.certificates import certs
from webhook.certificates.certs import CertificateError, ca_bundle, ephemeral, issue
from webhook.certificates.exposure import exposures

NO_NAMES = [
    *["", " ", "a b", "a_b", "-a", "a-", "a..b", ".a", "a.", "*", "*.", "a.*", "a\n", "a\0", "ä.svc", "\u212a"],
    *["10.0.0", "10.0.0.256", "10.0.0.0/8", "[::1]", "fe80::1%eth0", "localhost:8443", "https://a"],
    *["a" * 64, ".".join(["a" * 63] * 4)],
]
FILES = ["ca.crt", "ca.key", "tls.crt", "tls.key"]

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "certs"


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()} if directory.exists() else {}


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def handshake(directory: Path, name: str, ca: str) -> None:
    """Shake hands as a strict client that asks for a name and trusts an authority."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(directory / "tls.crt", directory / "tls.key")
    trusting = ssl.create_default_context(cadata=ca)
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def answer() -> None:
        with theirs:
            try:
                serving.wrap_socket(theirs, server_side=True).close()
            except OSError:
                return  # the client hung up, and says why

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        with ours:
            trusting.wrap_socket(ours, server_hostname=name).close()
    finally:
        thread.join()


@contextmanager
def no_room() -> Iterator[None]:
    """Let every write to a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = os.umask(0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        os.umask(before)


def write_authority(
    directory: Path,
    *,
    key: Key | None = None,
    begins: timedelta = timedelta(days=-1),
    ends: timedelta = timedelta(days=4000),
    is_authority: bool = True,
    identified: bool = True,
) -> None:
    """Write an authority that draguard did not make."""
    key = key or ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "of somebody else")])
    unused = "digital_signature content_commitment key_encipherment data_encipherment key_agreement encipher_only"
    usage, now = dict.fromkeys([*unused.split(), "decipher_only"], False), datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(name, name, key.public_key(), 7, now + begins, now + ends)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage, key_cert_sign=True, crl_sign=True), critical=True)
    )
    if identified:
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA384()
    directory.mkdir()
    pem = builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM)
    (directory / "ca.crt").write_bytes(pem)
    (directory / "ca.key").write_bytes(key_pem(key, serialization.NoEncryption()))


def key_pem(key: Key, encryption: serialization.KeySerializationEncryption) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


class TestIssue:
    def test_a_strict_client_accepts_the_certificate_for_every_default_name(self, directory: Path) -> None:
        issue(directory)
        for name in certs.DEFAULT_NAMES:
            handshake(directory, name, (directory / "ca.crt").read_text())

    def test_a_client_that_asks_for_another_name_is_not_served(self, directory: Path) -> None:
        issue(directory, ["draguard.other.svc", "10.0.0.7"])
        ca = (directory / "ca.crt").read_text()
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            handshake(directory, "draguard.draguard-system.svc", ca)
        with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
            handshake(directory, "10.0.0.8", ca)

    def test_ip_addresses_are_certified_as_such_and_a_wildcard_covers_one_label(self, directory: Path) -> None:
        issued = issue(directory, ["10.0.0.7", "fd00::7", "FD00:0::7"])
        assert issued.names == ("10.0.0.7", "fd00::7")
        for name in issued.names:
            handshake(directory, name, (directory / "ca.crt").read_text())
        issue(directory, ["*.dra.svc"], force=True)
        handshake(directory, "admission.dra.svc", (directory / "ca.crt").read_text())

    def test_it_tells_what_it_wrote_and_until_when_it_holds(self, directory: Path) -> None:
        issued = issue(directory, ["Admission.DRA.svc", "admission.dra.svc"], days=10, ca_days=20)
        assert sorted(path.name for path in issued.written) == FILES
        assert sorted(contents(directory)) == FILES
        assert issued.names == ("admission.dra.svc",)
        assert issued.expires == certificate(directory / "tls.crt").not_valid_after_utc
        assert issued.ca_expires == certificate(directory / "ca.crt").not_valid_after_utc
        assert issued.ca_expires - issued.expires == timedelta(days=10)
        assert issued.new_ca

    def test_only_the_owner_can_read_keys(self, directory: Path) -> None:
        issue(directory)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}
        assert modes["ca.key"] == modes["tls.key"] == 0o600
        assert modes["ca.crt"] == modes["tls.crt"] == 0o644
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700

    def test_a_key_is_private_before_it_holds_anything(self, tmp_path: Path) -> None:
        key = tmp_path / "a.key"
        with no_room(), pytest.raises(OSError, match="File too large"):
            certs._write(key, b"secret", 0o600)  # noqa: SLF001 - what is staged is removed before issue() returns
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert not key.read_bytes()

    def test_keys_are_p256_serial_numbers_differ_and_the_certificate_serves_and_signs_nothing(
        self, directory: Path
    ) -> None:
        issue(directory)
        latest = datetime.now(UTC) - timedelta(minutes=5)
        assert certificate(directory / "ca.crt").not_valid_before_utc <= latest
        assert certificate(directory / "tls.crt").not_valid_before_utc <= latest
        pair = [certificate(directory / "ca.crt"), certificate(directory / "tls.crt")]
        curves = [key.curve.name for c in pair if isinstance(key := c.public_key(), ec.EllipticCurvePublicKey)]
        assert curves == ["secp256r1", "secp256r1"]
        assert pair[0].serial_number != pair[1].serial_number
        assert min(c.serial_number.bit_length() for c in pair) > 64
        extensions = certificate(directory / "tls.crt").extensions
        usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
        assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
        assert not extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign

    def test_nothing_is_written_where_a_file_or_a_dangling_link_would_be_overwritten(self, directory: Path) -> None:
        directory.mkdir()
        for there in FILES:
            (directory / there).write_text("precious")
            with pytest.raises(CertificateError, match=there):
                issue(directory)
            assert contents(directory) == {there: b"precious"}
            (directory / there).unlink()
        (directory / "tls.key").symlink_to("elsewhere")
        with pytest.raises(CertificateError, match=r"tls\.key is already there"):
            issue(directory)

    def test_force_replaces_everything_even_an_unusable_authority(self, directory: Path) -> None:
        write_authority(directory, ends=timedelta(hours=-1))
        assert issue(directory, force=True).new_ca
        before = contents(directory)
        issued = issue(directory, force=True)
        after = contents(directory)
        assert issued.new_ca
        assert sorted(after) == FILES
        assert all(before[name] != after[name] for name in FILES)
        handshake(directory, "localhost", (directory / "ca.crt").read_text())

    def test_a_renewed_certificate_is_accepted_by_clients_of_the_old_bundle(self, directory: Path) -> None:
        issue(directory)
        before = contents(directory)
        (directory / "tls.crt").unlink()
        (directory / "tls.key").unlink()
        issued = issue(directory, days=30)
        after = contents(directory)
        assert not issued.new_ca
        assert sorted(path.name for path in issued.written) == ["tls.crt", "tls.key"]
        assert {name for name in FILES if before[name] != after[name]} == {"tls.crt", "tls.key"}
        handshake(directory, "localhost", before["ca.crt"].decode())

    @pytest.mark.parametrize("kind", ["ECDSA P-384", "RSA"])
    def test_an_authority_of_others_signs_too(self, directory: Path, kind: str) -> None:
        write_authority(directory, key=rsa.generate_private_key(65537, 2048) if kind == "RSA" else None)
        assert not issue(directory).new_ca
        handshake(directory, "localhost", (directory / "ca.crt").read_text())

    def test_an_unusable_authority_is_refused_with_the_reason(self, directory: Path) -> None:
        def refusal() -> str:
            before = contents(directory)
            with pytest.raises(CertificateError) as caught:
                issue(directory, ["localhost"])
            assert contents(directory) == before
            shutil.rmtree(directory)
            return str(caught.value)

        for options, said in (
            ({"ends": timedelta(hours=-1)}, "ca.crt expired on "),
            ({"begins": timedelta(days=1)}, "ca.crt is not valid before "),
            ({"ends": timedelta(days=30, hours=1)}, "before the serving certificate would: give --days 30 or fewer"),
            ({"is_authority": False}, "ca.crt is not the certificate of an authority"),
            ({"identified": False}, "SubjectKeyIdentifier"),
            ({"key": ed25519.Ed25519PrivateKey.generate()}, "ca.key holds no ECDSA or RSA key that can be read"),
        ):
            write_authority(directory, **options)
            assert said in refusal()
        locked = serialization.BestAvailableEncryption(b"secret")
        for name, content, said in (
            ("ca.key", ephemeral(["localhost"]).key, "ca.key is not the key of "),
            ("ca.key", key_pem(ec.generate_private_key(ec.SECP256R1()), locked), "ca.key holds no ECDSA or RSA key"),
            ("ca.crt", b"\0", "ca.crt holds no usable certificate authority"),
            ("ca.crt", None, "ca.key is there without ca.crt"),
            ("ca.key", None, "ca.crt is there without ca.key"),
        ):
            write_authority(directory)
            (directory / name).unlink()
            if content:
                (directory / name).write_bytes(content)
            assert said in refusal()

    def test_a_senseless_validity_or_none_of_names_is_refused(self, directory: Path) -> None:
        for days in (0, -1, 36501, 10**20):
            with pytest.raises(CertificateError, match="give 1 to 36500"):
                issue(directory, days=days)
            with pytest.raises(CertificateError, match="authority cannot be valid for"):
                issue(directory, ca_days=days)
            assert not directory.exists()
        with pytest.raises(CertificateError, match="valid for 31 days, its authority for 30"):
            issue(directory, days=31, ca_days=30)
        issue(directory, days=30, ca_days=30)
        issue(directory, days=36500, ca_days=36500, force=True)
        handshake(directory, "localhost", (directory / "ca.crt").read_text())
        with pytest.raises(CertificateError, match="at least one"):
            issue(directory, [])

    @each_row("name", *NO_NAMES)
    def test_an_invalid_name_is_refused(self, directory: Path, name: str) -> None:
        with pytest.raises(CertificateError, match="neither an IP address nor a DNS name"):
            issue(directory, ["localhost", name])
        assert not directory.exists()

    def test_a_directory_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(CertificateError, match=r"cannot write certificates to .*/file: File exists"):
            issue(tmp_path / "file")

    def test_a_full_disk_leaves_the_old_files(self, directory: Path) -> None:
        issue(directory)
        before = contents(directory)
        with no_room(), pytest.raises(CertificateError, match="File too large; nothing there was changed"):
            issue(directory, force=True)
        assert contents(directory) == before

    @pytest.mark.parametrize("obstacle", FILES)
    def test_a_failure_leaves_the_old_files(self, directory: Path, obstacle: str) -> None:
        issue(directory)
        (directory / obstacle).unlink()
        (directory / obstacle).mkdir()
        (directory / obstacle / "precious").touch()
        before = {name: (directory / name).read_bytes() for name in FILES if name != obstacle}
        with pytest.raises(CertificateError, match="nothing there was changed"):
            issue(directory, force=True)
        assert {name: (directory / name).read_bytes() for name in before} == before
        assert (directory / obstacle / "precious").exists()
        assert sorted(path.name for path in directory.iterdir()) == FILES

    def test_a_failure_takes_back_what_is_new(self, directory: Path) -> None:
        (directory / "tls.crt").mkdir(parents=True)
        with pytest.raises(CertificateError, match="nothing there was changed"):
            issue(directory, force=True)
        assert [path.name for path in directory.iterdir()] == ["tls.crt"]


class TestEphemeral:
    def test_a_pair_in_memory_is_accepted_by_a_strict_client(self, directory: Path) -> None:
        directory.mkdir()
        pair = ephemeral()
        (directory / "tls.crt").write_bytes(pair.certificate)
        (directory / "tls.key").write_bytes(pair.key)
        handshake(directory, "127.0.0.1", pair.ca.decode())

    @given(
        st.lists(st.text(max_size=70) | st.from_regex(r"(\*\.)?([a-z0-9-]{1,5}\.?){1,3}") | st.ip_addresses().map(str))
    )
    def test_any_names_are_certified_or_refused(self, names: list[str]) -> None:
        try:
            pair = ephemeral(names)
        except CertificateError:
            return
        made = x509.load_pem_x509_certificate(pair.certificate)
        alternatives = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert {str(name.value) for name in alternatives} == {name.lower() for name in names}


class TestBundle:
    def test_it_is_the_file_in_base64_and_may_hold_an_old_and_a_new_authority(
        self, directory: Path, tmp_path: Path
    ) -> None:
        issue(directory)
        assert base64.b64decode(ca_bundle(directory / "ca.crt"), validate=True) == (directory / "ca.crt").read_bytes()
        both = ephemeral(["a"]).ca + ephemeral(["a"]).ca
        (tmp_path / "both").write_bytes(both)
        assert base64.b64decode(ca_bundle(tmp_path / "both")) == both

    def test_neither_a_private_key_nor_anything_else_is_published(self, tmp_path: Path) -> None:
        pair, path = ephemeral(["a"]), tmp_path / "ca.crt"
        for content, said in (
            (b"", r"cannot read .*ca\.crt: No such file"),
            (pair.ca + pair.key, "private key"),
            (b"hello", "no PEM certificate"),
            (b"\n" * (2**20 + 1), "larger than 1 MiB"),
        ):
            if content:
                path.write_bytes(content)
            with pytest.raises(CertificateError, match=said):
                ca_bundle(path)
        with pytest.raises(CertificateError, match="Is a directory"):
            ca_bundle(tmp_path)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    directory = tmp_path / "certs"
    directory.mkdir(mode=0o700)
    path = directory / "tls.key"
    path.touch(mode=0o600)
    return path


@each_row(
    ("mode", "directory", "words"),
    (0o600, 0o700, []),
    (0o440, 0o755, []),
    (0o600, 0o1777, []),
    (0o644, 0o700, ["every user of this machine can read"]),
    (0o604, 0o755, ["every user of this machine can read"]),
    (0o620, 0o700, ["others than its owner can change"]),
    (0o600, 0o777, ["others than its owner can replace files in"]),
    (0o666, 0o775, ["every user of this machine can read", "can change", "can replace files in"]),
)
def test_access_of_others_is_reported_with_the_fix(key: Path, mode: int, directory: int, words: list[str]) -> None:
    key.chmod(mode)
    key.parent.chmod(directory)
    link = key.parent.parent / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(key)
    for path in (key, link):
        result = list(exposures(path, secret=True))
        assert len(result) == len(words)
        assert all(word in text and "chmod " in text for word, text in zip(words, result, strict=True))
    assert not any("can read" in text for text in exposures(key, secret=False))


def test_missing_parts_are_not_shown(tmp_path: Path) -> None:
    assert list(exposures(tmp_path / "none", secret=True)) == []


def test_certs_warns_of_a_directory_and_of_an_authority_that_others_can_reach(tmp_path: Path) -> None:
    directory = tmp_path / "certs"
    assert draguard("certs", f"--dir={directory}").err.count("warning") == 0
    (directory / "tls.crt").unlink()
    (directory / "tls.key").unlink()
    (directory / "ca.key").chmod(0o644)
    directory.chmod(0o777)
    done = draguard("certs", f"--dir={directory}")
    assert done.code == 0
    assert done.err.count("warning: ") == 2
    assert f"every user of this machine can read {directory / 'ca.key'}" in done.err
    assert f"others than its owner can replace files in {directory}" in done.err
