//! An S3 endpoint in memory for these tests: counts requests, refuses signatures, breaks answers on demand.
//!
//! Invariant: what is counted is what arrived, retries included. Stricter than a real one: a range behind the end of
//! an object is an error, and so is completing an upload with parts that leave a gap. What it writes is in `uploads`.

mod uploads;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::stream;
use host::Runtimes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RANGE};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CommonPrefix, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CreateMultipartUploadInput, CreateMultipartUploadOutput, ETag,
    ETagCondition, GetObjectInput, GetObjectOutput, GetObjectTaggingInput, GetObjectTaggingOutput,
    HeadObjectInput, HeadObjectOutput, ListObjectsV2Input, ListObjectsV2Output, Object, PutObjectInput,
    PutObjectOutput, StreamingBlob, Tag, Timestamp, UploadPartInput, UploadPartOutput,
};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::validation::NameValidation;
use s3s::{Body, S3, S3Request, S3Response, S3Result, s3_error};
use tokio::net::TcpListener;

/// Seconds since the epoch when every object was made.
pub(crate) const MODIFIED: u64 = 1_600_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    List,
    Head,
    Get,
    /// One object, or a part of one.
    Put,
    /// Begins or completes an upload.
    Post,
    Delete,
}

/// One request that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arrived {
    pub(crate) kind: Kind,
    /// Path with the bucket.
    pub(crate) path: String,
    pub(crate) range: Option<String>,
    pub(crate) signed: bool,
}

/// What goes wrong with the next requests whose path contains a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// An error answer with this S3 code.
    Status(u16, &'static str),
    /// The body ends after half of its bytes.
    Truncated,
    /// It is done, and the answer is an error with this status.
    Lost(u16),
}

#[derive(Default)]
struct State {
    /// Bucket to key to content.
    buckets: BTreeMap<String, BTreeMap<String, Bytes>>,
    uploads: uploads::Uploads,
    arrived: Vec<Arrived>,
    faults: Vec<(String, Fault, usize)>,
    refuse_signed: bool,
    puts: Puts,
}

/// PUTs that have arrived and are not answered.
#[derive(Default)]
struct Puts {
    now: usize,
    most: usize,
    /// None is answered before so many were there together.
    wanted: usize,
}

/// A running endpoint; its tasks end with the runtimes.
#[derive(Clone)]
pub(crate) struct S3Server {
    state: Arc<Mutex<State>>,
    address: String,
}

/// Buckets of one letter keep the tests short.
struct AnyName;

impl NameValidation for AnyName {
    fn validate_bucket_name(&self, _: &str) -> bool {
        true
    }
}

#[derive(Clone)]
struct Objects(Arc<Mutex<State>>);

impl S3Server {
    pub(crate) fn start(runtimes: &Runtimes) -> S3Server {
        let state = Arc::new(Mutex::new(State::default()));
        let mut builder = S3ServiceBuilder::new(Objects(Arc::clone(&state)));
        builder.set_validation(AnyName);
        let service = builder.build();
        let listener = runtimes.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (shared, tasks) = (Arc::clone(&state), runtimes.clone());
        runtimes.spawn_io("test s3", async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                let (service, shared) = (service.clone(), Arc::clone(&shared));
                tasks.spawn_io("test s3 connection", async move {
                    let answer =
                        service_fn(move |request| answer(request, service.clone(), Arc::clone(&shared)));
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
                });
            }
        });
        S3Server { state, address }
    }

    /// `http://127.0.0.1:port/path`
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.address)
    }

    pub(crate) fn put(&self, bucket: &str, key: &str, content: impl Into<Bytes>) {
        let mut state = self.state.lock().unwrap();
        state.buckets.entry(bucket.to_owned()).or_default().insert(key.to_owned(), content.into());
    }

    /// The next `times` requests whose path contains `text` fail.
    pub(crate) fn fail(&self, text: &str, fault: Fault, times: usize) {
        self.state.lock().unwrap().faults.push((text.to_owned(), fault, times));
    }

    pub(crate) fn refuse_signed(&self) {
        self.state.lock().unwrap().refuse_signed = true;
    }

    /// Answers no PUT before so many are under way together; those that come later are answered at once.
    pub(crate) fn wait_for_puts(&self, together: usize) {
        self.state.lock().unwrap().puts = Puts { wanted: together, ..Puts::default() };
    }

    /// The most PUTs that were under way together since the last `wait_for_puts`.
    pub(crate) fn most_puts(&self) -> usize {
        self.state.lock().unwrap().puts.most
    }

    /// Keys of a bucket.
    pub(crate) fn keys(&self, bucket: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.buckets.get(bucket).map(|objects| objects.keys().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn content(&self, bucket: &str, key: &str) -> Bytes {
        self.state.lock().unwrap().buckets[bucket][key].clone()
    }

    /// Uploads that are neither completed nor aborted, as `bucket/key`.
    pub(crate) fn open_uploads(&self) -> Vec<String> {
        self.state.lock().unwrap().uploads.open()
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.state.lock().unwrap().arrived.clone()
    }

    pub(crate) fn forget_arrived(&self) {
        self.state.lock().unwrap().arrived.clear();
    }

    /// LIST, HEAD and GET requests since the last `forget_arrived`.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let arrived = self.arrived();
        let count = |kind: Kind| arrived.iter().filter(|one| one.kind == kind).count();
        (count(Kind::List), count(Kind::Head), count(Kind::Get))
    }
}

async fn answer(
    mut request: Request<Incoming>,
    service: S3Service,
    state: Arc<Mutex<State>>,
) -> Result<Response<Body>, s3s::HttpError> {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let text = format!("{path}?{query}");
    let kind = match (request.method(), query.contains("list-type")) {
        (_, true) => Kind::List,
        (&Method::HEAD, _) => Kind::Head,
        (&Method::PUT, _) => Kind::Put,
        (&Method::POST, _) => Kind::Post,
        (&Method::DELETE, _) => Kind::Delete,
        _ => Kind::Get,
    };
    let range = request.headers().get(RANGE).and_then(|range| range.to_str().ok()).map(str::to_owned);
    let signed = request.headers_mut().remove(AUTHORIZATION).is_some();
    let fault = {
        let mut state = state.lock().unwrap();
        state.arrived.push(Arrived { kind, path, range, signed });
        if signed && state.refuse_signed {
            Some(Fault::Status(403, "InvalidAccessKeyId"))
        } else {
            let found =
                state.faults.iter_mut().find(|(part, _, left)| *left > 0 && text.contains(part.as_str()));
            found.map(|(_, fault, left)| {
                *left -= 1;
                fault.clone()
            })
        }
    };
    match fault {
        Some(Fault::Status(status, code)) => Ok(error_answer(kind, status, code)),
        Some(Fault::Lost(status)) => {
            let _done = service.call(request.map(Body::from)).await?;
            Ok(error_answer(kind, status, "InternalError"))
        }
        Some(Fault::Truncated) if kind == Kind::Get => {
            let whole = service.call(request.map(Body::from)).await?;
            let (parts, mut body) = whole.into_parts();
            let bytes = body.store_all_limited(usize::MAX).await.unwrap();
            let half = bytes.slice(..bytes.len() / 2);
            assert!(parts.headers.contains_key(CONTENT_LENGTH));
            // The pause lets what was sent so far leave before the connection breaks.
            let cut = stream::unfold(Some(half), |half| async move {
                match half {
                    Some(half) if !half.is_empty() => Some((Ok(half), Some(Bytes::new()))),
                    Some(_) => {
                        tokio::task::yield_now().await;
                        Some((Err(std::io::Error::other("cut")), None))
                    }
                    None => None,
                }
            });
            let cut = StreamingBlob::wrap(Box::pin(cut));
            Ok(Response::from_parts(parts, Body::from(cut)))
        }
        _ if kind == Kind::Put => {
            let is_wanted = |puts: &Puts| puts.most < puts.wanted;
            {
                let puts = &mut state.lock().unwrap().puts;
                puts.now += 1;
                puts.most = puts.most.max(puts.now);
            }
            while is_wanted(&state.lock().unwrap().puts) {
                tokio::task::yield_now().await;
            }
            let answer = service.call(request.map(Body::from)).await;
            state.lock().unwrap().puts.now -= 1;
            answer
        }
        _ => service.call(request.map(Body::from)).await,
    }
}

fn error_answer(kind: Kind, status: u16, code: &str) -> Response<Body> {
    let xml =
        format!("<Error><Code>{code}</Code><Message>injected</Message><RequestId>req-1</RequestId></Error>");
    let body = if kind == Kind::Head { Body::empty() } else { Body::from(xml) };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response.headers_mut().insert(CONTENT_TYPE, "application/xml".parse().unwrap());
    response
}

fn etag_of(content: &Bytes) -> ETag {
    let sum = content.iter().fold(17_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    ETag::Strong(format!("{sum:016x}{:x}", content.len()))
}

fn modified() -> Timestamp {
    Timestamp::from(std::time::UNIX_EPOCH + std::time::Duration::from_secs(MODIFIED))
}

impl Objects {
    fn object(&self, bucket: &str, key: &str, if_match: Option<&ETagCondition>) -> S3Result<Bytes> {
        let state = self.0.lock().unwrap();
        let objects = state.buckets.get(bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        let content = objects.get(key).ok_or_else(|| s3_error!(NoSuchKey))?.clone();
        let wanted = if_match.and_then(ETagCondition::as_etag);
        if wanted.is_some_and(|wanted| wanted.value() != etag_of(&content).value()) {
            return Err(s3_error!(PreconditionFailed));
        }
        Ok(content)
    }
}

#[async_trait::async_trait]
impl S3 for Objects {
    async fn head_object(
        &self,
        request: S3Request<HeadObjectInput>,
    ) -> S3Result<S3Response<HeadObjectOutput>> {
        let input = request.input;
        let content = self.object(&input.bucket, &input.key, input.if_match.as_ref())?;
        Ok(S3Response::new(HeadObjectOutput {
            content_length: i64::try_from(content.len()).ok(),
            e_tag: Some(etag_of(&content)),
            last_modified: Some(modified()),
            ..HeadObjectOutput::default()
        }))
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let input = request.input;
        let content = self.object(&input.bucket, &input.key, input.if_match.as_ref())?;
        let total = u64::try_from(content.len()).unwrap();
        let (body, content_range) = match input.range {
            None => (content.clone(), None),
            Some(range) => {
                let range = range.check(total)?;
                let shown = format!("bytes {}-{}/{total}", range.start, range.end - 1);
                let (start, end) =
                    (usize::try_from(range.start).unwrap(), usize::try_from(range.end).unwrap());
                (content.slice(start..end), Some(shown))
            }
        };
        Ok(S3Response::new(GetObjectOutput {
            content_length: i64::try_from(body.len()).ok(),
            content_range,
            e_tag: Some(etag_of(&content)),
            last_modified: Some(modified()),
            body: Some(StreamingBlob::wrap(stream::iter([Ok::<_, std::io::Error>(body)]))),
            ..GetObjectOutput::default()
        }))
    }

    /// Every object is called so; one whose name has `bare` has no tags.
    async fn get_object_tagging(
        &self,
        request: S3Request<GetObjectTaggingInput>,
    ) -> S3Result<S3Response<GetObjectTaggingOutput>> {
        let input = request.input;
        self.object(&input.bucket, &input.key, None)?;
        let tag = |key: &str, value: &str| Tag { key: Some(key.to_owned()), value: Some(value.to_owned()) };
        let tag_set = match input.key.contains("bare") {
            true => vec![],
            false => vec![tag("of", &input.key), tag("a&b", "<1>")],
        };
        Ok(S3Response::new(GetObjectTaggingOutput { tag_set, version_id: None }))
    }

    async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        uploads::put_object(&self.0, request.input).await
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        uploads::create(&self.0, request.input)
    }

    async fn upload_part(
        &self,
        request: S3Request<UploadPartInput>,
    ) -> S3Result<S3Response<UploadPartOutput>> {
        uploads::upload_part(&self.0, request.input).await
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        uploads::complete(&self.0, request.input)
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        uploads::abort(&self.0, request.input)
    }

    async fn list_objects_v2(
        &self,
        request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = request.input;
        let state = self.0.lock().unwrap();
        let objects = state.buckets.get(&input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
        let after = input.continuation_token.clone().or(input.start_after.clone()).unwrap_or_default();
        let prefix = input.prefix.clone().unwrap_or_default();
        let page = usize::try_from(input.max_keys.unwrap_or(1000)).unwrap();
        let folder_of = |key: &str| {
            let delimiter = input.delimiter.as_deref()?;
            let (folder, _) = key.strip_prefix(&prefix)?.split_once(delimiter)?;
            Some(format!("{prefix}{folder}{delimiter}"))
        };
        let folders: BTreeSet<String> =
            objects.keys().filter(|key| key.starts_with(&prefix)).filter_map(|key| folder_of(key)).collect();
        assert!(folders.len() < page, "this server has no pages of folders");
        let mut found: Vec<Object> = objects
            .iter()
            .filter(|(key, _)| key.starts_with(&prefix) && **key > after && folder_of(key).is_none())
            .take(page + 1)
            .map(|(key, content)| Object {
                key: Some(key.clone()),
                size: i64::try_from(content.len()).ok(),
                e_tag: Some(etag_of(content)),
                last_modified: Some(modified()),
                ..Object::default()
            })
            .collect();
        let more = found.len() > page;
        found.truncate(page);
        let next = found.last().and_then(|last| last.key.clone()).filter(|_| more);
        Ok(S3Response::new(ListObjectsV2Output {
            key_count: i32::try_from(found.len()).ok(),
            contents: Some(found),
            common_prefixes: Some(
                folders.into_iter().map(|folder| CommonPrefix { prefix: Some(folder) }).collect(),
            ),
            is_truncated: Some(more),
            next_continuation_token: next,
            ..ListObjectsV2Output::default()
        }))
    }
}
