//! Each engine does what a store must do.

mod suite;

use std::sync::Arc;

use async_trait::async_trait;
use suite::{Place, conform};
use tidings_tasks::store::Store;
use tidings_tasks::store::embedded::Embedded;
use tidings_tasks::store::faulty::{Faults, Faulty};
use tidings_tasks::store::memory::Memory;

struct InMemory;

#[async_trait]
impl Place for InMemory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Memory::default())
    }

    fn lasts(&self) -> bool {
        false
    }
}

struct InFile(tempfile::TempDir);

impl InFile {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn store(&self) -> Embedded {
        Embedded::open(&self.0.path().join("store"), "test").expect("nobody else holds it")
    }
}

#[async_trait]
impl Place for InFile {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store())
    }

    fn lasts(&self) -> bool {
        true
    }
}

/// The wrapper, when nothing shall fail.
struct Wrapped(InFile);

#[async_trait]
impl Place for Wrapped {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Faulty::new(Arc::new(self.0.store()), Faults::default(), 1))
    }

    fn lasts(&self) -> bool {
        true
    }
}

struct WrappedInMemory;

#[async_trait]
impl Place for WrappedInMemory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Faulty::new(Arc::new(Memory::default()), Faults::default(), 1))
    }

    fn lasts(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn memory_conforms() {
    assert!(conform(|| Arc::new(InMemory)).await >= 60);
}

#[tokio::test]
async fn embedded_conforms() {
    assert!(conform(|| Arc::new(InFile::new())).await >= 60);
}

#[tokio::test]
async fn memory_conforms_behind_a_wrapper_without_faults() {
    conform(|| Arc::new(WrappedInMemory)).await;
}

#[tokio::test]
async fn embedded_conforms_behind_a_wrapper_without_faults() {
    conform(|| Arc::new(Wrapped(InFile::new()))).await;
}
