//! Requests to the store, counted by kind: what they cost is to be seen.
//!
//! Must not know: what is asked for.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use host::{Created, DiskRead, Object, Objects};

/// Counts since the process began.
#[derive(Debug, Default)]
pub struct Counts {
    pub creates: AtomicU64,
    /// Creations that found an object: somebody else was faster, or an answer had got lost.
    pub taken: AtomicU64,
    pub puts: AtomicU64,
    pub gets: AtomicU64,
    pub heads: AtomicU64,
    pub lists: AtomicU64,
    pub deletes: AtomicU64,
    /// Bytes that came from the store.
    pub bytes_read: AtomicU64,
}

impl Counts {
    fn one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn read(&self, bytes: io::Result<Bytes>) -> io::Result<Bytes> {
        let length = bytes.as_ref().map_or(0, |bytes| model::saturating::u64_of(bytes.len()));
        self.bytes_read.fetch_add(length, Ordering::Relaxed);
        bytes
    }
}

/// See the module.
#[derive(Debug)]
pub struct Counted {
    objects: Arc<dyn Objects>,
    pub counts: Arc<Counts>,
}

impl Counted {
    pub fn new(objects: Arc<dyn Objects>) -> Counted {
        Counted { objects, counts: Arc::default() }
    }
}

impl Objects for Counted {
    fn create(&self, key: &str, bytes: Bytes) -> Created {
        Counts::one(&self.counts.creates);
        let created = self.objects.create(key, bytes);
        if matches!(created, Created::Exists) {
            Counts::one(&self.counts.taken);
        }
        created
    }

    fn put(&self, key: &str, bytes: Bytes) -> io::Result<()> {
        Counts::one(&self.counts.puts);
        self.objects.put(key, bytes)
    }

    fn put_file(&self, key: &str, file: &dyn DiskRead) -> io::Result<()> {
        Counts::one(&self.counts.puts);
        self.objects.put_file(key, file)
    }

    fn get(&self, key: &str) -> io::Result<Bytes> {
        Counts::one(&self.counts.gets);
        self.counts.read(self.objects.get(key))
    }

    fn get_range(&self, key: &str, range: Range<u64>) -> io::Result<Bytes> {
        Counts::one(&self.counts.gets);
        self.counts.read(self.objects.get_range(key, range))
    }

    fn head(&self, key: &str) -> io::Result<Option<Object>> {
        Counts::one(&self.counts.heads);
        self.objects.head(key)
    }

    fn list(&self, folder: &str, after: &str) -> io::Result<Vec<Object>> {
        Counts::one(&self.counts.lists);
        self.objects.list(folder, after)
    }

    fn delete(&self, key: &str) -> io::Result<()> {
        Counts::one(&self.counts.deletes);
        self.objects.delete(key)
    }

    fn place(&self, key: &str) -> String {
        self.objects.place(key)
    }
}
