"""A file of the guide is read as a stream of XML, and what is no such file is refused at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.own_guide import HEAD, guide_text

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import S8, U8
from mlc_course.instruction_selection.intel_guide import read_guide
from mlc_course.instruction_selection.intel_guide.guide import MOST_BYTES


def test_an_entry_has_its_operands_instruction_and_operation(tmp_path: Path) -> None:
    path = tmp_path / "guide.xml"
    path.write_text(guide_text())
    guide = read_guide(path)
    narrow, *_ = guide.entries(re.compile("v?pmaddubsw"))
    assert (narrow.name, narrow.result.name, narrow.result.bits) == ("_mm_pmaddubsw", "dst", 128)
    assert [(x.name, x.bits, x.lane) for x in narrow.registers] == [("a", 128, U8), ("b", 128, S8)]
    assert "Saturate16" in narrow.operations[0]
    shift, *_ = guide.entries(re.compile("psllw"))
    assert [x.name for x in shift.immediates] == ["imm8"]
    assert "<<" in shift.operations[0]  # written as entities of XML itself
    assert not list(guide.entries(re.compile("psll")))


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_are_read_where_the_file_says_so(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "guide.xml"
    path.write_text(guide_text().replace("UTF-8", encoding), encoding=encoding)
    assert list(read_guide(path).entries(re.compile("paddb")))


LAUGHS = "".join(
    f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' if i else '<!ENTITY l0 "ha">' for i in range(10)
)
REFUSED = {
    "nothing": b"",
    "no XML": b"FOR j := 0 to 3",
    "JSON": b'{"intrinsic": []}',
    "an archive": b"PK\x03\x04" + bytes(100),
    "XML of something else": b"<html><body>data-3.6.9.xml</body></html>",
    "no end": guide_text()[:5000].encode(),
    "a wrong encoding": f"{HEAD}<a>\u00e4</a>".encode("latin-1"),
    "an unknown encoding": b'<?xml version="1.0" encoding="klingon"?><a/>',
    "an encoding that is a codec": b'<?xml version="1.0" encoding="zlib"?><a/>',
    "an encoding of more bytes": b'<?xml version="1.0" encoding="shift_jis"?><a/>',
    "entities in entities": f"<!DOCTYPE a [{LAUGHS}]><a>&l9;</a>".encode(),
    "a file as an entity": b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>',
    "an entity of nowhere": b"<a>&x;</a>",
    "many elements": b"<a>" + b"<b/>" * 1_100_000 + b"</a>",
    "deep elements": b"<a>" * 100_000,
    "an instruction outside": b'<instruction name="PADDB"/>',
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_guide_is_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "guide.xml"
    path.write_bytes(REFUSED[what])
    with pytest.raises(UsageError) as caught:
        read_guide(path)
    assert caught.value.expected and caught.value.got and caught.value.hint
    assert str(path) in str(caught.value)


def test_a_large_file_a_folder_and_nothing_are_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large.xml"
    with large.open("wb") as file:
        file.truncate(100 << 20)
    assert MOST_BYTES < 100 << 20
    with pytest.raises(UsageError, match="32 MiB"):
        read_guide(large)
    with pytest.raises(UsageError, match="folder"):
        read_guide(tmp_path)
    with pytest.raises(UsageError, match="no such file"):
        read_guide(tmp_path / "none.xml")
    with pytest.raises(UsageError, match="device"):
        read_guide(Path("/dev/zero"))
