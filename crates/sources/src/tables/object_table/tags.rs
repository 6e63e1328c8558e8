//! Tags of a table's files, where a statement names them.
//!
//! Invariant: nothing is asked of a store while nobody names `_tags`; then one request a file, some at once.

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use stores::error::Result;
use stores::files::listing::SourceFile;

use super::{ObjectSource, ObjectTable};
use crate::schema::virtual_columns::VirtualColumn;

/// Requests for tags in flight.
const REQUESTS_MAX: usize = 16;

impl ObjectTable {
    /// The same table; where `_tags` is among its columns, with the tags of its files.
    ///
    /// # Errors
    /// The store does not give them.
    pub async fn with_tags(self) -> Result<ObjectTable> {
        if !self.virtual_columns.contains(&VirtualColumn::Tags) || !self.source.store.has_tags() {
            return Ok(self);
        }
        let (store, progress) = (&self.source.store, &self.source.env.progress);
        let tagged = |file: Arc<SourceFile>| async move {
            progress.add_request();
            let Some(tags) = store.tags_of(&file.key).await? else { return Ok(file) };
            Ok(Arc::new(SourceFile { tags: Some(Arc::new(tags)), ..file.as_ref().clone() }))
        };
        let files: Vec<Arc<SourceFile>> = stream::iter(self.source.files.iter().cloned())
            .map(tagged)
            .buffered(REQUESTS_MAX)
            .try_collect()
            .await?;
        let source = ObjectSource { files, ..self.source.as_ref().clone() };
        Ok(ObjectTable { source: Arc::new(source), ..self })
    }
}
