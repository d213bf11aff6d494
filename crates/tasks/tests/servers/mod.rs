//! A real etcd, and the stores in it.

#![allow(dead_code, reason = "each program of tests uses a part of it")]

mod process;

use tidings_tasks::store::etcd::{Etcd, Place};

pub(crate) use process::Servers;

impl Servers {
    /// What names a store in it.
    pub(crate) fn place(&self, prefix: &str) -> Place {
        let address = self.address(prefix);
        let (_, place) = address.split_once("//").expect("a scheme");
        place.parse().expect("a place")
    }

    /// Opens a store in it.
    pub(crate) async fn open(&self, prefix: &str) -> Etcd {
        Etcd::open(&self.place(prefix), "test").await.expect("most of the servers run")
    }
}
