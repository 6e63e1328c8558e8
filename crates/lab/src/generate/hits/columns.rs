//! The 105 columns of hits: names and types as in the public data set, and how often each has which value.
//!
//! Invariant: names are distinct. Knows nothing of rows: what a value is made of is said here, made in `hits`.

/// What a column's value is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Made {
    /// A fact of the visit.
    Of(Fact),
    /// Zero, but so often per mille a number below `below`, small ones far more often.
    Int16 { below: u32, per_mille: u32 },
    /// The same, wider.
    Int32 { below: u32, per_mille: u32 },
    /// Any of 2^64 values, so often per mille; else zero.
    Int64 { per_mille: u32 },
    /// Empty, but so often per mille one of `below` texts, some far more often.
    Text { below: u32, per_mille: u32 },
}

/// What several columns agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    WatchId,
    UserId,
    Counter,
    Region,
    ClientIp,
    Time,
    ClientTime,
    LocalTime,
    Date,
    Title,
    Url,
    Referer,
    OriginalUrl,
    SearchPhrase,
    SearchEngine,
    UrlHash,
    RefererHash,
    System,
    Agent,
    Mobile,
    MobilePhone,
    PhoneModel,
    Width,
    Height,
    Language,
    Timing,
}

const fn flag(per_mille: u32) -> Made {
    Made::Int16 { below: 2, per_mille }
}

const fn small(below: u32, per_mille: u32) -> Made {
    Made::Int16 { below, per_mille }
}

const fn number(below: u32, per_mille: u32) -> Made {
    Made::Int32 { below, per_mille }
}

const fn text(below: u32, per_mille: u32) -> Made {
    Made::Text { below, per_mille }
}

/// In the order of the public table.
pub(super) const COLUMNS: [(&str, Made); 105] = [
    ("WatchID", Made::Of(Fact::WatchId)),
    ("JavaEnable", flag(620)),
    ("Title", Made::Of(Fact::Title)),
    ("GoodEvent", Made::Int16 { below: 1, per_mille: 0 }),
    ("EventTime", Made::Of(Fact::Time)),
    ("EventDate", Made::Of(Fact::Date)),
    ("CounterID", Made::Of(Fact::Counter)),
    ("ClientIP", Made::Of(Fact::ClientIp)),
    ("RegionID", Made::Of(Fact::Region)),
    ("UserID", Made::Of(Fact::UserId)),
    ("CounterClass", small(3, 400)),
    ("OS", Made::Of(Fact::System)),
    ("UserAgent", Made::Of(Fact::Agent)),
    ("URL", Made::Of(Fact::Url)),
    ("Referer", Made::Of(Fact::Referer)),
    ("IsRefresh", flag(130)),
    ("RefererCategoryID", small(20_000, 350)),
    ("RefererRegionID", number(6_000, 350)),
    ("URLCategoryID", small(22_000, 450)),
    ("URLRegionID", number(6_000, 450)),
    ("ResolutionWidth", Made::Of(Fact::Width)),
    ("ResolutionHeight", Made::Of(Fact::Height)),
    ("ResolutionDepth", small(36, 950)),
    ("FlashMajor", small(15, 700)),
    ("FlashMinor", small(6, 300)),
    ("FlashMinor2", text(300, 350)),
    ("NetMajor", small(5, 300)),
    ("NetMinor", small(8, 150)),
    ("UserAgentMajor", small(80, 980)),
    ("UserAgentMinor", text(60, 500)),
    ("CookieEnable", flag(990)),
    ("JavascriptEnable", flag(995)),
    ("IsMobile", Made::Of(Fact::Mobile)),
    ("MobilePhone", Made::Of(Fact::MobilePhone)),
    ("MobilePhoneModel", Made::Of(Fact::PhoneModel)),
    ("Params", text(40_000, 90)),
    ("IPNetworkID", number(3_500_000, 990)),
    ("TraficSourceID", small(10, 700)),
    ("SearchEngineID", Made::Of(Fact::SearchEngine)),
    ("SearchPhrase", Made::Of(Fact::SearchPhrase)),
    ("AdvEngineID", small(60, 7)),
    ("IsArtifical", flag(60)),
    ("WindowClientWidth", small(2_600, 930)),
    ("WindowClientHeight", small(1_500, 930)),
    ("ClientTimeZone", small(720, 960)),
    ("ClientEventTime", Made::Of(Fact::ClientTime)),
    ("SilverlightVersion1", small(6, 250)),
    ("SilverlightVersion2", small(2, 100)),
    ("SilverlightVersion3", number(60_400, 250)),
    ("SilverlightVersion4", small(18, 20)),
    ("PageCharset", text(60, 830)),
    ("CodeVersion", number(3_000, 900)),
    ("IsLink", flag(25)),
    ("IsDownload", flag(3)),
    ("IsNotBounce", flag(480)),
    ("FUniqID", Made::Int64 { per_mille: 430 }),
    ("OriginalURL", Made::Of(Fact::OriginalUrl)),
    ("HID", number(1_073_741_823, 995)),
    ("IsOldCounter", flag(1)),
    ("IsEvent", flag(12)),
    ("IsParameter", flag(30)),
    ("DontCountHits", flag(70)),
    ("WithHash", flag(45)),
    ("HitColor", text(6, 1000)),
    ("LocalEventTime", Made::Of(Fact::LocalTime)),
    ("Age", small(60, 420)),
    ("Sex", small(3, 420)),
    ("Income", small(5, 380)),
    ("Interests", small(30_000, 300)),
    ("Robotness", small(50, 250)),
    ("RemoteIP", number(2_147_483_647, 960)),
    ("WindowName", number(400_000, 200)),
    ("OpenerName", number(200_000, 160)),
    ("HistoryLength", small(130, 850)),
    ("BrowserLanguage", Made::Of(Fact::Language)),
    ("BrowserCountry", text(180, 980)),
    ("SocialNetwork", text(12, 15)),
    ("SocialAction", text(8, 15)),
    ("HTTPError", small(520, 5)),
    ("SendTiming", Made::Of(Fact::Timing)),
    ("DNSTiming", number(30_000, 330)),
    ("ConnectTiming", number(30_000, 400)),
    ("ResponseStartTiming", Made::Of(Fact::Timing)),
    ("ResponseEndTiming", Made::Of(Fact::Timing)),
    ("FetchTiming", Made::Of(Fact::Timing)),
    ("SocialSourceNetworkID", small(30, 12)),
    ("SocialSourcePage", text(9_000, 10)),
    ("ParamPrice", Made::Int64 { per_mille: 6 }),
    ("ParamOrderID", text(20_000, 6)),
    ("ParamCurrency", text(5, 1000)),
    ("ParamCurrencyID", small(60, 6)),
    ("OpenstatServiceName", text(30, 25)),
    ("OpenstatCampaignID", text(9_000, 25)),
    ("OpenstatAdID", text(60_000, 25)),
    ("OpenstatSourceID", text(9_000, 25)),
    ("UTMSource", text(700, 40)),
    ("UTMMedium", text(60, 40)),
    ("UTMCampaign", text(3_000, 35)),
    ("UTMContent", text(9_000, 20)),
    ("UTMTerm", text(12_000, 20)),
    ("FromTag", text(1_500, 30)),
    ("HasGCLID", flag(15)),
    ("RefererHash", Made::Of(Fact::RefererHash)),
    ("URLHash", Made::Of(Fact::UrlHash)),
    ("CLID", number(2_500_000, 20)),
];
