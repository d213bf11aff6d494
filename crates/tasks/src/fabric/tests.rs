//! One-sided reads, by libfabric's provider of TCP: two endpoints of one process.

use std::fs;
use std::process::Command;

use super::abi;
use super::endpoint::{Fabric, FabricError, MAX_NAME_BYTES};
use crate::blobs::{Blobs, Handle, Mapped};

fn opened() -> std::sync::Arc<Fabric> {
    Fabric::open(&"trusted:tcp".parse().unwrap()).unwrap()
}

fn mapped(content: &[u8]) -> Mapped {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::open_in_memory(&folder.path().join("b")).unwrap();
    let handle = blobs.put(content).unwrap();
    assert_eq!(handle, Handle::of(content));
    blobs.map(&handle).unwrap()
}

/// What is read of a region while its owner makes progress.
fn read(owner: &Fabric, reader: &Fabric, from: &super::Place, bytes: u64) -> Vec<u8> {
    let (mut all, done) = (Vec::new(), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                owner.drive();
                std::thread::yield_now();
            }
        });
        let ended = reader.read(from, bytes, |piece| {
            all.extend(piece);
            Ok::<_, FabricError>(())
        });
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        ended.unwrap();
    });
    all
}

#[test]
fn a_region_is_read_to_its_end() {
    let (owner, reader) = (opened(), opened());
    assert!(owner.provider().starts_with("tcp"), "{owner:?}");
    // Less than a piece, some pieces, and a part of one.
    for bytes in [1, 1 << 20, (5 << 20) + 3] {
        let content: Vec<u8> = (0..bytes).map(|at: usize| (at / 7) as u8).collect();
        let region = owner.expose(mapped(&content)).unwrap();
        let place = region.place();
        assert!(place.name.len() <= MAX_NAME_BYTES);
        assert!(read(&owner, &reader, &place, bytes as u64) == content, "{bytes}");
    }
    assert!(owner.is_well() && reader.is_well());
}

#[test]
fn no_provider_and_no_peer_are_said_in_words() {
    let none = Fabric::open(&"trusted:no-such-provider".parse().unwrap());
    assert!(none.unwrap_err().to_string().starts_with("libfabric: no provider"));
    let reader = opened();
    let place = super::Place { name: vec![0; 3], key: 0, address: 0 };
    let ended = reader.read(&place, 1, |_| Ok::<_, FabricError>(()));
    assert!(ended.unwrap_err().to_string().contains("another length"));
}

/// The offsets that a program in C prints, of the headers.
const PROGRAM: &str = r#"
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <stddef.h>
#include <stdio.h>
#define AT(type, field) printf(#type "." #field " %zu\n", offsetof(struct type, field))
#define IS(name) printf(#name " %lld\n", (long long)(name))
int main(void) {
    AT(fi_info, mode); AT(fi_info, ep_attr); AT(fi_info, domain_attr); AT(fi_info, fabric_attr);
    AT(fi_ep_attr, max_msg_size); AT(fi_domain_attr, threading); AT(fi_domain_attr, data_progress);
    AT(fi_domain_attr, mr_mode); AT(fi_fabric_attr, prov_name);
    AT(fid, ops); AT(fi_ops, close); AT(fi_ops, bind); AT(fi_ops, control);
    AT(fid_fabric, ops); AT(fi_ops_fabric, domain); AT(fid_domain, ops); AT(fid_domain, mr);
    AT(fi_ops_domain, av_open); AT(fi_ops_domain, cq_open); AT(fi_ops_domain, endpoint);
    AT(fi_ops_mr, reg); AT(fid_mr, mem_desc); AT(fid_mr, key);
    AT(fid_ep, cm); AT(fid_ep, rma); AT(fi_ops_cm, getname); AT(fi_ops_rma, read);
    AT(fid_av, ops); AT(fi_ops_av, insert); AT(fid_cq, ops); AT(fi_ops_cq, read);
    AT(fi_ops_cq, readerr); AT(fi_cq_attr, format); AT(fi_cq_err_entry, err);
    printf("fi_av_attr %zu\n", sizeof(struct fi_av_attr));
    printf("fi_cq_attr %zu\n", sizeof(struct fi_cq_attr));
    IS(FI_RMA); IS(FI_READ); IS(FI_REMOTE_READ); IS(FI_RECV); IS(FI_TRANSMIT);
    IS(FI_CONTEXT); IS(FI_CONTEXT2); IS(sizeof(struct fi_context2));
    IS(FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT);
    IS(FI_THREAD_DOMAIN); IS(FI_PROGRESS_MANUAL); IS(FI_EP_RDM); IS(FI_CQ_FORMAT_CONTEXT);
    IS(FI_ENABLE); IS(-FI_EAGAIN); IS(-FI_EAVAIL); IS(-FI_ETOOSMALL);
    return 0;
}
"#;

/// What this crate says of the same: first of structures.
fn structures() -> Vec<i64> {
    macro_rules! at {
        ($($of:ident.$field:ident),* $(,)?) => {
            vec![$(core::mem::offset_of!(abi::$of, $field) as i64),*]
        };
    }
    let mut all = at![
        Offer.mode,
        Offer.ep_attr,
        Offer.domain_attr,
        Offer.fabric_attr,
        EndpointAttributes.max_msg_size,
        DomainAttributes.threading,
        DomainAttributes.data_progress,
        DomainAttributes.mr_mode,
        FabricAttributes.prov_name,
        Object.ops,
        ObjectOps.close,
        ObjectOps.bind,
        ObjectOps.control,
        FabricObject.ops,
        FabricOps.domain,
        Domain.ops,
        Domain.memory,
        DomainOps.av_open,
        DomainOps.cq_open,
        DomainOps.endpoint,
        MemoryOps.reg,
        Memory.descriptor,
        Memory.key,
        Endpoint.cm,
        Endpoint.rma,
        ConnectionOps.getname,
        RmaOps.read,
        Vector.ops,
        VectorOps.insert,
        Queue.ops,
        QueueOps.read,
        QueueOps.readerr,
        QueueAttributes.format,
        Failure.err,
    ];
    all.extend([
        size_of::<abi::VectorAttributes>() as i64,
        size_of::<abi::QueueAttributes>() as i64,
    ]);
    all
}

/// Then of numbers.
fn numbers() -> Vec<i64> {
    let modes =
        abi::MR_LOCAL | abi::MR_VIRT_ADDR | abi::MR_ALLOCATED | abi::MR_PROV_KEY | abi::MR_ENDPOINT;
    vec![
        abi::RMA as i64,
        abi::READ as i64,
        abi::REMOTE_READ as i64,
        abi::RECV as i64,
        abi::TRANSMIT as i64,
        abi::CONTEXT as i64,
        abi::CONTEXT2 as i64,
        abi::CONTEXT_BYTES as i64,
        i64::from(modes),
        i64::from(abi::THREAD_DOMAIN),
        i64::from(abi::PROGRESS_MANUAL),
        i64::from(abi::EP_RDM),
        i64::from(abi::CQ_FORMAT_CONTEXT),
        i64::from(abi::ENABLE),
        abi::AGAIN as i64,
        abi::FAILED as i64,
        i64::from(abi::TOO_SMALL),
    ]
}

#[test]
fn structures_and_numbers_are_those_of_the_headers() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("offsets.c"), folder.path().join("offsets"));
    fs::write(&source, PROGRAM).unwrap();
    let compiled = Command::new("cc").arg(&source).arg("-o").arg(&program).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = Command::new(program).output().unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    let (lines, here) = (text.lines().count(), [structures(), numbers()].concat());
    assert_eq!(lines, here.len());
    for (line, here) in text.lines().zip(here) {
        let (_, there) = line.rsplit_once(' ').unwrap();
        assert_eq!(there.parse(), Ok(here), "{line}");
    }
}
