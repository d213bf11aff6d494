//! The binary interface of libfabric, as far as it is used: structures and numbers of its headers.
//!
//! The headers define most calls as inline functions that jump through tables of functions, so a
//! program in Rust follows the tables itself. Structures that the library allocates
//! (`fi_dupinfo`) are declared up to the last field that is used: the library adds fields behind.
//! So it does in tables of functions.
//!
//! Source: `rdma/fabric.h` and others of libfabric 1.17; a test compares offsets with the headers.

use core::ffi::{c_char, c_int, c_void};

/// The version of the interface that is asked for: 1.9, the first with all that is used.
pub(super) const VERSION: u32 = (1 << 16) | 9;

pub(super) const RMA: u64 = 1 << 2;
pub(super) const READ: u64 = 1 << 8;
pub(super) const RECV: u64 = 1 << 10;
pub(super) const TRANSMIT: u64 = 1 << 11;
pub(super) const REMOTE_READ: u64 = 1 << 12;

/// Modes: an operation needs a place that the provider may use, of [`CONTEXT_BYTES`].
pub(super) const CONTEXT: u64 = 1 << 59;
pub(super) const CONTEXT2: u64 = 1 << 52;
pub(super) const CONTEXT_BYTES: usize = 64;

pub(super) const MR_LOCAL: c_int = 1 << 2;
pub(super) const MR_VIRT_ADDR: c_int = 1 << 4;
pub(super) const MR_ALLOCATED: c_int = 1 << 5;
pub(super) const MR_PROV_KEY: c_int = 1 << 6;
pub(super) const MR_ENDPOINT: c_int = 1 << 9;

pub(super) const THREAD_DOMAIN: u32 = 3;
pub(super) const PROGRESS_MANUAL: u32 = 2;
pub(super) const EP_RDM: u32 = 3;
pub(super) const CQ_FORMAT_CONTEXT: u32 = 1;
pub(super) const ENABLE: c_int = 6;

/// What a call answers that is to be made again.
pub(super) const AGAIN: isize = -(libc::EAGAIN as isize);
/// What reading completions answers if an operation has failed.
pub(super) const FAILED: isize = -259;
/// No room for what was asked.
pub(super) const TOO_SMALL: c_int = -257;

/// What a provider offers, and before that what is wanted of one (`fi_info`).
#[repr(C)]
pub(super) struct Offer {
    pub(super) next: *mut Offer,
    pub(super) caps: u64,
    pub(super) mode: u64,
    pub(super) addr_format: u32,
    pub(super) src_addrlen: usize,
    pub(super) dest_addrlen: usize,
    pub(super) src_addr: *mut c_void,
    pub(super) dest_addr: *mut c_void,
    pub(super) handle: *mut c_void,
    pub(super) tx_attr: *mut c_void,
    pub(super) rx_attr: *mut c_void,
    pub(super) ep_attr: *mut EndpointAttributes,
    pub(super) domain_attr: *mut DomainAttributes,
    pub(super) fabric_attr: *mut FabricAttributes,
}

#[repr(C)]
pub(super) struct EndpointAttributes {
    pub(super) kind: u32,
    pub(super) protocol: u32,
    pub(super) protocol_version: u32,
    pub(super) max_msg_size: usize,
}

#[repr(C)]
pub(super) struct DomainAttributes {
    pub(super) domain: *mut c_void,
    pub(super) name: *mut c_char,
    pub(super) threading: u32,
    pub(super) control_progress: u32,
    pub(super) data_progress: u32,
    pub(super) resource_mgmt: u32,
    pub(super) av_type: u32,
    pub(super) mr_mode: c_int,
}

#[repr(C)]
pub(super) struct FabricAttributes {
    pub(super) fabric: *mut c_void,
    pub(super) name: *mut c_char,
    pub(super) prov_name: *mut c_char,
}

/// What all objects begin with.
#[repr(C)]
pub(super) struct Object {
    pub(super) class: usize,
    pub(super) context: *mut c_void,
    pub(super) ops: *const ObjectOps,
}

#[repr(C)]
pub(super) struct ObjectOps {
    pub(super) size: usize,
    pub(super) close: unsafe extern "C" fn(*mut Object) -> c_int,
    pub(super) bind: unsafe extern "C" fn(*mut Object, *mut Object, u64) -> c_int,
    pub(super) control: unsafe extern "C" fn(*mut Object, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct FabricObject {
    pub(super) object: Object,
    pub(super) ops: *const FabricOps,
}

#[repr(C)]
pub(super) struct FabricOps {
    pub(super) size: usize,
    pub(super) domain:
        unsafe extern "C" fn(*mut FabricObject, *mut Offer, *mut *mut Domain, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct Domain {
    pub(super) object: Object,
    pub(super) ops: *const DomainOps,
    pub(super) memory: *const MemoryOps,
}

#[repr(C)]
pub(super) struct DomainOps {
    pub(super) size: usize,
    pub(super) av_open: unsafe extern "C" fn(
        *mut Domain,
        *mut VectorAttributes,
        *mut *mut Vector,
        *mut c_void,
    ) -> c_int,
    pub(super) cq_open: unsafe extern "C" fn(
        *mut Domain,
        *mut QueueAttributes,
        *mut *mut Queue,
        *mut c_void,
    ) -> c_int,
    pub(super) endpoint:
        unsafe extern "C" fn(*mut Domain, *mut Offer, *mut *mut Endpoint, *mut c_void) -> c_int,
}

#[repr(C)]
pub(super) struct MemoryOps {
    pub(super) size: usize,
    pub(super) reg: unsafe extern "C" fn(
        *mut Object,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut Memory,
        *mut c_void,
    ) -> c_int,
}

#[repr(C)]
pub(super) struct Memory {
    pub(super) object: Object,
    pub(super) descriptor: *mut c_void,
    pub(super) key: u64,
}

#[repr(C)]
pub(super) struct Endpoint {
    pub(super) object: Object,
    pub(super) ops: *const c_void,
    pub(super) cm: *const ConnectionOps,
    pub(super) msg: *const c_void,
    pub(super) rma: *const RmaOps,
}

#[repr(C)]
pub(super) struct ConnectionOps {
    pub(super) size: usize,
    pub(super) setname: *const c_void,
    pub(super) getname: unsafe extern "C" fn(*mut Object, *mut c_void, *mut usize) -> c_int,
}

#[repr(C)]
pub(super) struct RmaOps {
    pub(super) size: usize,
    pub(super) read: unsafe extern "C" fn(
        *mut Endpoint,
        *mut c_void,
        usize,
        *mut c_void,
        u64,
        u64,
        u64,
        *mut c_void,
    ) -> isize,
}

#[repr(C)]
pub(super) struct Vector {
    pub(super) object: Object,
    pub(super) ops: *const VectorOps,
}

#[repr(C)]
pub(super) struct VectorOps {
    pub(super) size: usize,
    pub(super) insert: unsafe extern "C" fn(
        *mut Vector,
        *const c_void,
        usize,
        *mut u64,
        u64,
        *mut c_void,
    ) -> c_int,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct VectorAttributes {
    pub(super) kind: u32,
    pub(super) rx_ctx_bits: c_int,
    pub(super) count: usize,
    pub(super) ep_per_node: usize,
    pub(super) name: usize,
    pub(super) map_addr: usize,
    pub(super) flags: u64,
}

#[repr(C)]
pub(super) struct Queue {
    pub(super) object: Object,
    pub(super) ops: *const QueueOps,
}

#[repr(C)]
pub(super) struct QueueOps {
    pub(super) size: usize,
    pub(super) read: unsafe extern "C" fn(*mut Queue, *mut c_void, usize) -> isize,
    pub(super) readfrom: *const c_void,
    pub(super) readerr: unsafe extern "C" fn(*mut Queue, *mut Failure, u64) -> isize,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct QueueAttributes {
    pub(super) size: usize,
    pub(super) flags: u64,
    pub(super) format: u32,
    pub(super) wait_obj: u32,
    pub(super) signaling_vector: c_int,
    pub(super) wait_cond: u32,
    pub(super) wait_set: usize,
}

/// Why an operation has failed.
#[repr(C)]
pub(super) struct Failure {
    pub(super) context: *mut c_void,
    pub(super) flags: u64,
    pub(super) len: usize,
    pub(super) buf: *mut c_void,
    pub(super) data: u64,
    pub(super) tag: u64,
    pub(super) olen: usize,
    pub(super) err: c_int,
    pub(super) prov_errno: c_int,
    pub(super) err_data: *mut c_void,
    pub(super) err_data_size: usize,
    /// What later versions may write behind it.
    pub(super) more: [u64; 4],
}
