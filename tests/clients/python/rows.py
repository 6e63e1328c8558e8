"""Two rows of every type, as Python has them; types.tsv has them as text."""
import datetime
import decimal
import ipaddress
import uuid
import zoneinfo

from checks import ALL, MISSING

UTC = datetime.timezone.utc
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
D, day = decimal.Decimal, datetime.date

ROWS = [
    [-128, -2**15, -2**31, -2**63, -2**127, -2**255, 0, 0, 0, 0, 0, 0, 1.5, 0.1, D("1234567.89"), D("12345678901234.5678"),
     D("1234567890123456789012345678.0123456789"),
     D("12345678901234567890123456789012345678901234567890.01234567890123456789"), "naïve 'quoted' \t \\ ☃", b"abcd",
     day(2024, 2, 29), day(1900, 1, 1), datetime.datetime(2024, 2, 29, 12, 34, 56, tzinfo=UTC),
     datetime.datetime(2024, 7, 1, 12, tzinfo=BERLIN), datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=UTC),
     1719849600123456789, uuid.UUID("61f0c404-5cb3-11e7-907b-a6006ad3dba0"), ipaddress.IPv4Address("192.168.1.2"),
     ipaddress.IPv6Address("2001:db8::8a2e:370:7334"), "low", "x", True, 7, "there", "often", "often", [1, 2, 3], ["a", None],
     [[1], [], [-2, 3]], {"k": 1, "l": 2}, {"k": ["a", "b"]}, (-1, "one"), {"a": 1, "b": "one"},
     [{"x": 1, "y": "one"}, {"x": 2, "y": "two"}]],
    [127, 2**15 - 1, 2**31 - 1, 2**63 - 1, 2**127 - 1, 2**255 - 1, 255, 65535, 2**32 - 1, 2**64 - 1, 2**128 - 1, 2**256 - 1,
     -0.25, -1e300, D("-0.01"), D("-0.0001"), D("-1"), D("-0.5"), "", b"wxyz", day(1970, 1, 2), day(2299, 12, 31),
     datetime.datetime(1970, 1, 2, tzinfo=UTC), datetime.datetime(2024, 1, 1, 12, tzinfo=BERLIN),
     datetime.datetime(1960, 1, 1, 0, 0, 0, 1000, tzinfo=UTC), 1704128400000000001, uuid.UUID(int=1),
     ipaddress.IPv4Address("0.0.0.0"), ipaddress.IPv6Address("::1"), "high", "y", False, None, None, "", None, [], [], [[]], {},
     {}, (0, ""), {"a": 2, "b": None}, []],
]
ROWS = [[value for entry, value in zip(ALL, row) if entry[0] not in MISSING] for row in ROWS]
# Nanoseconds are integers to this client, and named tuples are dictionaries.
FORMATS = {"dt9": "int"}


def moment(value):
    """The client gives moments of zone UTC without their zone."""
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value
