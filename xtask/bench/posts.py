"""The posts table and the questions asked about it, in SQL both sides understand."""

CREATE = """CREATE TABLE posts (
    Id Int32,
    PostTypeId Enum8('Question' = 1, 'Answer' = 2, 'Wiki' = 3, 'TagWikiExcerpt' = 4, 'TagWiki' = 5,
                     'ModeratorNomination' = 6, 'WikiPlaceholder' = 7, 'PrivilegeWiki' = 8),
    AcceptedAnswerId UInt32,
    CreationDate DateTime64(3, 'UTC'),
    Score Int32,
    ViewCount UInt32,
    Body String,
    OwnerUserId Int32,
    OwnerDisplayName String,
    LastEditorUserId Int32,
    LastEditorDisplayName String,
    LastEditDate DateTime64(3, 'UTC'),
    LastActivityDate DateTime64(3, 'UTC'),
    Title String,
    Tags String,
    AnswerCount UInt16,
    CommentCount UInt8,
    FavoriteCount UInt8,
    ContentLicense LowCardinality(String),
    ParentId String,
    CommunityOwnedDate DateTime64(3, 'UTC'),
    ClosedDate DateTime64(3, 'UTC')
) ENGINE = MergeTree PARTITION BY toYear(CreationDate) ORDER BY (PostTypeId, toDate(CreationDate), CreationDate)"""

# Ours keeps what is read again without its compression; ClickHouse does so only when told to.
NOTHING_KEPT = "use_uncompressed_cache = 0"

ACTIVE_BYTES = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'default' AND table = 'posts'"


def source(url):
    return f"s3('{url}/bench/posts/*.parquet', NOSIGN)"


def top_usernames(table):
    return (
        f"SELECT OwnerDisplayName, count() AS num_posts FROM {table} WHERE OwnerDisplayName NOT IN ('', 'anon') "
        "GROUP BY OwnerDisplayName ORDER BY num_posts DESC, OwnerDisplayName LIMIT 5"
    )


def questions(url):
    """Name and SQL of every query that is timed."""
    return [
        ("top usernames over S3", top_usernames(source(url))),
        ("top usernames over the table", top_usernames("posts")),
        ("scan of every column", "SELECT * FROM posts FORMAT Null"),
        ("scan of every column, nothing kept", f"SELECT * FROM posts SETTINGS {NOTHING_KEPT} FORMAT Null"),
        ("LIKE on Body", "SELECT count() FROM posts WHERE Body LIKE '%server error%'"),
        ("LIKE on Body, nothing kept", f"SELECT count() FROM posts WHERE Body LIKE '%server error%' SETTINGS {NOTHING_KEPT}"),
        (
            "key range",
            "SELECT count(), sum(Score), max(length(Title)) FROM posts WHERE PostTypeId = 'Question' "
            "AND CreationDate >= '2020-03-01 00:00:00' AND CreationDate < '2020-03-08 00:00:00'",
        ),
        (
            "GROUP BY month",
            "SELECT toStartOfMonth(CreationDate) AS month, count(), sum(Score) FROM posts GROUP BY month ORDER BY month",
        ),
    ]


LINEITEM = """CREATE TABLE lineitem (
    l_orderkey Int64, l_partkey Int64, l_suppkey Int64, l_linenumber Int32, l_quantity Decimal(15, 2),
    l_extendedprice Decimal(15, 2), l_discount Decimal(15, 2), l_tax Decimal(15, 2), l_returnflag String,
    l_linestatus String, l_shipdate Date32, l_commitdate Date32, l_receiptdate Date32, l_shipinstruct String,
    l_shipmode String, l_comment String
) ENGINE = MergeTree ORDER BY (l_shipdate, l_orderkey)"""


def lineitem_source(url):
    return f"s3('{url}/bench/lineitem/*.parquet', NOSIGN)"
