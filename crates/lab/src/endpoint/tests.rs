use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload, WriteMultipart};

use super::*;

struct World {
    folder: tempfile::TempDir,
    endpoint: Endpoint,
    runtimes: Runtimes,
}

fn start(keys: Option<KeyPair>) -> World {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bucket")).unwrap();
    let (host, runtimes) = (Host::system(1 << 30).unwrap(), Runtimes::new(1, 2).unwrap());
    let endpoint =
        Endpoint::start(folder.path(), Serving { keys, ..Serving::default() }, &host, &runtimes).unwrap();
    World { folder, endpoint, runtimes }
}

impl World {
    fn builder(&self) -> AmazonS3Builder {
        AmazonS3Builder::new()
            .with_endpoint(self.endpoint.url())
            .with_bucket_name("bucket")
            .with_allow_http(true)
    }

    fn unsigned(&self) -> AmazonS3 {
        self.builder().with_skip_signature(true).build().unwrap()
    }
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..=250).cycle().take(bytes).collect()
}

#[test]
fn objects_are_written_read_in_ranges_listed_and_deleted() {
    let world = start(None);
    let store = world.unsigned();
    world.runtimes.block_on(async {
        let (small, large) = (Key::from("a/small"), Key::from("a/b/large"));
        store.put(&small, PutPayload::from_static(b"hello")).await.unwrap();
        let bytes = pattern(5_000_001);
        store.put(&large, PutPayload::from(bytes.clone())).await.unwrap();
        assert_eq!(std::fs::read(world.folder.path().join("bucket/a/small")).unwrap(), b"hello");

        assert!(store.get(&large).await.unwrap().bytes().await.unwrap() == bytes);
        assert!(store.get_range(&large, 1_048_570..3_000_000).await.unwrap() == bytes[1_048_570..3_000_000]);
        assert_eq!(store.get_range(&large, 4_999_999..6_000_000).await.unwrap(), bytes[4_999_999..]);
        let head = store.head(&small).await.unwrap();
        assert_eq!(head.size, 5);

        let listed: Vec<_> = store.list(Some(&Key::from("a"))).try_collect().await.unwrap();
        assert_eq!(
            listed.iter().map(|o| (o.location.as_ref(), o.size)).collect::<Vec<_>>(),
            [("a/b/large", 5_000_001), ("a/small", 5)]
        );
        assert_eq!(listed[1].e_tag, head.e_tag, "one ETag in every answer");
        let folders = store.list_with_delimiter(Some(&Key::from("a"))).await.unwrap();
        assert_eq!(folders.common_prefixes, [Key::from("a/b")]);

        store.delete(&small).await.unwrap();
        assert!(matches!(store.get(&small).await, Err(Error::NotFound { .. })));
    });
}

#[test]
fn a_multipart_upload_appears_when_it_is_complete() {
    let world = start(None);
    let store = world.unsigned();
    world.runtimes.block_on(async {
        let key = Key::from("big");
        let bytes = pattern(11_000_000);
        let upload = store.put_multipart(&key).await.unwrap();
        let mut upload = WriteMultipart::new_with_chunk_size(upload, 5 << 20);
        upload.write(&bytes);
        assert!(matches!(store.head(&key).await, Err(Error::NotFound { .. })));
        upload.finish().await.unwrap();
        assert!(store.get(&key).await.unwrap().bytes().await.unwrap() == bytes);
        let mut aborted = store.put_multipart(&Key::from("never")).await.unwrap();
        aborted.put_part(Bytes::from_static(b"x").into()).await.unwrap();
        aborted.abort().await.unwrap();
        assert!(matches!(store.head(&Key::from("never")).await, Err(Error::NotFound { .. })));
    });
    let left = std::fs::read_dir(world.folder.path().join(names::UPLOADS)).unwrap().count();
    assert_eq!(left, 0, "nothing is left over");
}

#[test]
fn a_create_only_put_happens_once() {
    let world = start(None);
    let store = Arc::new(world.unsigned());
    world.runtimes.block_on(async {
        let key = Key::from("log/1");
        let put = |text: &'static [u8]| {
            let (store, key) = (Arc::clone(&store), key.clone());
            async move { store.put_opts(&key, PutPayload::from_static(text), PutMode::Create.into()).await }
        };
        put(b"first").await.unwrap();
        assert!(matches!(put(b"second").await, Err(Error::AlreadyExists { .. })));
        assert_eq!(store.get(&key).await.unwrap().bytes().await.unwrap(), "first");
    });
}

#[test]
fn with_keys_only_their_owner_is_served() {
    let keys = KeyPair { access: "millers".to_owned(), secret: "daughter".to_owned() };
    let world = start(Some(keys));
    let with = |access: &str, secret: &str| {
        world
            .builder()
            .with_access_key_id(access)
            .with_secret_access_key(secret)
            .with_region("us-east-1")
            .build()
            .unwrap()
    };
    world.runtimes.block_on(async {
        let key = Key::from("x");
        with("millers", "daughter").put(&key, PutPayload::from_static(b"1")).await.unwrap();
        assert!(with("millers", "son").get(&key).await.is_err());
        assert!(world.unsigned().get(&key).await.is_err());
        assert_eq!(with("millers", "daughter").get(&key).await.unwrap().bytes().await.unwrap(), "1");
    });
}

#[test]
fn a_missing_bucket_is_named() {
    let world = start(None);
    let store = world.builder().with_bucket_name("absent").with_skip_signature(true).build().unwrap();
    let error = world.runtimes.block_on(store.get(&Key::from("x"))).unwrap_err();
    assert!(error.to_string().contains("NoSuchBucket"), "{error}");
}
