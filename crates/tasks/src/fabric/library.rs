//! libfabric, loaded when a process first wants it: nothing is linked, and a host without it has
//! the connections that it had.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use super::abi::{FabricObject, Offer};

/// The name of the library, whose interface is stable.
const NAME: &CStr = c"libfabric.so.1";

type Search = unsafe extern "C" fn(
    u32,
    *const c_char,
    *const c_char,
    u64,
    *const Offer,
    *mut *mut Offer,
) -> c_int;
type Open = unsafe extern "C" fn(*mut c_void, *mut *mut FabricObject, *mut c_void) -> c_int;

/// The functions that the library exports. It stays loaded.
#[derive(Clone, Copy)]
pub(super) struct Library {
    pub(super) getinfo: Search,
    pub(super) freeinfo: unsafe extern "C" fn(*mut Offer),
    pub(super) dupinfo: unsafe extern "C" fn(*const Offer) -> *mut Offer,
    pub(super) fabric: Open,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
}

impl Library {
    /// Loads it; the error is in the words of the system.
    pub(super) fn load() -> Result<Self, String> {
        // SAFETY: the name ends with a zero byte. libfabric's constructors may run at any time.
        let library = unsafe { libc::dlopen(NAME.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(last_error());
        }
        let symbol = |name: &CStr| {
            // SAFETY: the library is open, and the name ends with a zero byte.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            if found.is_null() { Err(last_error()) } else { Ok(found) }
        };
        let [getinfo, freeinfo, dupinfo] =
            [symbol(c"fi_getinfo")?, symbol(c"fi_freeinfo")?, symbol(c"fi_dupinfo")?];
        let [fabric, strerror] = [symbol(c"fi_fabric")?, symbol(c"fi_strerror")?];
        // SAFETY: each is a function of the library, of the type that its header says.
        unsafe {
            Ok(Self {
                getinfo: core::mem::transmute::<*mut c_void, Search>(getinfo),
                freeinfo: core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut Offer)>(
                    freeinfo,
                ),
                dupinfo: core::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*const Offer) -> *mut Offer,
                >(dupinfo),
                fabric: core::mem::transmute::<*mut c_void, Open>(fabric),
                strerror: core::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(c_int) -> *const c_char,
                >(strerror),
            })
        }
    }

    /// What a code means, in the library's words.
    pub(super) fn words(&self, code: isize) -> String {
        let code = c_int::try_from(code.unsigned_abs()).unwrap_or(c_int::MAX);
        // SAFETY: any number may be asked for; the text is constant.
        let text = unsafe { (self.strerror)(code) };
        if text.is_null() {
            return format!("libfabric has failed with {code}");
        }
        // SAFETY: it is not null, and ends with a zero byte.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Zero, or the words for what it is.
    pub(super) fn done(&self, what: &str, code: c_int) -> Result<(), String> {
        match code {
            0 => Ok(()),
            code => Err(format!("{what}: {}", self.words(code as isize))),
        }
    }
}

fn last_error() -> String {
    // SAFETY: it returns null, or a text that stays until this thread calls `dlopen` again.
    let text = unsafe { libc::dlerror() };
    if ptr::eq(text, ptr::null()) {
        return "it cannot be loaded".to_owned();
    }
    // SAFETY: it is not null, and ends with a zero byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
