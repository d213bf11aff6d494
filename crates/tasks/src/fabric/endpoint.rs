//! An endpoint of a fabric: the objects of libfabric that one process has, and what is done with
//! them.
//!
//! One endpoint reads from others and is read by them. All calls are made under one lock, so the
//! provider needs no locks of its own (`FI_THREAD_DOMAIN`). A provider without progress of its own
//! is driven by whoever waits for a piece, and at the owner by whoever has a region exposed.
//!
//! Invariants: memory that a provider may write stays allocated until it has said that it is done;
//! if it does not say so in time, that memory is never freed, and the endpoint not used any more.
//! A region is closed before its bytes are unmapped. Objects are closed before those that they
//! were made of.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::abi::{self, Domain, Endpoint, FabricObject, Memory, Object, Offer, Queue, Vector};
use super::library::Library;
use super::setting::Trusted;
use crate::blobs::Mapped;

/// Bytes of the address of an endpoint, at most.
pub(crate) const MAX_NAME_BYTES: usize = 512;

/// Why a fabric did not do something, in the words of libfabric.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("libfabric: {0}")]
pub(crate) struct FabricError(pub(super) String);

impl From<String> for FabricError {
    fn from(words: String) -> Self {
        Self(words)
    }
}

/// The endpoint of this process.
pub(crate) struct Fabric {
    pub(super) library: Library,
    provider: String,
    name: Vec<u8>,
    pub(super) mr_mode: c_int,
    pub(super) is_driven: bool,
    pub(super) max_read_bytes: usize,
    /// Pieces that were read.
    pub(crate) pieces: AtomicU64,
    opened: Mutex<Opened>,
}

/// What libfabric has made; null where it was not.
pub(super) struct Opened {
    offer: *mut Offer,
    fabric: *mut FabricObject,
    pub(super) domain: *mut Domain,
    vector: *mut Vector,
    pub(super) queue: *mut Queue,
    pub(super) endpoint: *mut Endpoint,
    next_key: u64,
    peers: BTreeMap<Vec<u8>, u64>,
    pub(super) is_broken: bool,
    freeinfo: unsafe extern "C" fn(*mut Offer),
}

// SAFETY: the objects belong to no thread; only one thread uses them at a time, by the lock.
unsafe impl Send for Opened {}

/// Where the bytes of a region are read by others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) name: Vec<u8>,
    pub(crate) key: u64,
    pub(crate) address: u64,
}

/// Bytes that others read until this is dropped.
pub(crate) struct Region {
    fabric: Arc<Fabric>,
    memory: *mut Memory,
    address: u64,
    #[expect(dead_code, reason = "it is mapped, not read")]
    bytes: Mapped,
}

// SAFETY: the memory object is used under the lock of its fabric alone.
unsafe impl Send for Region {}
// SAFETY: the same; what is shared of it is read only.
unsafe impl Sync for Region {}

impl Fabric {
    /// Opens the endpoint of the first provider that fits.
    pub(crate) fn open(trusted: &Trusted) -> Result<Arc<Self>, FabricError> {
        let library = Library::load()?;
        let mut opened = Opened::none(&library);
        opened.find(&library, trusted)?;
        opened.make(&library)?;
        // SAFETY: `find` has found an offer, whose attributes are set, with the provider's name.
        let (provider, mr_mode, is_driven, most) = unsafe {
            let (offer, domain) = (&*opened.offer, &*(*opened.offer).domain_attr);
            let provider = CStr::from_ptr((*offer.fabric_attr).prov_name);
            let is_driven = domain.data_progress == abi::PROGRESS_MANUAL;
            let most = (*offer.ep_attr).max_msg_size;
            (provider.to_string_lossy().into_owned(), domain.mr_mode, is_driven, most)
        };
        let name = opened.name(&library)?;
        let opened = Mutex::new(opened);
        let max_read_bytes = most.max(1);
        let pieces = AtomicU64::new(0);
        Ok(Arc::new(Self {
            library,
            provider,
            name,
            mr_mode,
            is_driven,
            max_read_bytes,
            pieces,
            opened,
        }))
    }

    /// The name of its provider.
    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    /// Whether it is of use: nothing that was read is late.
    pub(crate) fn is_well(&self) -> bool {
        !self.lock().is_broken
    }

    /// Lets others read these bytes.
    pub(crate) fn expose(self: &Arc<Self>, bytes: Mapped) -> Result<Region, FabricError> {
        let memory = self.register(&bytes, abi::REMOTE_READ)?;
        let is_virtual = self.mr_mode & abi::MR_VIRT_ADDR != 0;
        let address = if is_virtual { bytes.as_ptr().expose_provenance() as u64 } else { 0 };
        Ok(Region { fabric: self.clone(), memory, address, bytes })
    }

    /// Makes progress for those who read from here, if the provider needs that.
    pub(crate) fn drive(&self) {
        let opened = self.lock();
        // SAFETY: the queue is open; nothing is read into no room. What it answers is of no use.
        let _ = unsafe { ((*(*opened.queue).ops).read)(opened.queue, ptr::null_mut(), 0) };
    }

    /// Whether the provider needs [`drive`](Self::drive).
    pub(crate) fn is_driven(&self) -> bool {
        self.is_driven
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers memory. The caller keeps it allocated until the object is closed.
    pub(super) fn register(&self, bytes: &[u8], access: u64) -> Result<*mut Memory, FabricError> {
        let mut opened = self.lock();
        let (domain, key) = (opened.domain, opened.next_key);
        opened.next_key += 1;
        let mut memory = ptr::null_mut();
        // SAFETY: the domain is open and the bytes are there; the provider reads or writes them
        // only for operations that this crate posts or lets others post.
        let code = unsafe {
            let start = bytes.as_ptr().cast();
            let reg = (*(*domain).memory).reg;
            let object = &raw mut (*domain).object;
            reg(object, start, bytes.len(), access, 0, key, 0, &raw mut memory, ptr::null_mut())
        };
        self.library.done("memory cannot be registered", code)?;
        if self.mr_mode & abi::MR_ENDPOINT != 0 {
            // SAFETY: both objects are open.
            let code = unsafe {
                let (object, ops) = (&raw mut (*memory).object, &*(*memory).object.ops);
                match (ops.bind)(object, &raw mut (*opened.endpoint).object, 0) {
                    0 => (ops.control)(object, abi::ENABLE, ptr::null_mut()),
                    code => code,
                }
            };
            if code != 0 {
                close(memory.cast());
                self.library.done("memory cannot be bound", code)?;
            }
        }
        Ok(memory)
    }

    /// Closes what was registered.
    pub(super) fn unregister(&self, memory: *mut Memory) {
        let _opened = self.lock();
        close(memory.cast());
    }

    /// The number of a peer's endpoint.
    pub(super) fn peer(&self, name: &[u8]) -> Result<u64, FabricError> {
        let mut opened = self.lock();
        if let Some(number) = opened.peers.get(name) {
            return Ok(*number);
        }
        if name.len() != self.name.len() {
            return Err(FabricError("the address of a peer has another length".to_owned()));
        }
        let (vector, mut number) = (opened.vector, 0);
        // SAFETY: the vector is open, and the name has the length of addresses of this provider.
        let added = unsafe {
            let insert = (*(*vector).ops).insert;
            insert(vector, name.as_ptr().cast(), 1, &raw mut number, 0, ptr::null_mut())
        };
        if added != 1 {
            return Err(FabricError("the address of a peer is refused".to_owned()));
        }
        opened.peers.insert(name.to_owned(), number);
        Ok(number)
    }
}

impl core::fmt::Debug for Fabric {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Fabric({})", self.provider)
    }
}

impl Region {
    /// Where others read it.
    pub(crate) fn place(&self) -> Place {
        // SAFETY: it is open.
        let key = unsafe { (*self.memory).key };
        Place { name: self.fabric.name.clone(), key, address: self.address }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.fabric.unregister(self.memory);
    }
}

/// Closes an object, if there is one.
fn close(object: *mut Object) {
    if !object.is_null() {
        // SAFETY: it is open, and nobody uses it after this. What it answers helps nobody.
        let _ = unsafe { ((*(*object).ops).close)(object) };
    }
}

impl Opened {
    fn none(library: &Library) -> Self {
        Self {
            offer: ptr::null_mut(),
            fabric: ptr::null_mut(),
            domain: ptr::null_mut(),
            vector: ptr::null_mut(),
            queue: ptr::null_mut(),
            endpoint: ptr::null_mut(),
            next_key: 1,
            peers: BTreeMap::new(),
            is_broken: false,
            freeinfo: library.freeinfo,
        }
    }

    /// Finds a provider with one-sided reads between endpoints that need no connection.
    fn find(&mut self, library: &Library, trusted: &Trusted) -> Result<(), FabricError> {
        // SAFETY: with null it makes hints, with all their attributes; they are freed below.
        let hints = unsafe { (library.dupinfo)(ptr::null()) };
        if hints.is_null() {
            return Err(FabricError("there is no memory".to_owned()));
        }
        let mut list = ptr::null_mut();
        // SAFETY: the hints are as made, and the name, of the C library's memory, goes with them.
        let code = unsafe {
            let wanted = &mut *hints;
            wanted.caps = abi::RMA | abi::READ | abi::REMOTE_READ;
            wanted.mode = abi::CONTEXT | abi::CONTEXT2;
            (*wanted.ep_attr).kind = abi::EP_RDM;
            let domain = &mut *wanted.domain_attr;
            domain.threading = abi::THREAD_DOMAIN;
            domain.mr_mode = abi::MR_LOCAL
                | abi::MR_VIRT_ADDR
                | abi::MR_ALLOCATED
                | abi::MR_PROV_KEY
                | abi::MR_ENDPOINT;
            if let Some(name) = trusted.named().and_then(|name| CString::new(name).ok()) {
                (*wanted.fabric_attr).prov_name = libc::strdup(name.as_ptr());
            }
            let (no_text, to) = (ptr::null::<c_char>(), &raw mut list);
            let code = (library.getinfo)(abi::VERSION, no_text, no_text, 0, hints, to);
            (library.freeinfo)(hints);
            code
        };
        library.done("no provider", code)?;
        self.choose(library, trusted, list)
    }

    /// Takes the first offer of a list whose provider fits, and gives the list back.
    fn choose(
        &mut self,
        library: &Library,
        trusted: &Trusted,
        list: *mut Offer,
    ) -> Result<(), FabricError> {
        let (all, mut list) = (list, list);
        let mut fits = false;
        while !fits && !list.is_null() {
            // SAFETY: it is of the list, whose offers have attributes with names.
            fits = unsafe {
                let name = CStr::from_ptr((*(*list).fabric_attr).prov_name);
                trusted.fits(&name.to_string_lossy())
            };
            if !fits {
                // SAFETY: it is of the list.
                list = unsafe { (*list).next };
            }
        }
        // SAFETY: a copy of one offer, with nothing behind it; the list is not used any more.
        unsafe {
            if fits {
                self.offer = (library.dupinfo)(list);
            }
            (library.freeinfo)(all);
        }
        match (fits, self.offer.is_null()) {
            (false, _) => Err(FabricError("no provider reads memory by a card".to_owned())),
            (true, true) => Err(FabricError("there is no memory".to_owned())),
            (true, false) => Ok(()),
        }
    }

    /// Makes all objects.
    fn make(&mut self, library: &Library) -> Result<(), FabricError> {
        let none = ptr::null_mut::<c_void>();
        let mut vectors = abi::VectorAttributes::default();
        let mut queues =
            abi::QueueAttributes { format: abi::CQ_FORMAT_CONTEXT, ..Default::default() };
        // SAFETY: each object is made of those before, which are open, with attributes of the
        // library's own layout, and written to its place if that succeeds.
        unsafe {
            let (offer, fabric) = (self.offer, &raw mut self.fabric);
            let code = (library.fabric)((*offer).fabric_attr.cast(), fabric, none);
            library.done("no fabric", code)?;
            let code =
                ((*(*self.fabric).ops).domain)(self.fabric, offer, &raw mut self.domain, none);
            library.done("no domain", code)?;
            let (domain, ops) = (self.domain, &*(*self.domain).ops);
            let code = (ops.av_open)(domain, &raw mut vectors, &raw mut self.vector, none);
            library.done("no address vector", code)?;
            let code = (ops.cq_open)(domain, &raw mut queues, &raw mut self.queue, none);
            library.done("no completion queue", code)?;
            let code = (ops.endpoint)(domain, offer, &raw mut self.endpoint, none);
            library.done("no endpoint", code)?;
            let (object, ops) = (self.endpoint.cast(), &*(*self.endpoint).object.ops);
            library.done("no binding", (ops.bind)(object, self.vector.cast(), 0))?;
            let flags = abi::TRANSMIT | abi::RECV;
            library.done("no binding", (ops.bind)(object, self.queue.cast(), flags))?;
            library.done("it is not enabled", (ops.control)(object, abi::ENABLE, none))?;
        }
        Ok(())
    }

    /// The address of the endpoint.
    fn name(&self, library: &Library) -> Result<Vec<u8>, FabricError> {
        let mut name = vec![0; MAX_NAME_BYTES];
        let mut bytes = name.len();
        // SAFETY: the endpoint is enabled, and there is room for so many bytes.
        let code = unsafe {
            let getname = (*(*self.endpoint).cm).getname;
            getname(self.endpoint.cast(), name.as_mut_ptr().cast(), &raw mut bytes)
        };
        if code == abi::TOO_SMALL || bytes > name.len() {
            return Err(FabricError("the address of the endpoint is too long".to_owned()));
        }
        library.done("no address", code)?;
        name.truncate(bytes);
        Ok(name)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        close(self.endpoint.cast());
        close(self.queue.cast());
        close(self.vector.cast());
        close(self.domain.cast());
        close(self.fabric.cast());
        if !self.offer.is_null() {
            // SAFETY: it is the library's own, and nothing made of it is left.
            unsafe { (self.freeinfo)(self.offer) };
        }
    }
}
