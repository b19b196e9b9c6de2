//! The structs of include/feedmill/plugin.h that a tokenizer plugin uses.

use std::ffi::{c_char, c_int, c_void};

pub const OK: c_int = 0;
pub const BAD_DATA: c_int = 1;
pub const FAILED: c_int = 2;

pub type EmitIds = unsafe extern "C" fn(sink: *mut c_void, ids: *const i32, count: usize);
pub type EmitPlaces =
    unsafe extern "C" fn(sink: *mut c_void, ids: *const i32, places: *const i32, count: usize);
pub type EmitText = unsafe extern "C" fn(sink: *mut c_void, text: *const c_char, size: usize);

#[repr(C)]
pub struct OpError {
    sink: *mut c_void,
    say: unsafe extern "C" fn(sink: *mut c_void, text: *const c_char, size: usize),
    row: usize,
}

impl OpError {
    /// Gives the caller the reason.
    ///
    /// # Safety
    /// The caller's callback is valid.
    pub unsafe fn tell(&mut self, text: &str) {
        unsafe { (self.say)(self.sink, text.as_ptr().cast(), text.len()) }
    }
}

#[repr(C)]
pub struct FeedmillTokenizer {
    pub version: *const c_char,
    pub load: unsafe extern "C" fn(
        path: *const c_char,
        pattern: *const c_char,
        bytes: *const c_void,
        size: usize,
        error: *mut OpError,
    ) -> *mut c_void,
    pub unload: unsafe extern "C" fn(loaded: *mut c_void),
    pub encode: unsafe extern "C" fn(
        loaded: *const c_void,
        text: *const c_char,
        size: usize,
        special: c_int,
        length_max: usize,
        sink: *mut c_void,
        emit: EmitIds,
        error: *mut OpError,
    ) -> c_int,
    pub encode_places: unsafe extern "C" fn(
        loaded: *const c_void,
        text: *const c_char,
        size: usize,
        special: c_int,
        length_max: usize,
        sink: *mut c_void,
        emit: EmitPlaces,
        error: *mut OpError,
    ) -> c_int,
    pub decode: unsafe extern "C" fn(
        loaded: *const c_void,
        ids: *const i32,
        count: usize,
        special: c_int,
        sink: *mut c_void,
        emit: EmitText,
        error: *mut OpError,
    ) -> c_int,
}

// The version is a constant text, and functions have no state.
unsafe impl Sync for FeedmillTokenizer {}
