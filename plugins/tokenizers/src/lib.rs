//! Tokenizers of Hugging Face's tokenizer.json and of tiktoken's rank files, for feedmill's
//! functions `tokenize` and `detokenize`: feedmill_tokenizer_plugin_v1 of
//! include/feedmill/plugin.h.

mod contract;
mod ranks;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use contract::{BAD_DATA, FAILED, FeedmillTokenizer, OK, OpError};
use serde_json::Value;
use tokenizers::pipeline::{EncodeOptions, PipelineToken, PipelineTokenizer};

/// Largest integer of a file. Vocabularies have less than a million tokens.
const NUMBER_MAX: u64 = (1 << 24) - 1;
/// Text of which every pattern that splits finds something, to see that it works.
const PROBE: &str = "It's 2 words.\n";

enum Loaded {
    /// Fast, and without its own threads.
    Fast(PipelineTokenizer),
    /// Takes every tokenizer.json.
    Complete(Box<complete::Tokenizer>),
}

impl Loaded {
    fn encode(&self, text: &str, special: bool) -> Result<Vec<u32>, String> {
        match self {
            Loaded::Fast(tokenizer) => {
                let options = EncodeOptions {
                    add_special_tokens: special,
                    ..Default::default()
                };
                let mut tokens: Vec<PipelineToken> = Vec::with_capacity(text.len() / 4 + 8);
                let made = tokenizer.encode_into(text, &options, &mut tokens);
                made.map_err(|error| error.to_string())?;
                Ok(tokens.into_iter().map(PipelineToken::id).collect())
            }
            Loaded::Complete(tokenizer) => {
                let made = tokenizer.encode_fast(text, special);
                Ok(made.map_err(|error| error.to_string())?.get_ids().to_vec())
            }
        }
    }

    fn decode(&self, ids: &[u32], special: bool) -> Result<String, String> {
        let made = match self {
            Loaded::Fast(tokenizer) => tokenizer.decode(ids, !special),
            Loaded::Complete(tokenizer) => {
                return tokenizer
                    .decode(ids, !special)
                    .map_err(|error| error.to_string());
            }
        };
        made.map_err(|error| error.to_string())
    }
}

fn read_fast(json: &str) -> Result<Loaded, String> {
    let canonical = tokenizers::canonicalize_str(json).map_err(|error| error.to_string())?;
    let tokenizer = tokenizers::from_json(&canonical).map_err(|error| error.to_string())?;
    let loaded = Loaded::Fast(tokenizer);
    loaded.encode(PROBE, true)?;
    Ok(loaded)
}

fn read_complete(json: &str) -> Result<Loaded, String> {
    let tokenizer = complete::Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
    Ok(Loaded::Complete(Box::new(tokenizer)))
}

/// Refuses numbers by which memory is sized, such as ids, if they are too large.
fn check_numbers(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(check_numbers),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "truncation")
            .try_for_each(|(_, field)| check_numbers(field)),
        Value::Number(number) if number.as_u64().is_some_and(|it| it > NUMBER_MAX) => {
            Err(format!("{number} is too large, at most {NUMBER_MAX}"))
        }
        _ => Ok(()),
    }
}

fn read(path: &str, bytes: &[u8]) -> Result<Loaded, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))?;
    let ranks;
    let json = if text.trim_start().starts_with('{') {
        text
    } else {
        ranks = ranks::tokenizer_json(path, text)?;
        &ranks
    };
    check_numbers(&serde_json::from_str(json).map_err(|error| error.to_string())?)?;
    guarded(|| read_fast(json)).or_else(|_| read_complete(json))
}

/// Runs `body`; a panic becomes an error, as it must not reach the caller's frames.
fn guarded<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        Err(text.unwrap_or_else(|| "the tokenizer stopped".to_string()))
    })
}

/// # Safety
/// `bytes` has `size` bytes; `path` is a C string.
unsafe extern "C" fn load(
    path: *const c_char,
    bytes: *const c_void,
    size: usize,
    error: *mut OpError,
) -> *mut c_void {
    // The caller has the text of a panic; this library has its own hook.
    std::panic::set_hook(Box::new(|_| ()));
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), size) };
    match guarded(|| read(&path, bytes)) {
        Ok(loaded) => Box::into_raw(Box::new(loaded)).cast(),
        Err(text) => {
            unsafe { (*error).tell(&text) };
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// `loaded` is from `load`, and no longer used.
unsafe extern "C" fn unload(loaded: *mut c_void) {
    drop(unsafe { Box::from_raw(loaded.cast::<Loaded>()) });
}

/// # Safety
/// `loaded` is from `load`; `text` has `size` bytes.
unsafe extern "C" fn encode(
    loaded: *const c_void,
    text: *const c_char,
    size: usize,
    special: c_int,
    sink: *mut c_void,
    emit: contract::EmitIds,
    error: *mut OpError,
) -> c_int {
    let loaded = unsafe { &*loaded.cast::<Loaded>() };
    let bytes = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), size) };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(reason) => {
            let place = reason.valid_up_to();
            unsafe { (*error).tell(&format!("the text is not UTF-8 at byte {place}")) };
            return BAD_DATA;
        }
    };
    match guarded(|| loaded.encode(text, special != 0)) {
        Ok(ids) => {
            unsafe { emit(sink, ids.as_ptr().cast(), ids.len()) };
            OK
        }
        Err(text) => {
            unsafe { (*error).tell(&text) };
            BAD_DATA
        }
    }
}

/// # Safety
/// `loaded` is from `load`; `ids` has `count` items.
unsafe extern "C" fn decode(
    loaded: *const c_void,
    ids: *const i32,
    count: usize,
    special: c_int,
    sink: *mut c_void,
    emit: contract::EmitText,
    error: *mut OpError,
) -> c_int {
    let loaded = unsafe { &*loaded.cast::<Loaded>() };
    let ids = unsafe { std::slice::from_raw_parts(ids.cast::<u32>(), count) };
    let made = guarded(|| loaded.decode(ids, special != 0));
    match made {
        Ok(text) => {
            unsafe { emit(sink, text.as_ptr().cast(), text.len()) };
            OK
        }
        Err(text) => {
            unsafe { (*error).tell(&text) };
            FAILED
        }
    }
}

static PLUGIN: FeedmillTokenizer = FeedmillTokenizer {
    version: c"tokenizers 1.0.0-rc.3".as_ptr(),
    load,
    unload,
    encode,
    decode,
};

/// The entry point.
#[unsafe(no_mangle)]
pub extern "C" fn feedmill_tokenizer_plugin_v1() -> *const FeedmillTokenizer {
    &PLUGIN
}
