//! The S3 operations over folders: what `s3s` calls when a request has been understood.
//!
//! Invariant: an object is replaced by one rename; a reader sees the old bytes or the new ones. An ETag names size and
//! time of the last change, so files put into the folder by hand have one too. Nothing is synced: this endpoint is for
//! trying things out and for tests, not for data somebody needs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use host::{Host, Runtimes};
use s3s::dto::*;
use s3s::{S3, S3Error, S3Request, S3Response, S3Result, s3_error};

use super::body;
use super::listing::{self, ListRequest};
use super::names::{self, UPLOADS};

const KEYS_PER_PAGE_MAX: i32 = 1000;

/// Buckets as folders below `root`.
pub(super) struct Folders {
    root: PathBuf,
    host: Host,
    runtimes: Runtimes,
    /// Held while an object gets its name, so that two create-only writers cannot both succeed.
    naming: Mutex<()>,
}

impl Folders {
    pub(super) fn new(root: PathBuf, host: Host, runtimes: Runtimes) -> io::Result<Folders> {
        host.disk.create_dir_all(&root.join(UPLOADS))?;
        Ok(Folders { root, host, runtimes, naming: Mutex::new(()) })
    }

    fn bucket(&self, bucket: &str) -> S3Result<PathBuf> {
        names::bucket_path(&self.root, bucket)
            .filter(|path| path.is_dir())
            .ok_or_else(|| s3_error!(NoSuchBucket))
    }

    fn object(&self, bucket: &str, key: &str) -> S3Result<PathBuf> {
        self.bucket(bucket)?;
        names::path_of(&self.root, bucket, key)
            .ok_or_else(|| s3_error!(InvalidArgument, "key {key:?} cannot be a file name"))
    }

    fn upload(&self, id: &str) -> S3Result<PathBuf> {
        let path = self.root.join(UPLOADS).join(id);
        let known = id.bytes().all(|byte| byte.is_ascii_hexdigit()) && path.is_dir();
        known.then_some(path).ok_or_else(|| s3_error!(NoSuchUpload))
    }

    fn new_id(&self) -> String {
        let mut id = [0; 16];
        self.host.random.fill(&mut id);
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Gives a finished file its name.
    fn publish(&self, unfinished: &Path, wanted: &Path, create_only: bool) -> S3Result<ETag> {
        let parent = wanted.parent().ok_or_else(|| s3_error!(InvalidArgument))?;
        self.host.disk.create_dir_all(parent).map_err(failed)?;
        let _naming = self.naming.lock().unwrap_or_else(PoisonError::into_inner);
        if create_only && self.host.disk.exists(wanted).map_err(failed)? {
            self.host.disk.remove_file(unfinished).map_err(failed)?;
            return Err(s3_error!(PreconditionFailed, "the object exists already"));
        }
        self.host.disk.rename(unfinished, wanted).map_err(failed)?;
        Ok(etag(&std::fs::metadata(wanted).map_err(failed)?))
    }

    /// Lays the parts of an upload end to end.
    fn join_parts(&self, upload: &Path, parts: &[CompletedPart]) -> io::Result<PathBuf> {
        let joined = upload.join("joined");
        let mut file = self.host.disk.create(&joined)?;
        for part in parts {
            let path = upload.join(part_name(part.part_number.unwrap_or(0)));
            file.append(&host::read_all(&*self.host.disk, &path)?)?;
        }
        Ok(joined)
    }
}

/// A file that is there.
struct Found {
    path: PathBuf,
    metadata: std::fs::Metadata,
    etag: ETag,
}

fn find(path: PathBuf) -> S3Result<Found> {
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => Ok(Found { etag: etag(&metadata), path, metadata }),
        Ok(_) => Err(s3_error!(NoSuchKey)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(s3_error!(NoSuchKey)),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(s3_error!(NoSuchKey)),
        Err(error) => Err(failed(error)),
    }
}

impl Found {
    /// The conditions of a GET or HEAD.
    fn check(&self, matches: Option<&ETagCondition>, differs: Option<&ETagCondition>) -> S3Result<()> {
        let same = |wanted: &ETagCondition| {
            wanted.as_etag().is_none_or(|wanted| wanted.value() == self.etag.value())
        };
        if matches.is_some_and(|wanted| !same(wanted)) {
            return Err(s3_error!(PreconditionFailed));
        }
        if differs.is_some_and(same) {
            return Err(s3_error!(NotModified));
        }
        Ok(())
    }

    fn modified(&self) -> Timestamp {
        Timestamp::from(self.metadata.modified().unwrap_or(UNIX_EPOCH))
    }
}

fn etag(metadata: &std::fs::Metadata) -> ETag {
    stamp(metadata.len(), metadata.modified().unwrap_or(UNIX_EPOCH))
}

fn stamp(bytes: u64, modified: SystemTime) -> ETag {
    let nanoseconds = modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    ETag::Strong(format!("{nanoseconds:x}-{bytes:x}"))
}

fn part_name(number: i32) -> String {
    format!("{number:05}")
}

fn failed(error: io::Error) -> S3Error {
    S3Error::with_source(s3s::S3ErrorCode::InternalError, Box::new(error))
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn is_any(condition: Option<&ETagCondition>) -> bool {
    condition.is_some_and(ETagCondition::is_any)
}

#[async_trait::async_trait]
impl S3 for Folders {
    async fn create_bucket(
        &self,
        r: S3Request<CreateBucketInput>,
    ) -> S3Result<S3Response<CreateBucketOutput>> {
        let path =
            names::bucket_path(&self.root, &r.input.bucket).ok_or_else(|| s3_error!(InvalidBucketName))?;
        if path.is_dir() {
            return Err(s3_error!(BucketAlreadyOwnedByYou));
        }
        self.host.disk.create_dir_all(&path).map_err(failed)?;
        Ok(S3Response::new(CreateBucketOutput::default()))
    }

    async fn head_bucket(&self, r: S3Request<HeadBucketInput>) -> S3Result<S3Response<HeadBucketOutput>> {
        self.bucket(&r.input.bucket)?;
        Ok(S3Response::new(HeadBucketOutput::default()))
    }

    async fn get_bucket_location(
        &self,
        r: S3Request<GetBucketLocationInput>,
    ) -> S3Result<S3Response<GetBucketLocationOutput>> {
        self.bucket(&r.input.bucket)?;
        Ok(S3Response::new(GetBucketLocationOutput::default()))
    }

    async fn list_buckets(&self, _: S3Request<ListBucketsInput>) -> S3Result<S3Response<ListBucketsOutput>> {
        let entries = self.host.disk.list(&self.root).map_err(failed)?;
        let folders = entries.into_iter().filter(|entry| entry.is_dir && entry.name != UPLOADS);
        let buckets = folders.map(|folder| Bucket { name: Some(folder.name), ..Bucket::default() }).collect();
        Ok(S3Response::new(ListBucketsOutput { buckets: Some(buckets), ..ListBucketsOutput::default() }))
    }

    async fn list_objects_v2(
        &self,
        r: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        let input = r.input;
        let bucket = self.bucket(&input.bucket)?;
        let keys_max = input.max_keys.unwrap_or(KEYS_PER_PAGE_MAX).clamp(0, KEYS_PER_PAGE_MAX);
        let request = ListRequest {
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: input.delimiter.clone().filter(|delimiter| !delimiter.is_empty()),
            after: input.continuation_token.clone().or(input.start_after.clone()).unwrap_or_default(),
            keys_max: usize::try_from(keys_max).unwrap_or(0),
        };
        let listing = self.runtimes.spawn_blocking("s3 list", move || listing::list(&bucket, &request));
        let page = listing.await.map_err(|error| failed(io::Error::other(error)))?.map_err(failed)?;
        let by_url = input.encoding_type.as_ref().is_some_and(|kind| kind.as_str() == EncodingType::URL);
        let name = |key: String| if by_url { names::percent_encode(&key) } else { key };
        let count = page.objects.len() + page.common_prefixes.len();
        let contents = page.objects.into_iter().map(|object| Object {
            e_tag: Some(stamp(object.bytes, object.modified)),
            last_modified: Some(Timestamp::from(object.modified)),
            size: Some(signed(object.bytes)),
            key: Some(name(object.key)),
            ..Object::default()
        });
        let prefixes =
            page.common_prefixes.into_iter().map(|prefix| CommonPrefix { prefix: Some(name(prefix)) });
        Ok(S3Response::new(ListObjectsV2Output {
            contents: Some(contents.collect()),
            common_prefixes: Some(prefixes.collect()),
            key_count: i32::try_from(count).ok(),
            is_truncated: Some(page.next_after.is_some()),
            next_continuation_token: page.next_after,
            max_keys: Some(keys_max),
            name: Some(input.bucket),
            prefix: input.prefix,
            delimiter: input.delimiter,
            encoding_type: input.encoding_type,
            continuation_token: input.continuation_token,
            start_after: input.start_after,
            ..ListObjectsV2Output::default()
        }))
    }

    async fn head_object(&self, r: S3Request<HeadObjectInput>) -> S3Result<S3Response<HeadObjectOutput>> {
        let found = find(self.object(&r.input.bucket, &r.input.key)?)?;
        found.check(r.input.if_match.as_ref(), r.input.if_none_match.as_ref())?;
        Ok(S3Response::new(HeadObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(signed(found.metadata.len())),
            last_modified: Some(found.modified()),
            e_tag: Some(found.etag),
            ..HeadObjectOutput::default()
        }))
    }

    async fn get_object(&self, r: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let found = find(self.object(&r.input.bucket, &r.input.key)?)?;
        found.check(r.input.if_match.as_ref(), r.input.if_none_match.as_ref())?;
        let bytes = found.metadata.len();
        let range = match r.input.range {
            Some(range) => range.check(bytes)?,
            None => 0..bytes,
        };
        let content_range = r.input.range.map(|_| format!("bytes {}-{}/{bytes}", range.start, range.end - 1));
        let file = self.host.disk.open_read(&found.path).map_err(failed)?;
        Ok(S3Response::new(GetObjectOutput {
            accept_ranges: Some("bytes".to_owned()),
            content_length: Some(signed(range.end - range.start)),
            content_range,
            last_modified: Some(found.modified()),
            e_tag: Some(found.etag),
            body: Some(StreamingBlob::wrap(body::read(&self.runtimes, file, range))),
            ..GetObjectOutput::default()
        }))
    }

    async fn put_object(&self, r: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let wanted = self.object(&r.input.bucket, &r.input.key)?;
        let unfinished = self.root.join(UPLOADS).join(format!("{}.put", self.new_id()));
        body::write(&self.host, &unfinished, r.input.body).await.map_err(failed)?;
        let e_tag = Some(self.publish(&unfinished, &wanted, is_any(r.input.if_none_match.as_ref()))?);
        Ok(S3Response::new(PutObjectOutput { e_tag, ..PutObjectOutput::default() }))
    }

    async fn delete_object(
        &self,
        r: S3Request<DeleteObjectInput>,
    ) -> S3Result<S3Response<DeleteObjectOutput>> {
        // Removing what is not there succeeds, as S3 has it.
        if let Ok(found) = find(self.object(&r.input.bucket, &r.input.key)?) {
            self.host.disk.remove_file(&found.path).map_err(failed)?;
        }
        Ok(S3Response::new(DeleteObjectOutput::default()))
    }

    async fn delete_objects(
        &self,
        r: S3Request<DeleteObjectsInput>,
    ) -> S3Result<S3Response<DeleteObjectsOutput>> {
        let mut deleted = Vec::new();
        for object in r.input.delete.objects {
            if let Ok(found) = find(self.object(&r.input.bucket, &object.key)?) {
                self.host.disk.remove_file(&found.path).map_err(failed)?;
            }
            deleted.push(DeletedObject { key: Some(object.key), ..DeletedObject::default() });
        }
        Ok(S3Response::new(DeleteObjectsOutput { deleted: Some(deleted), ..DeleteObjectsOutput::default() }))
    }

    async fn create_multipart_upload(
        &self,
        r: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        self.object(&r.input.bucket, &r.input.key)?;
        let id = self.new_id();
        self.host.disk.create_dir_all(&self.root.join(UPLOADS).join(&id)).map_err(failed)?;
        Ok(S3Response::new(CreateMultipartUploadOutput {
            bucket: Some(r.input.bucket),
            key: Some(r.input.key),
            upload_id: Some(id),
            ..CreateMultipartUploadOutput::default()
        }))
    }

    async fn upload_part(&self, r: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        let path = self.upload(&r.input.upload_id)?.join(part_name(r.input.part_number));
        if self.host.disk.exists(&path).map_err(failed)? {
            self.host.disk.remove_file(&path).map_err(failed)?;
        }
        let bytes = body::write(&self.host, &path, r.input.body).await.map_err(failed)?;
        let e_tag = Some(ETag::Strong(format!("{}-{:x}", r.input.part_number, bytes)));
        Ok(S3Response::new(UploadPartOutput { e_tag, ..UploadPartOutput::default() }))
    }

    async fn complete_multipart_upload(
        &self,
        r: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let wanted = self.object(&r.input.bucket, &r.input.key)?;
        let upload = self.upload(&r.input.upload_id)?;
        let parts = r.input.multipart_upload.and_then(|upload| upload.parts).unwrap_or_default();
        let numbers: Vec<i32> = parts.iter().map(|part| part.part_number.unwrap_or(0)).collect();
        if numbers.is_empty() || !numbers.is_sorted() {
            return Err(s3_error!(InvalidPartOrder));
        }
        if numbers.iter().any(|number| !upload.join(part_name(*number)).is_file()) {
            return Err(s3_error!(InvalidPart));
        }
        let joined = self.join_parts(&upload, &parts).map_err(failed)?;
        let e_tag = Some(self.publish(&joined, &wanted, is_any(r.input.if_none_match.as_ref()))?);
        self.host.disk.remove_dir_all(&upload).map_err(failed)?;
        Ok(S3Response::new(CompleteMultipartUploadOutput {
            bucket: Some(r.input.bucket),
            key: Some(r.input.key),
            e_tag,
            ..CompleteMultipartUploadOutput::default()
        }))
    }

    async fn abort_multipart_upload(
        &self,
        r: S3Request<AbortMultipartUploadInput>,
    ) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
        let upload = self.upload(&r.input.upload_id)?;
        self.host.disk.remove_dir_all(&upload).map_err(failed)?;
        Ok(S3Response::new(AbortMultipartUploadOutput::default()))
    }
}
