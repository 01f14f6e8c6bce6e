"""References of images."""

from tests.rows import each_row
from webhook.formats.images import tag_of


@each_row(
    ("image", "tag"),
    [
        ("ubuntu", "latest"),
        ("ubuntu:24.04", "24.04"),
        ("example.com/a/b", "latest"),
        ("example.com:5000/a_b/c--d:v1.2_3-x", "v1.2_3-x"),
        ("localhost/a", "latest"),
        ("[fe80::1]:5000/a:x", "x"),
        ("EXAMPLE.com/a:x", "x"),
        ("team/a", "latest"),
        (f"ubuntu@sha256:{'0' * 64}", ""),
        (f"ubuntu:x@sha256:{'0' * 64}", "x"),
        ("", ""),
        ("Ubuntu", ""),
        ("team/Ubuntu", ""),
        ("a b", ""),
        ("ubuntu:", ""),
        ("ubuntu@", ""),
        ("-a.com/b", ""),
        ("a" * 248, ""),
        ("a" * 247, "latest"),
        (f"example.com/{'a' * 256}", ""),
        ("ubuntu:x@sha256:0123", ""),
        ("a" * 1_000_000, ""),
        ("0" * 64, ""),
    ],
)
def test_an_image_has_a_tag_unless_it_is_malformed(image: str, tag: str) -> None:
    assert tag_of(image) == tag
