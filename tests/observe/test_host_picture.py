from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from lycosa.inspect.link_graph import HostLink
from lycosa.observe.host_picture import WIDE, host_picture


def texts(picture: str) -> list[str]:
    root = ET.fromstring(picture)
    return [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}text")]


def test_hosts_and_their_links_are_drawn_the_same_every_time() -> None:
    links = [HostLink("a.test", "b.test", 30), HostLink("b.test", "c.test", 2), HostLink("a.test", "a.test", 500)]
    picture = host_picture(links)
    assert picture == host_picture(links)
    assert sorted(texts(picture)) == ["a.test", "b.test", "c.test"]
    assert picture.count("<path") == 2
    assert "a.test → b.test: 30 links" in picture


def test_of_many_hosts_the_weightiest_are_drawn_and_no_names_overlap() -> None:
    links = [HostLink(f"h{one}.example", f"h{one * 7 % 200}.example", one + 1) for one in range(200)]
    picture = host_picture(links)
    assert picture.count("<circle") == WIDE.hosts
    assert "140 more are not drawn" in picture
    places = [(float(x), float(y)) for x, y in re.findall(r'<text x="(\d+)" y="(\d+)"', picture)]
    assert places
    assert not [1 for x, y in places for a, b in places if (x, y) < (a, b) and abs(x - a) < 40 and abs(y - b) < 12]


def test_a_host_that_wants_to_be_markup_stays_a_name() -> None:
    assert texts(host_picture([HostLink("<script>", "b&c", 1)])) == ["<script>", "b&c"]


def test_nothing_and_one_host_are_pictures_too() -> None:
    assert "0 hosts" in host_picture([])
    assert "1 hosts" in host_picture([HostLink("a.test", "a.test", 3)])
