//! Writing to the endpoint of these tests: whole objects and uploads in parts.
//!
//! Invariant: an object is visible from its PUT or the completion of its upload on, not earlier. Stricter than a real
//! one: parts are named by number without a gap, with the ETags that were given out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CreateMultipartUploadInput, CreateMultipartUploadOutput, ETag,
    PutObjectInput, PutObjectOutput, StreamingBlob, UploadPartInput, UploadPartOutput,
};
use s3s::{Body, S3Response, S3Result, s3_error};

use super::{State, etag_of};

/// As a real one has it: smaller parts are refused, but for the last one.
const PART_BYTES_MIN: usize = 5 << 20;

#[derive(Default)]
pub(super) struct Uploads {
    made: usize,
    open: BTreeMap<String, OpenUpload>,
}

struct OpenUpload {
    bucket: String,
    key: String,
    parts: BTreeMap<i32, Bytes>,
}

impl Uploads {
    pub(super) fn open(&self) -> Vec<String> {
        self.open.values().map(|upload| format!("{}/{}", upload.bucket, upload.key)).collect()
    }

    fn of(&mut self, id: &str, bucket: &str, key: &str) -> S3Result<&mut OpenUpload> {
        let found = self.open.get_mut(id).filter(|upload| upload.bucket == bucket && upload.key == key);
        found.ok_or_else(|| s3_error!(NoSuchUpload))
    }
}

async fn collected(body: Option<StreamingBlob>) -> S3Result<Bytes> {
    let Some(body) = body else { return Ok(Bytes::new()) };
    Body::from(body).store_all_limited(usize::MAX).await.map_err(|_| s3_error!(IncompleteBody))
}

pub(super) async fn put_object(
    state: &Arc<Mutex<State>>,
    input: PutObjectInput,
) -> S3Result<S3Response<PutObjectOutput>> {
    let content = collected(input.body).await?;
    let mut state = state.lock().unwrap();
    let objects = state.buckets.get_mut(&input.bucket).ok_or_else(|| s3_error!(NoSuchBucket))?;
    if input.if_none_match.is_some() && objects.contains_key(&input.key) {
        return Err(s3_error!(PreconditionFailed));
    }
    let e_tag = Some(etag_of(&content));
    objects.insert(input.key, content);
    Ok(S3Response::new(PutObjectOutput { e_tag, ..PutObjectOutput::default() }))
}

pub(super) fn create(
    state: &Arc<Mutex<State>>,
    input: CreateMultipartUploadInput,
) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
    let mut state = state.lock().unwrap();
    if !state.buckets.contains_key(&input.bucket) {
        return Err(s3_error!(NoSuchBucket));
    }
    state.uploads.made += 1;
    let id = format!("upload-{}", state.uploads.made);
    let (bucket, key) = (input.bucket.clone(), input.key.clone());
    state.uploads.open.insert(id.clone(), OpenUpload { bucket, key, parts: BTreeMap::new() });
    Ok(S3Response::new(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(id),
        ..CreateMultipartUploadOutput::default()
    }))
}

pub(super) async fn upload_part(
    state: &Arc<Mutex<State>>,
    input: UploadPartInput,
) -> S3Result<S3Response<UploadPartOutput>> {
    let content = collected(input.body).await?;
    let mut state = state.lock().unwrap();
    let upload = state.uploads.of(&input.upload_id, &input.bucket, &input.key)?;
    let e_tag = Some(etag_of(&content));
    upload.parts.insert(input.part_number, content);
    Ok(S3Response::new(UploadPartOutput { e_tag, ..UploadPartOutput::default() }))
}

pub(super) fn complete(
    state: &Arc<Mutex<State>>,
    input: CompleteMultipartUploadInput,
) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
    let mut state = state.lock().unwrap();
    let upload = state.uploads.of(&input.upload_id, &input.bucket, &input.key)?;
    let named = input.multipart_upload.and_then(|list| list.parts).unwrap_or_default();
    if named.is_empty() || named.len() != upload.parts.len() {
        return Err(s3_error!(InvalidPart));
    }
    let mut whole = Vec::new();
    for (at, part) in named.iter().enumerate() {
        let number = i32::try_from(at + 1).unwrap();
        let content = upload.parts.get(&number).ok_or_else(|| s3_error!(InvalidPart))?;
        let given = part.e_tag.as_ref().map(ETag::value);
        if part.part_number != Some(number) || given != Some(etag_of(content).value()) {
            return Err(s3_error!(InvalidPart));
        }
        if at + 1 < named.len() && content.len() < PART_BYTES_MIN {
            return Err(s3_error!(EntityTooSmall));
        }
        whole.extend_from_slice(content);
    }
    let content = Bytes::from(whole);
    let e_tag = Some(etag_of(&content));
    state.uploads.open.remove(&input.upload_id);
    state.buckets.entry(input.bucket.clone()).or_default().insert(input.key.clone(), content);
    Ok(S3Response::new(CompleteMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        e_tag,
        ..CompleteMultipartUploadOutput::default()
    }))
}

pub(super) fn abort(
    state: &Arc<Mutex<State>>,
    input: AbortMultipartUploadInput,
) -> S3Result<S3Response<AbortMultipartUploadOutput>> {
    let mut state = state.lock().unwrap();
    state.uploads.of(&input.upload_id, &input.bucket, &input.key)?;
    state.uploads.open.remove(&input.upload_id);
    Ok(S3Response::new(AbortMultipartUploadOutput::default()))
}
