//! Where generated files go: a folder, or a bucket behind the S3 protocol.
//!
//! Invariant: a file appears under its name complete or not at all; `finish` is what makes it appear.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{Disk, DiskFile};
use object_store::aws::AmazonS3Builder;
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use tokio::runtime::Handle;

use crate::failure::Failure;

/// Bytes of one part of a multipart upload; S3 takes at most 10,000 parts, so files may grow to 80 GB.
const UPLOAD_PART_BYTES: usize = 8 << 20;
/// Parts of one file on the way at once.
const UPLOAD_PARTS_MAX: usize = 2;
/// Bytes collected before one write to disk.
const DISK_WRITE_BYTES: usize = 1 << 20;

/// A place for files.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Folder { path: PathBuf, disk: Arc<dyn Disk> },
    Bucket { store: Arc<dyn ObjectStore>, prefix: String, io: Handle },
}

/// One file being written.
pub(crate) trait FileSink: Write + Send {
    /// Makes everything written so far the content of the file.
    fn finish(self: Box<Self>) -> Result<(), Failure>;
}

impl Target {
    /// Reads `s3://bucket/prefix`, `http://endpoint/bucket/prefix` or the path of a folder, which is created.
    /// Credentials come from the usual `AWS_` variables; without them requests to an endpoint are not signed.
    pub(crate) fn parse(text: &str, disk: &Arc<dyn Disk>, io: &Handle) -> Result<Target, Failure> {
        if let Some(rest) = text.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_allow_http(true);
            return Ok(Target::bucket(builder, prefix, io)?);
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let url = url::Url::parse(text).map_err(|error| Failure::new(format!("{text}: {error}")))?;
            let path = url.path().trim_start_matches('/');
            let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
            if bucket.is_empty() {
                return Err(Failure::new(format!(
                    "{text} names no bucket: write http://host:port/bucket/prefix"
                )));
            }
            let anonymous = std::env::var_os("AWS_ACCESS_KEY_ID").is_none();
            let builder = AmazonS3Builder::from_env()
                .with_endpoint(url.origin().ascii_serialization())
                .with_bucket_name(bucket)
                .with_allow_http(true)
                .with_virtual_hosted_style_request(false)
                .with_skip_signature(anonymous);
            return Ok(Target::bucket(builder, prefix, io)?);
        }
        let path = std::path::absolute(text)?;
        disk.create_dir_all(&path)?;
        Ok(Target::Folder { path, disk: Arc::clone(disk) })
    }

    fn bucket(builder: AmazonS3Builder, prefix: &str, io: &Handle) -> object_store::Result<Target> {
        let prefix = prefix.trim_matches('/').to_owned();
        Ok(Target::Bucket { store: Arc::new(builder.build()?), prefix, io: io.clone() })
    }

    /// Starts a file; call from a thread outside the runtime, because writing waits for the network.
    pub(crate) fn create(&self, name: &str) -> Result<Box<dyn FileSink>, Failure> {
        match self {
            Target::Folder { path, disk } => Ok(Box::new(DiskSink::create(path, name, disk)?)),
            Target::Bucket { store, prefix, io } => {
                let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
                let upload = io.block_on(store.put_multipart(&object_store::path::Path::parse(key)?))?;
                let upload = WriteMultipart::new_with_chunk_size(upload, UPLOAD_PART_BYTES);
                Ok(Box::new(BucketSink { upload, io: io.clone() }))
            }
        }
    }
}

struct DiskSink {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    unfinished: PathBuf,
    wanted: PathBuf,
    file: Box<dyn DiskFile>,
    buffer: Vec<u8>,
}

impl DiskSink {
    fn create(folder: &Path, name: &str, disk: &Arc<dyn Disk>) -> io::Result<DiskSink> {
        let (wanted, unfinished) = (folder.join(name), folder.join(format!(".{name}.unfinished")));
        if disk.exists(&unfinished)? {
            disk.remove_file(&unfinished)?;
        }
        let file = disk.create(&unfinished)?;
        let buffer = Vec::with_capacity(DISK_WRITE_BYTES * 2);
        Ok(DiskSink { disk: Arc::clone(disk), folder: folder.to_owned(), unfinished, wanted, file, buffer })
    }
}

impl Write for DiskSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= DISK_WRITE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.file.append(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl FileSink for DiskSink {
    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.flush()?;
        self.file.sync_data()?;
        self.disk.rename(&self.unfinished, &self.wanted)?;
        self.disk.sync_dir(&self.folder)?;
        Ok(())
    }
}

struct BucketSink {
    upload: WriteMultipart,
    io: Handle,
}

impl Write for BucketSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.io.block_on(self.upload.wait_for_capacity(UPLOAD_PARTS_MAX))?;
        let _inside = self.io.enter();
        self.upload.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FileSink for BucketSink {
    fn finish(self: Box<Self>) -> Result<(), Failure> {
        let io = self.io.clone();
        io.block_on(self.upload.finish())?;
        Ok(())
    }
}
